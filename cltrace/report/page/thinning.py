"""Fewer slices and fewer points where there are more than a page can hold."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.report.tracks.scene import NONE, Slices
from cltrace.timeline.clock_fit.points import Bools, Int64s

_PARTS: Final = 10_000


def resolution_ns(rows: Sequence[Slices], span_ns: int, most: int) -> int:
    """Below which length slices are to be put together, so that at most about `most` are left.

    0 when there are few enough as they are.
    """
    if sum(map(len, rows)) <= most:
        return 0
    resolution = max(span_ns // most, 1)
    while resolution < span_ns and sum(int(_firsts(row, resolution).sum()) for row in rows) > most:
        resolution *= 2
    return resolution


def merged(slices: Slices, resolution_ns: int) -> tuple[Slices, Int64s]:
    """A row in which slices shorter than a resolution are one if they begin in the same part of it.

    What is put together goes from the first begin to the last end, has the name of its longest, and
    belongs to no command. Longer slices stay as they are. Also the position of the first of each.
    """
    first = np.flatnonzero(_firsts(slices, resolution_ns))
    if not len(first):
        return slices, first
    last = np.append(first[1:], len(slices)) - 1
    chosen = slices.at(first)
    count = np.add.reduceat(slices.count, first)
    is_alone = count == 1
    end_ns = slices.begin_ns[last] + slices.duration_ns[last]
    return (
        Slices(
            begin_ns=chosen.begin_ns,
            duration_ns=end_ns - chosen.begin_ns,
            name=slices.name[_longest(slices.duration_ns, first)],
            command=np.where(is_alone, chosen.command, NONE),
            site=np.where(is_alone, chosen.site, 0),
            status=np.minimum.reduceat(slices.status, first),
            size_bytes=np.add.reduceat(slices.size_bytes, first),
            count=count,
            busy_ns=np.add.reduceat(slices.busy_ns, first),
        ),
        first,
    )


def _firsts(slices: Slices, resolution_ns: int) -> Bools:
    """Which slices begin something: all but short ones that follow a short one in the same part."""
    part = slices.begin_ns // resolution_ns
    is_short = slices.duration_ns < resolution_ns
    firsts = np.ones(len(slices), np.bool_)
    firsts[1:] = (part[1:] != part[:-1]) | ~is_short[1:] | ~is_short[:-1]
    return firsts


def _longest(duration_ns: Int64s, first: Int64s) -> Int64s:
    """The position of the longest slice of each run, of which the firsts are given."""
    run = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(duration_ns))))
    order = np.lexsort((duration_ns, run))
    longest: Int64s = order[np.append(first[1:], len(duration_ns)) - 1]
    return longest


def cut(time_ns: Int64s, value: Int64s, begin_ns: int, end_ns: int) -> tuple[Int64s, Int64s]:
    """Steps of a quantity between two times, with what it was at the first of them."""
    inside = (time_ns > begin_ns) & (time_ns <= end_ns)
    before = np.flatnonzero(time_ns <= begin_ns)[-1:]
    times = np.concatenate([np.full(len(before), begin_ns), time_ns[inside]])
    return times, np.concatenate([value[before], value[inside]])


def thinned(time_ns: Int64s, value: Int64s) -> tuple[Int64s, Int64s]:
    """Steps of a quantity over time, of which each of many short parts keeps the last and the highest."""
    if len(time_ns) <= 2 * _PARTS:
        return time_ns, value
    edges = np.linspace(float(time_ns[0]), float(time_ns[-1]), _PARTS + 1)
    part = np.searchsorted(edges, time_ns, side="right")
    ends = np.append(np.flatnonzero(np.diff(part)), len(part) - 1)
    by_value = np.lexsort((value, part))
    kept = np.unique(np.concatenate([[0], ends, by_value[ends]]))
    return time_ns[kept], value[kept]
