"""Fewer slices and fewer points where there are more than a page can hold."""

from typing import Final

import numpy as np

from cltrace.report.page.scene import NONE, Slices
from cltrace.timeline.points import Int64s

_PARTS: Final = 10_000


def merged_row(slices: Slices, resolution_ns: int) -> Slices:
    """A row in which slices shorter than a resolution are one if they begin in the same part of it.

    What is put together goes from the first begin to the last end, has the name of its first, and
    belongs to no command. Longer slices stay as they are.
    """
    if not len(slices):
        return slices
    part = slices.begin_ns // resolution_ns
    is_short = slices.duration_ns < resolution_ns
    is_first = np.ones(len(slices), bool)
    is_first[1:] = (part[1:] != part[:-1]) | ~is_short[1:] | ~is_short[:-1]
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(slices)) - 1
    count = np.add.reduceat(slices.count, first)
    chosen = slices.at(first)
    end_ns = slices.begin_ns[last] + slices.duration_ns[last]
    is_alone = count == 1
    return Slices(
        begin_ns=chosen.begin_ns,
        duration_ns=end_ns - chosen.begin_ns,
        name=chosen.name,
        command=np.where(is_alone, chosen.command, NONE),
        site=np.where(is_alone, chosen.site, 0),
        status=np.where(is_alone, chosen.status, 0),
        size_bytes=np.add.reduceat(slices.size_bytes, first),
        count=count,
    )


def thinned(time_ns: Int64s, value: Int64s) -> tuple[Int64s, Int64s]:
    """Steps of a quantity over time, of which each of many short parts keeps the last and the highest."""
    if len(time_ns) <= 2 * _PARTS:
        return time_ns, value
    span = max(int(time_ns[-1] - time_ns[0]), 1)
    part = (time_ns - time_ns[0]) * _PARTS // (span + 1)
    number = np.arange(len(time_ns))
    last = np.append(np.flatnonzero(np.diff(part)), len(part) - 1)
    by_value = np.lexsort((value, part))
    highest = by_value[np.append(np.flatnonzero(np.diff(part[by_value])), len(part) - 1)]
    kept = np.unique(np.concatenate([[0], last, highest]))
    return time_ns[number[kept]], value[kept]
