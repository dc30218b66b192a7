"""Pieces of a clock's map, each with its largest error: lines over cores, short chords between them."""

import itertools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.corridor import compute_corridor
from cltrace.timeline.clock_fit.lines import Lines
from cltrace.timeline.clock_fit.points import MAX_DRIFT, Points
from cltrace.timeline.clock_fit.stretches import ConstantRateSpan, Segmentation
from cltrace.timeline.columns import Float64s

_WANDER: Final = 1e-7
"""Wander of the rate for which a second bound is stated: more than a crystal's in minutes."""
_SWING: Final = 2e-5
"""Swing of the rate of a clock that passes for a straight one while its bound stays right."""
_SWING_SHARE: Final = 0.75
_CHORD_NS: Final = 50e6
_MIN_CHORDS, _MAX_CHORDS = 4, 400
_NEIGHBOURHOOD_NS: Final = 1e9
_MAX_TIMES: Final = 20_000
_NARROWING_ROUNDS: Final = 2
_MIN_ROOM_SHARE: Final = 1 / 3
_SPLIT_RATIO: Final = 2.0
"""Ratio of the largest to the median bound from which bounds are stated for parts of a piece."""
_PARTS: Final = 32
_ROUNDING_NS: Final = 1.0
"""Anchors are whole nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A line `residual = offset + slope * time` from `begin_ns` to `end_ns`.

    `half_width_ns` is its largest error if the slope is right, `bound_ns` if the slope may be wrong.
    `drift_within` is the largest error of the slope among the lines that keep the bounds. `gap_ns` is
    the amount by which bounds in the piece contradict each other; 0 where they agree.
    """

    begin_ns: float
    end_ns: float
    offset_ns: float
    slope: float
    half_width_ns: float
    bound_ns: float
    is_straight: bool
    gap_ns: float
    observations: int
    drift_within: float


def fit_pieces(points: Points, division: Segmentation, wanted_ns: Float64s) -> list[Piece]:
    """Return the map of a divided clock, piece by piece, for the times `wanted_ns`, which ascend."""
    stretches = division.stretches
    cores = [_fit_core(points, stretch, is_only=len(stretches) == 1) for stretch in stretches]
    begins = [float(points.time_ns[stretch.begin]) for stretch in stretches]
    ends = [*begins[1:], max(float(wanted_ns[-1]), begins[-1])]
    pieces: list[Piece] = []
    for number, (stretch, core) in enumerate(zip(stretches, cores, strict=True)):
        begin_ns, end_ns = begins[number], ends[number]
        is_last = number + 1 == len(cores)
        if core.is_straight and stretch.has_core:
            core_end_ns = end_ns if is_last else float(points.time_ns[stretch.core_end])
            following = None if is_last or core_end_ns < end_ns else cores[number + 1]
            pieces += _fit_straight(core, core_end_ns, following, wanted_ns)
            begin_ns = core_end_ns
        if begin_ns < end_ns or not pieces:
            rates = _rate_limits(cores[max(number - 1, 0) :][:3])
            pieces += _fit_chords(points, begin_ns, end_ns, rates)
    return pieces


@dataclass(frozen=True, slots=True)
class _Core:
    """Core of a stretch, the lines through it, and the limits of its clock's rate."""

    points: Points
    lines: Lines
    rates: tuple[float, float]
    is_straight: bool

    @property
    def slack_ns(self) -> float:
        """Half of the median room that the bounds leave at these rates."""
        lower, upper = self.limits(_thin_out(self.points.time_ns))
        return float(np.median(upper - lower)) / 2

    def limits(self, time_ns: Float64s) -> tuple[Float64s, Float64s]:
        """Return the lowest and highest residual at some times, minus the slope of the middle line."""
        slope = self.lines.middle[1]
        wander = max(self.rates[1] - slope, slope - self.rates[0])
        lower, upper = compute_corridor(self.points, time_ns, slope=slope, wander=wander)
        return lower - slope * time_ns, upper - slope * time_ns


def _thin_out(time_ns: Float64s) -> Float64s:
    """Return about `_MAX_TIMES` of the times, evenly, and the last."""
    return np.append(time_ns[:: max(len(time_ns) // _MAX_TIMES, 1)], time_ns[-1:])


def _fit_core(points: Points, stretch: ConstantRateSpan, *, is_only: bool) -> _Core:
    """Return the core of a stretch, with the limits of its clock's rate.

    The clock may have followed any curve that stays within the room that the bounds leave, and that
    room depends on the limits of the rate. So each of the two narrows the other in turns, starting from
    any rate that a working clock can have.

    A rate that changes too slowly to break a bound still takes room away from the lines. Where the rate
    does change in other stretches, the clock counts as straight only while its lines have at least
    `_MIN_ROOM_SHARE` of the room that a wandering clock has.
    """
    points = points[stretch.begin : stretch.trusted_end]
    lines = stretch.lines
    core = _Core(points, lines, (-MAX_DRIFT, MAX_DRIFT), is_straight=lines.exist)
    duration_ns = float(points.time_ns[-1] - points.time_ns[0])
    if not lines.exist or duration_ns <= 0:
        return core
    for _ in range(_NARROWING_ROUNDS):
        # A parabola that departs from a line by `d` departs in rate by `8 d / duration` at its ends.
        margin = _WANDER + 8 * max(core.slack_ns, _ROUNDING_NS) / duration_ns
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
    core: _Core, end_ns: float, following: _Core | None, wanted_ns: Float64s
) -> list[Piece]:
    """Return the pieces of a core: one line, divided where its bound varies much.

    `following` is the core that begins at `end_ns`, if any.
    """
    begin_ns = float(core.points.time_ns[0])
    offset_ns, slope, half_width_ns = core.lines.middle
    low_slope, high_slope = core.lines.slopes
    inside = wanted_ns[
        np.searchsorted(wanted_ns, begin_ns) : np.searchsorted(wanted_ns, end_ns, "right")
    ]
    time_ns = np.union1d(_thin_out(core.points.time_ns), _thin_out(inside))
    lower, upper = core.limits(time_ns)
    error_ns = np.maximum(upper - offset_ns, offset_ns - lower)
    whole = Piece(
        begin_ns=begin_ns,
        end_ns=end_ns,
        offset_ns=offset_ns,
        slope=slope,
        half_width_ns=half_width_ns + _ROUNDING_NS,
        bound_ns=float(error_ns.max()) + _ROUNDING_NS,
        is_straight=True,
        gap_ns=_jump_ns(core, following, end_ns) if following else 0.0,
        observations=len(core.points),
        drift_within=(high_slope - low_slope) / 2,
    )
    if error_ns.max() <= _SPLIT_RATIO * np.median(error_ns) or end_ns <= begin_ns:
        return [whole]
    return _split(whole, time_ns, error_ns, core.points.time_ns)


def _split(whole: Piece, time_ns: Float64s, error_ns: Float64s, at_ns: Float64s) -> list[Piece]:
    """Divide a piece into equal parts, each with its own bound.

    `error_ns` are the errors at `time_ns`, `at_ns` the times of the observations.
    """
    edges = np.linspace(whole.begin_ns, whole.end_ns, _PARTS + 1)
    parts = []
    for begin_ns, end_ns in itertools.pairwise(edges.tolist()):
        is_inside = (time_ns >= begin_ns) & (time_ns <= end_ns)
        at_edges = np.interp([begin_ns, end_ns], time_ns, error_ns)
        bound_ns = max(float(error_ns[is_inside].max(initial=0.0)), float(at_edges.max()))
        count = int(((at_ns >= begin_ns) & (at_ns < end_ns)).sum())
        parts.append(
            replace(
                whole,
                begin_ns=begin_ns,
                end_ns=end_ns,
                bound_ns=bound_ns + _ROUNDING_NS,
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
    between_ns = float(after.points.time_ns[0] - before.points.time_ns[-1])
    apart_ns = max(later_low - high, low - later_high)
    return max(apart_ns - (max_rate - min_rate) * between_ns, 0.0)


def _rate_limits(cores: list[_Core]) -> tuple[float, float]:
    """Return the lowest and the highest rate near these cores."""
    return min(core.rates[0] for core in cores), max(core.rates[1] for core in cores)


def _fit_chords(
    points: Points, begin_ns: float, end_ns: float, rates: tuple[float, float]
) -> list[Piece]:
    """Return straight pieces through the middle of the bounds of a clock whose rate changes."""
    near = points[
        (points.time_ns >= begin_ns - _NEIGHBOURHOOD_NS)
        & (points.time_ns <= end_ns + _NEIGHBOURHOOD_NS)
    ]
    count = int(np.clip((end_ns - begin_ns) / _CHORD_NS, _MIN_CHORDS, _MAX_CHORDS))
    knots = np.linspace(begin_ns, end_ns, count + 1) if end_ns > begin_ns else np.array([begin_ns])
    inside = near.time_ns[(near.time_ns >= begin_ns) & (near.time_ns <= end_ns)]
    time_ns = np.union1d(knots, inside)
    slope, wander = (rates[0] + rates[1]) / 2, (rates[1] - rates[0]) / 2
    lower, upper = compute_corridor(near, time_ns, slope=slope, wander=wander)
    middle = (lower + upper) / 2
    at_knots = middle[np.searchsorted(time_ns, knots)]
    if len(knots) == 1:
        knots, at_knots = np.append(knots, knots + 1.0), np.append(at_knots, at_knots + slope)
    pieces = []
    for number in range(len(knots) - 1):
        chosen = (time_ns >= knots[number]) & (time_ns <= knots[number + 1])
        incline = (at_knots[number + 1] - at_knots[number]) / (knots[number + 1] - knots[number])
        line = at_knots[number] + incline * (time_ns[chosen] - knots[number])
        error_ns = float(np.maximum(abs(upper[chosen] - line), abs(line - lower[chosen])).max())
        pieces.append(
            Piece(
                begin_ns=float(knots[number]),
                end_ns=float(knots[number + 1]),
                offset_ns=float(at_knots[number] - incline * knots[number]),
                slope=float(incline),
                half_width_ns=error_ns + _ROUNDING_NS,
                bound_ns=error_ns + _ROUNDING_NS,
                is_straight=False,
                gap_ns=max(float((lower[chosen] - upper[chosen]).max()), 0.0),
                observations=int(chosen.sum()),
                drift_within=wander,
            )
        )
    return pieces
