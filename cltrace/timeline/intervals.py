"""Arithmetic of intervals: unions, intersections of unions, and rows without overlap.

Intervals are given as arrays of starts and of ends, in ns, `start <= end`, in any order.
"""

import heapq
from typing import NamedTuple

import numpy as np

from cltrace.timeline.columns import Int64s


class Intervals(NamedTuple):
    """Disjoint intervals in ascending order."""

    start_ns: Int64s
    end_ns: Int64s

    @property
    def total_ns(self) -> int:
        """The sum of their lengths."""
        return int((self.end_ns - self.start_ns).sum())

    def until(self, time_ns: Int64s) -> Int64s:
        """Return how much of them is before each time."""
        if not len(self.start_ns):
            return np.zeros(len(time_ns), np.int64)
        ended = np.append(0, np.cumsum(self.end_ns - self.start_ns))
        at = np.searchsorted(self.start_ns, time_ns, side="right") - 1
        last = np.maximum(at, 0)
        inside = np.minimum(time_ns, self.end_ns[last]) - self.start_ns[last]
        covered: Int64s = ended[last] + np.where(at >= 0, inside, 0)
        return covered


def union(start_ns: Int64s, end_ns: Int64s) -> Intervals:
    """Return the union of intervals. Intervals that touch become one."""
    if not len(start_ns):
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
    begins = np.concatenate([[True], start[1:] > end[:-1]])
    return Intervals(start[begins], end[np.append(np.flatnonzero(begins)[1:] - 1, len(end) - 1)])


def gaps(busy: Intervals) -> Intervals:
    """Return the gaps between disjoint intervals."""
    return Intervals(busy.end_ns[:-1], busy.start_ns[1:])


def intersection(first: Intervals, second: Intervals) -> Intervals:
    """Return the intersection of two unions."""
    edges = np.concatenate([first.start_ns, first.end_ns, second.start_ns, second.end_ns])
    steps = np.repeat(
        [1, -1, 1, -1],
        [len(first.start_ns), len(first.end_ns), len(second.start_ns), len(second.end_ns)],
    )
    return _select_depth(edges, steps, 2)


def overlap(start_ns: Int64s, end_ns: Int64s, min_depth: int) -> Intervals:
    """Return the times at which at least `min_depth` of the intervals are open."""
    edges = np.concatenate([start_ns, end_ns])
    steps = np.repeat([1, -1], [len(start_ns), len(end_ns)])
    return _select_depth(edges, steps, min_depth)


def _select_depth(edges: Int64s, steps: Int64s, min_depth: int) -> Intervals:
    """Return the times at which the sum of the `steps` up to then is at least `min_depth`."""
    if not len(edges):
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    # At one instant ends come before starts: intervals that touch do not overlap.
    order = np.lexsort((steps, edges))
    edges, depth = edges[order], np.cumsum(steps[order])
    is_deep = depth >= min_depth
    start, end = edges[:-1][is_deep[:-1]], edges[1:][is_deep[:-1]]
    has_length = end > start
    return union(start[has_length], end[has_length])


def covered_ns(busy: Intervals, start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return the part of each interval that a union covers, in ns."""
    if not len(busy.start_ns):
        return np.zeros(len(start_ns), np.int64)
    before = np.concatenate([[0], np.cumsum(busy.end_ns - busy.start_ns)])

    def covered_until(time_ns: Int64s) -> Int64s:
        at = np.searchsorted(busy.start_ns, time_ns, side="right")
        last_end = busy.end_ns[np.maximum(at - 1, 0)]
        excess = np.where(at > 0, np.maximum(last_end - time_ns, 0), 0)
        return before[at] - excess

    return covered_until(end_ns) - covered_until(start_ns)


def assign_rows(start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return a row for each interval, such that no two intervals of a row overlap.

    The number of rows is the smallest possible. Rows are numbered from 0. Intervals that touch may share
    a row.
    """
    rows = np.zeros(len(start_ns), np.int64)
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], end_ns[order]
    if not len(start) or (start[1:] >= np.maximum.accumulate(end)[:-1]).all():
        return rows
    free: list[int] = []
    open_until: list[tuple[int, int]] = []
    count = 0
    chosen = []
    for begin, finish in zip(start.tolist(), end.tolist(), strict=True):
        while open_until and open_until[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(open_until)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row, count = count, count + 1
        heapq.heappush(open_until, (finish, row))
        chosen.append(row)
    rows[order] = chosen
    return rows
