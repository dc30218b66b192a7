"""Arithmetic of intervals: unions, what two unions have in common, and lanes without overlap.

Intervals are given as arrays of starts and of ends, in ns, `start <= end`, in any order.
"""

import heapq
from typing import NamedTuple

import numpy as np

from cltrace.timeline.clock_fit.points import Int64s


class Intervals(NamedTuple):
    """Disjoint intervals in ascending order."""

    start_ns: Int64s
    end_ns: Int64s

    @property
    def total_ns(self) -> int:
        """How long they are together."""
        return int((self.end_ns - self.start_ns).sum())


def union(start_ns: Int64s, end_ns: Int64s) -> Intervals:
    """The union of intervals. Those that touch become one."""
    if not len(start_ns):
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
    begins = np.concatenate([[True], start[1:] > end[:-1]])
    return Intervals(start[begins], end[np.append(np.flatnonzero(begins)[1:] - 1, len(end) - 1)])


def gaps(busy: Intervals) -> Intervals:
    """What lies between disjoint intervals."""
    return Intervals(busy.end_ns[:-1], busy.start_ns[1:])


def common(first: Intervals, second: Intervals) -> Intervals:
    """What two unions have in common."""
    edges = np.concatenate([first.start_ns, first.end_ns, second.start_ns, second.end_ns])
    steps = np.repeat(
        [1, -1, 1, -1],
        [len(first.start_ns), len(first.end_ns), len(second.start_ns), len(second.end_ns)],
    )
    return _where_depth(edges, steps, 2)


def at_least(start_ns: Int64s, end_ns: Int64s, depth: int) -> Intervals:
    """Where at least `depth` of the intervals are open."""
    edges = np.concatenate([start_ns, end_ns])
    steps = np.repeat([1, -1], [len(start_ns), len(end_ns)])
    return _where_depth(edges, steps, depth)


def _where_depth(edges: Int64s, steps: Int64s, depth: int) -> Intervals:
    if not len(edges):
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    # At one instant closings come first: intervals that touch do not overlap.
    order = np.lexsort((steps, edges))
    edges, level = edges[order], np.cumsum(steps[order])
    is_deep = level >= depth
    start, end = edges[:-1][is_deep[:-1]], edges[1:][is_deep[:-1]]
    has_length = end > start
    return union(start[has_length], end[has_length])


def covered_ns(busy: Intervals, start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """How much of each interval a union covers."""
    if not len(busy.start_ns):
        return np.zeros(len(start_ns), np.int64)
    before = np.concatenate([[0], np.cumsum(busy.end_ns - busy.start_ns)])

    def until(time_ns: Int64s) -> Int64s:
        at = np.searchsorted(busy.start_ns, time_ns, side="right")
        last_end = busy.end_ns[np.maximum(at - 1, 0)]
        over = np.where(at > 0, np.maximum(last_end - time_ns, 0), 0)
        return before[at] - over

    return until(end_ns) - until(start_ns)


def lanes(start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """A lane for each interval so that none overlaps with another of its lane; as few as can be.

    Lanes are numbered from 0. Intervals that touch share one.
    """
    lane = np.zeros(len(start_ns), np.int64)
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], end_ns[order]
    if not len(start) or (start[1:] >= np.maximum.accumulate(end)[:-1]).all():
        return lane
    free: list[int] = []
    open_until: list[tuple[int, int]] = []
    count = 0
    chosen = []
    for begin, finish in zip(start.tolist(), end.tolist(), strict=True):
        while open_until and open_until[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(open_until)[1])
        if free:
            one = heapq.heappop(free)
        else:
            one, count = count, count + 1
        heapq.heappush(open_until, (finish, one))
        chosen.append(one)
    lane[order] = chosen
    return lane
