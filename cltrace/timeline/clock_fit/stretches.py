"""Where a clock runs at one rate: stretches of time over which one straight line keeps all bounds.

A stretch goes on for as long as some line keeps every bound in it. A bound that fits neither the line
so far nor a new one is *rejected*. A new stretch may begin only when it holds for a while.

A line goes on fitting for a time after the rate has changed, until the bounds leave it no room. What
it says of that time is wrong. So each stretch is followed backwards too: the rate may have changed
anywhere between where the later line begins to fit and where the earlier one ends. Only what is outside
of those *transitions* is the *core* of a stretch, in which its line can be relied on.
"""

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.lines import Lines, all_lines, longest_prefix
from cltrace.timeline.clock_fit.points import Bools, Points

_FEWEST: Final = 48
"""Points that a new stretch must explain before it counts as one."""
_LEAST_CORE: Final = 0.6
"""A core that is a smaller part of its stretch is none: the rate changes all the time."""
_MOST_REJECTED: Final = 0.2
_MOST_TRIES: Final = 2000
_MOST_STRETCHES: Final = 64
"""A clock whose rate changes more often than this in a run is not divided into stretches."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch: points `begin` to `end` of those that were kept. Its core is `begin` to `core_end`."""

    begin: int
    end: int
    core_end: int
    lines: Lines
    """All lines that keep the bounds of its core, or of all of it if it has none."""

    @property
    def has_core(self) -> bool:
        """Whether the rate was constant for long enough to be relied on."""
        return self.core_end > self.begin

    @property
    def trusted_end(self) -> int:
        """Where the core ends, or the stretch if it has none."""
        return self.core_end if self.has_core else self.end


@dataclass(frozen=True, slots=True)
class Division:
    """Points divided into stretches.

    `rejected` says of each given point whether it was left out; positions in `stretches` count the
    others. No stretches: nothing can be made of the points.
    """

    stretches: tuple[Stretch, ...]
    rejected: Bools


def divide(points: Points) -> Division:
    """Divide points into stretches of constant rate."""
    rejected = np.zeros(len(points), np.bool_)
    bounds, lines = _forward(points, rejected)
    if len(bounds) > _MOST_STRETCHES:
        count = int((~rejected).sum())
        return Division((Stretch(0, count, 0, Lines(np.empty((0, 2)))),), rejected)
    if not bounds:
        return Division((), np.ones(len(points), np.bool_))
    kept = points[~rejected]
    shift = np.cumsum(rejected)
    ends = [0, *(int(one - shift[one - 1]) for one in bounds[1:])]
    return Division(_with_cores(kept, sorted(set(ends)), lines), rejected)


def _forward(points: Points, rejected: Bools) -> tuple[list[int], Lines]:
    """Where stretches begin and end, in the order of time, and the lines of the last one.

    Rejected points are marked. Nowhere: too many are.
    """
    bounds, lines, at = [0], all_lines(), 0
    for _ in range(_MOST_TRIES):
        fitting, lines = longest_prefix(points[at:], lines)
        at += fitting
        if at == len(points):
            bounds.append(at)
            return bounds, lines
        reach, _ = longest_prefix(points[at : at + 8 * _FEWEST], all_lines())
        explained = at - bounds[-1]
        if explained < min(_FEWEST // 2, reach):
            # What the stretch began with is at odds with more than it agrees with.
            rejected[bounds[-1] : at] = True
            bounds[-1], lines = at, all_lines()
        elif reach >= min(_FEWEST, len(points) - at) and reach >= _FEWEST // 2:
            bounds.append(at)
            if len(bounds) > _MOST_STRETCHES:
                break
            lines = all_lines()
        else:
            rejected[at] = True
            at += 1
        if rejected.sum() > max(_FEWEST, _MOST_REJECTED * len(points)):
            return [], lines
    return (bounds, lines) if len(bounds) > _MOST_STRETCHES else ([], lines)


def _with_cores(points: Points, bounds: list[int], last: Lines) -> tuple[Stretch, ...]:
    """Stretches between `bounds`, each without the transitions to its neighbours.

    `last` are the lines of the last one.
    """
    pairs = list(itertools.pairwise(bounds))
    core_ends = [*(_earliest_change(points, *pair) for pair in pairs[1:]), len(points)]
    stretches = []
    for (begin, end), core_end in zip(pairs, core_ends, strict=True):
        is_long = core_end - begin >= _FEWEST and _duration(
            points, begin, core_end
        ) >= _LEAST_CORE * _duration(points, begin, end)
        core_end = core_end if is_long or len(pairs) == 1 else begin
        is_whole = end == len(points) and core_end in (begin, end)
        lines = (
            last if is_whole else lines_of(points[begin : core_end if core_end > begin else end])
        )
        stretches.append(Stretch(begin, end, core_end, lines))
    return tuple(stretches)


def _earliest_change(points: Points, begin: int, end: int) -> int:
    """The first point at which the rate of the stretch from `begin` to `end` may have begun.

    The stretch is followed backwards from its middle: its own end may be in the next transition.
    """
    middle = begin + max((end - begin) // 2, 1)
    reach, _ = longest_prefix(points[:middle].reversed, all_lines())
    return min(middle - reach, begin)


def _duration(points: Points, begin: int, end: int) -> float:
    return float(points.time_ns[end - 1] - points.time_ns[begin]) if end > begin else 0.0


def lines_of(points: Points) -> Lines:
    """All lines that keep all of `points`."""
    return longest_prefix(points, all_lines())[1]
