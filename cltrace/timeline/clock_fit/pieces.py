"""Pieces of a clock's map, each with its largest error: lines over cores, short chords between them."""

import itertools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.chords import fit_chords
from cltrace.timeline.clock_fit.corridor import compute_corridor
from cltrace.timeline.clock_fit.lines import Lines
from cltrace.timeline.clock_fit.piece import ROUNDING_NS, Piece
from cltrace.timeline.clock_fit.points import MAX_DRIFT
from cltrace.timeline.clock_fit.sources import PointSlice, SortedTimes
from cltrace.timeline.clock_fit.stretches import ConstantRateSpan, Segmentation
from cltrace.timeline.columns import Float64s, median_of
from cltrace.trace.distinct_values import sort_distinct

_WANDER: Final = 1e-7
"""Wander of the rate for which a second bound is stated: more than a crystal's in minutes."""
_SWING: Final = 2e-5
"""Swing of the rate of a clock that passes for a straight one while its bound stays right."""
_SWING_SHARE: Final = 0.75
_MAX_TIMES: Final = 20_000
_NARROWING_ROUNDS: Final = 2
_MIN_ROOM_SHARE: Final = 1 / 3
_SPLIT_RATIO: Final = 2.0
"""Ratio of the largest to the median bound from which bounds are stated for parts of a piece."""
_PARTS: Final = 32


def fit_pieces(division: Segmentation, wanted: SortedTimes) -> list[Piece]:
    """Return the map of a divided clock, piece by piece, for the `wanted` times."""
    points, stretches = division.kept, division.stretches
    cores = [_fit_core(points, stretch, is_only=len(stretches) == 1) for stretch in stretches]
    begins = [points.time_ns(stretch.begin) for stretch in stretches]
    ends = [*begins[1:], max(wanted.at(-1), begins[-1])]
    pieces: list[Piece] = []
    for number, (stretch, core) in enumerate(zip(stretches, cores, strict=True)):
        begin_ns, end_ns = begins[number], ends[number]
        is_last = number + 1 == len(cores)
        if core.is_straight and stretch.has_core:
            core_end_ns = end_ns if is_last else points.time_ns(stretch.core_end)
            following = None if is_last or core_end_ns < end_ns else cores[number + 1]
            pieces += _fit_straight(core, core_end_ns, following, wanted)
            begin_ns = core_end_ns
        if begin_ns < end_ns or not pieces:
            rates = _rate_limits(cores[max(number - 1, 0) :][:3])
            pieces += fit_chords(points, begin_ns, end_ns, rates)
    return pieces


@dataclass(frozen=True, slots=True)
class _Core:
    """Core of a stretch, the lines through it, and the limits of its clock's rate."""

    points: PointSlice
    lines: Lines
    rates: tuple[float, float]
    is_straight: bool

    @property
    def slack_ns(self) -> float:
        """Half of the median room that the bounds leave at these rates."""
        lower, upper = self.limits(_some_times(self.points))
        return median_of(upper - lower) / 2

    def limits(self, time_ns: Float64s) -> tuple[Float64s, Float64s]:
        """Return the lowest and highest residual at some times, minus the slope of the middle line."""
        slope = self.lines.middle[1]
        wander = max(self.rates[1] - slope, slope - self.rates[0])
        lower, upper = compute_corridor(self.points, time_ns, slope=slope, wander=wander)
        return lower - slope * time_ns, upper - slope * time_ns


def _step(count: int) -> int:
    """Return the step at which about `_MAX_TIMES` of some times are taken."""
    return max(count // _MAX_TIMES, 1)


def _some_times(points: PointSlice) -> Float64s:
    """Return about `_MAX_TIMES` of the times of points, evenly, and the last."""
    return np.append(points.times(_step(len(points))), points.time_ns(-1))


def _some_wanted_times(wanted: SortedTimes, begin_ns: float, end_ns: float) -> Float64s:
    """Return about `_MAX_TIMES` of the wanted times between two times, evenly, and the last."""
    begin, end = wanted.count_before(begin_ns), wanted.count_before(end_ns, "right")
    if begin >= end:
        return np.empty(0)
    return np.append(wanted.every(begin, end, _step(end - begin)), wanted.at(end - 1))


def _fit_core(points: PointSlice, stretch: ConstantRateSpan, *, is_only: bool) -> _Core:
    """Return the core of a stretch, with the limits of its clock's rate.

    The clock may have followed any curve that stays within the room that the bounds leave, and that
    room depends on the limits of the rate. So each of the two narrows the other in turns, starting from
    any rate that a working clock can have.

    A rate that changes too slowly to break a bound still takes room away from the lines. Where the rate
    does change in other stretches, the clock counts as straight only while its lines have at least
    `_MIN_ROOM_SHARE` of the room that a wandering clock has.
    """
    points = points.slice(stretch.begin, stretch.trusted_end)
    lines = stretch.lines
    core = _Core(points, lines, (-MAX_DRIFT, MAX_DRIFT), is_straight=lines.exist)
    duration_ns = points.time_ns(-1) - points.time_ns(0)
    if not lines.exist or duration_ns <= 0:
        return core
    for _ in range(_NARROWING_ROUNDS):
        # A parabola that departs from a line by `d` departs in rate by `8 d / duration` at its ends.
        margin = _WANDER + 8 * max(core.slack_ns, ROUNDING_NS) / duration_ns
        low, high = lines.slopes
        rates = (max(low - margin, -MAX_DRIFT), min(high + margin, MAX_DRIFT))
        core = replace(core, rates=rates)
    is_straight = is_only or lines.middle[2] >= _MIN_ROOM_SHARE * core.slack_ns
    return _allow_swing(replace(core, is_straight=is_straight))


def _allow_swing(core: _Core) -> _Core:
    """Widen the rates of a core whose clock may swing.

    The lines of a swinging clock have little of the room that such a clock has. A straight clock leaves
    its lines nearly all of it.
    """
    slope = core.lines.middle[1]
    rates = (min(core.rates[0], slope - _SWING), max(core.rates[1], slope + _SWING))
    swinging = replace(core, rates=rates)
    return swinging if core.lines.middle[2] < _SWING_SHARE * swinging.slack_ns else core


def _fit_straight(
    core: _Core, end_ns: float, following: _Core | None, wanted: SortedTimes
) -> list[Piece]:
    """Return the pieces of a core: one line, divided where its bound varies much.

    `following` is the core that begins at `end_ns`, if any.
    """
    begin_ns = core.points.time_ns(0)
    offset_ns, slope, half_width_ns = core.lines.middle
    low_slope, high_slope = core.lines.slopes
    inside = _some_wanted_times(wanted, begin_ns, end_ns)
    time_ns = sort_distinct(np.concatenate([_some_times(core.points), inside]))
    lower, upper = core.limits(time_ns)
    error_ns = np.maximum(upper - offset_ns, offset_ns - lower)
    whole = Piece(
        begin_ns=begin_ns,
        end_ns=end_ns,
        offset_ns=offset_ns,
        slope=slope,
        half_width_ns=half_width_ns + ROUNDING_NS,
        bound_ns=float(error_ns.max()) + ROUNDING_NS,
        is_straight=True,
        gap_ns=_jump_ns(core, following, end_ns) if following else 0.0,
        observations=len(core.points),
        drift_within=(high_slope - low_slope) / 2,
    )
    if error_ns.max() <= _SPLIT_RATIO * median_of(error_ns) or end_ns <= begin_ns:
        return [whole]
    return _split(whole, time_ns, error_ns, core.points)


def _split(whole: Piece, time_ns: Float64s, error_ns: Float64s, points: PointSlice) -> list[Piece]:
    """Divide a piece into equal parts, each with its own bound.

    `error_ns` are the errors at `time_ns`.
    """
    edges = np.linspace(whole.begin_ns, whole.end_ns, _PARTS + 1)
    parts = []
    for begin_ns, end_ns in itertools.pairwise(edges.tolist()):
        is_inside = (time_ns >= begin_ns) & (time_ns <= end_ns)
        at_edges = np.interp([begin_ns, end_ns], time_ns, error_ns)
        bound_ns = max(float(error_ns[is_inside].max(initial=0.0)), float(at_edges.max()))
        count = max(points.count_before(end_ns) - points.count_before(begin_ns), 0)
        parts.append(
            replace(
                whole,
                begin_ns=begin_ns,
                end_ns=end_ns,
                bound_ns=bound_ns + ROUNDING_NS,
                observations=count,
            )
        )
    return parts


def _jump_ns(before: _Core, after: _Core, time_ns: float) -> float:
    """Return the least distance of two cores' lines at a time, minus that which their rates explain.

    The rates explain a difference that grows with the time between the cores' nearest points.
    """
    if not after.lines.exist:
        return 0.0
    low, high = before.lines.range_at(time_ns)
    later_low, later_high = after.lines.range_at(time_ns)
    min_rate, max_rate = _rate_limits([before, after])
    between_ns = after.points.time_ns(0) - before.points.time_ns(-1)
    apart_ns = max(later_low - high, low - later_high)
    return max(apart_ns - (max_rate - min_rate) * between_ns, 0.0)


def _rate_limits(cores: list[_Core]) -> tuple[float, float]:
    """Return the lowest and the highest rate near these cores."""
    return min(core.rates[0] for core in cores), max(core.rates[1] for core in cores)
