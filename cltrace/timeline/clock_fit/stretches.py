"""Division of a clock's time into stretches over which one straight line keeps all bounds.

A stretch continues as long as some line keeps every bound in it. A bound that fits neither the line so
far nor a new line is *rejected*. A new stretch begins only if its line fits for a while.

A line still fits for some time after the rate has changed, until the bounds leave it no room. Its values
for that time are wrong. So each stretch is followed backwards too: the rate may have changed at any time
between the point from which the later line fits and the point up to which the earlier one fits. The part
of a stretch outside of these *transitions* is its *core*, in which its line can be relied on.
"""

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.lines import Lines, all_lines, find_longest_prefix
from cltrace.timeline.clock_fit.sources import PointSlice, PointWriter
from cltrace.trace.scratch import Scratch

_MIN_POINTS: Final = 48
"""Points that a new stretch must explain before it counts as a stretch."""
_MIN_CORE_SHARE: Final = 0.6
"""Least share of a stretch that its core must cover. With less, the rate changes all the time."""
_MAX_REJECTED_SHARE: Final = 0.2
_MAX_TRIES: Final = 2000
_MAX_STRETCHES: Final = 64
"""A clock whose rate changes more often than this in a run is not divided into stretches."""


@dataclass(frozen=True, slots=True)
class ConstantRateSpan:
    """Points `begin` to `end` of those that were kept. The core is `begin` to `core_end`."""

    begin: int
    end: int
    core_end: int
    lines: Lines
    """All lines that keep the bounds of the core, or of the whole stretch if it has no core."""

    @property
    def has_core(self) -> bool:
        """True if the rate was constant for long enough to be relied on."""
        return self.core_end > self.begin

    @property
    def trusted_end(self) -> int:
        """The end of the core, or of the stretch if it has no core."""
        return self.core_end if self.has_core else self.end


Ranges = list[tuple[int, int]]
"""Ranges of positions, begin and end, disjoint and ascending."""


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Points divided into stretches.

    `rejected` are the ranges of the given `points` that were left out, `kept` are the other points.
    Positions in `stretches` count these. Without stretches nothing fits the points.
    """

    points: PointSlice
    stretches: tuple[ConstantRateSpan, ...]
    rejected: Ranges
    kept: PointSlice


def divide(points: PointSlice, scratch: Scratch) -> Segmentation:
    """Divide points into stretches of constant rate."""
    bounds, lines, rejected = _find_boundaries(points)
    if not bounds:
        return Segmentation(points, (), [(0, len(points))], points.slice(0, 0))
    kept = _without(points, rejected, scratch) if rejected else points
    if len(bounds) > _MAX_STRETCHES:
        whole = ConstantRateSpan(0, len(kept), 0, Lines(np.empty((0, 2))))
        return Segmentation(points, (whole,), rejected, kept)
    ends = [0, *(bound - _count_rejected(rejected, bound) for bound in bounds[1:])]
    stretches = _make_stretches(kept, sorted(set(ends)), lines)
    return Segmentation(points, stretches, rejected, kept)


def _count_rejected(rejected: Ranges, until: int) -> int:
    """Return the number of rejected points before a position."""
    return sum(min(end, until) - begin for begin, end in rejected if begin < until)


def _without(points: PointSlice, rejected: Ranges, scratch: Scratch) -> PointSlice:
    """Return the points that are in none of the ranges."""
    kept = PointWriter(scratch)
    begin = 0
    for from_point, to_point in [*rejected, (len(points), len(points))]:
        for part in points.slice(begin, from_point).parts():
            kept.append(part)
        begin = to_point
    return kept.points


def _find_boundaries(points: PointSlice) -> tuple[list[int], Lines, Ranges]:
    """Return the points between which the stretches lie, in order, and the lines of the last stretch.

    Returned too are the rejected points. The list is empty if there are too many of them.
    """
    bounds, lines, at = [0], all_lines(), 0
    rejected: Ranges = []
    for _ in range(_MAX_TRIES):
        fitting, lines = find_longest_prefix(points.slice(at, len(points)), lines)
        at += fitting
        if at == len(points):
            bounds.append(at)
            return bounds, lines, rejected
        reach, _ = find_longest_prefix(points.slice(at, at + 8 * _MIN_POINTS), all_lines())
        explained = at - bounds[-1]
        if explained < min(_MIN_POINTS // 2, reach):
            # The first points of the stretch contradict more points than they agree with.
            rejected = [pair for pair in rejected if pair[0] < bounds[-1]]
            rejected += [(bounds[-1], at)] if explained else []
            bounds[-1], lines = at, all_lines()
        elif reach >= min(_MIN_POINTS, len(points) - at) and reach >= _MIN_POINTS // 2:
            bounds.append(at)
            if len(bounds) > _MAX_STRETCHES:
                break
            lines = all_lines()
        else:
            rejected.append((at, at + 1))
            at += 1
        count = _count_rejected(rejected, len(points))
        if count > max(_MIN_POINTS, _MAX_REJECTED_SHARE * len(points)):
            return [], lines, rejected
    return (bounds if len(bounds) > _MAX_STRETCHES else []), lines, rejected


def _make_stretches(
    points: PointSlice, bounds: list[int], last: Lines
) -> tuple[ConstantRateSpan, ...]:
    """Return the stretches between `bounds`, each with a core that excludes the transitions.

    `last` holds the lines of the last stretch.
    """
    pairs = list(itertools.pairwise(bounds))
    core_ends = [*(_earliest_change(points, *pair) for pair in pairs[1:]), len(points)]
    stretches = []
    for (begin, end), core_end in zip(pairs, core_ends, strict=True):
        is_long = core_end - begin >= _MIN_POINTS and _duration_ns(
            points, begin, core_end
        ) >= _MIN_CORE_SHARE * _duration_ns(points, begin, end)
        core_end = core_end if is_long or len(pairs) == 1 else begin
        is_whole = end == len(points) and core_end in (begin, end)
        lines = (
            last
            if is_whole
            else fit_lines(points.slice(begin, core_end if core_end > begin else end))
        )
        stretches.append(ConstantRateSpan(begin, end, core_end, lines))
    return tuple(stretches)


def _earliest_change(points: PointSlice, begin: int, end: int) -> int:
    """Return the first point at which the rate of the stretch from `begin` to `end` may have begun.

    The stretch is followed backwards from its middle, because its end may lie in the next transition.
    """
    middle = begin + max((end - begin) // 2, 1)
    reach, _ = find_longest_prefix(points.slice(0, middle).reversed, all_lines())
    return min(middle - reach, begin)


def _duration_ns(points: PointSlice, begin: int, end: int) -> float:
    return points.time_ns(end - 1) - points.time_ns(begin) if end > begin else 0.0


def fit_lines(points: PointSlice) -> Lines:
    """Return all lines that keep all of `points`."""
    return find_longest_prefix(points, all_lines())[1]
