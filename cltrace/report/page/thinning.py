"""Reduction of slices and points to as many as a page can hold."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.report.tracks.scene import NONE, Slices
from cltrace.timeline.columns import Bools, Int64s

_PARTS: Final = 10_000


def choose_resolution_ns(rows: Sequence[Slices], span_ns: int, max_slices: int) -> int:
    """Return the length below which slices are merged, so that about `max_slices` at most are left.

    It is 0 when there are few enough as they are.
    """
    if sum(map(len, rows)) <= max_slices:
        return 0
    resolution = max(span_ns // max_slices, 1)
    while (
        resolution < span_ns
        and sum(int(_firsts(row, resolution).sum()) for row in rows) > max_slices
    ):
        resolution *= 2
    return resolution


def merge_short_slices(slices: Slices, resolution_ns: int) -> tuple[Slices, Int64s]:
    """Merge the slices of a row that are shorter than a resolution and begin in the same part of it.

    A merged slice goes from the first begin to the last end, has the name of its longest, and belongs to
    no command. Longer slices stay as they are. Also return the position of the first slice of each.
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
    """Return which slices start a new one: all but short ones after a short one in the same part."""
    part = slices.begin_ns // resolution_ns
    is_short = slices.duration_ns < resolution_ns
    firsts = np.ones(len(slices), np.bool_)
    firsts[1:] = (part[1:] != part[:-1]) | ~is_short[1:] | ~is_short[:-1]
    return firsts


def _longest(duration_ns: Int64s, first: Int64s) -> Int64s:
    """Return the position of the longest slice of each run, given the first of each run."""
    run = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(duration_ns))))
    order = np.lexsort((duration_ns, run))
    longest: Int64s = order[np.append(first[1:], len(duration_ns)) - 1]
    return longest


def clip_levels(
    time_ns: Int64s, value: Int64s, begin_ns: int, end_ns: int
) -> tuple[Int64s, Int64s]:
    """Return the steps of a quantity between two times, with its value at the first of them."""
    inside = (time_ns > begin_ns) & (time_ns <= end_ns)
    before = np.flatnonzero(time_ns <= begin_ns)[-1:]
    times = np.concatenate([np.full(len(before), begin_ns), time_ns[inside]])
    return times, np.concatenate([value[before], value[inside]])


def choose_level_steps(time_ns: Int64s, value: Int64s) -> Int64s:
    """Return the positions of the last and the highest step of each of many short parts of the time."""
    if len(time_ns) <= 2 * _PARTS:
        return np.arange(len(time_ns))
    edges = np.linspace(float(time_ns[0]), float(time_ns[-1]), _PARTS + 1)
    part = np.searchsorted(edges, time_ns, side="right")
    ends = np.append(np.flatnonzero(np.diff(part)), len(part) - 1)
    by_value = np.lexsort((value, part))
    return np.unique(np.concatenate([[0], ends, by_value[ends]]))
