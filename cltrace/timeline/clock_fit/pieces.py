"""Pieces of a clock's map, with how far off each can be: lines over cores, short chords between them."""

import itertools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.corridor import corridor
from cltrace.timeline.clock_fit.lines import Lines
from cltrace.timeline.clock_fit.points import HIGHEST_DRIFT, Float64s, Points
from cltrace.timeline.clock_fit.stretches import Division, Stretch

_WANDER: Final = 1e-7
"""The wandering of a rate for which a second bound is stated: more than a crystal's in minutes."""
_SWING: Final = 2e-5
"""How fast a clock may swing, and be taken for a straight one, without its bound being wrong."""
_SWING_SHARE: Final = 0.75
_CHORD_NS: Final = 50e6
_FEWEST_CHORDS, _MOST_CHORDS = 4, 400
_NEIGHBOURHOOD_NS: Final = 1e9
_MOST_LOOKS: Final = 20_000
_NARROWINGS: Final = 2
_ROOM_SHARE: Final = 1 / 3
_MUCH: Final = 2.0
"""How many times the usual bound the largest may be before it is stated in parts."""
_PARTS: Final = 32
_ROUNDING_NS: Final = 1.0
"""Anchors are whole nanoseconds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`residual = offset + slope * time` from `begin_ns` to `end_ns`.

    `half_width_ns` is how far off it can be if the slope is right, `bound_ns` if it need not be.
    `drift_within` is by how much the slope can be off, over the lines that keep the bounds. `gap_ns` is
    by how much the bounds contradict each other in it; 0 where they agree.
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


def pieces_of(points: Points, division: Division, wanted_ns: Float64s) -> list[Piece]:
    """The map of a divided clock, piece by piece. `wanted_ns` are the times that it is for, ascending."""
    stretches = division.stretches
    cores = [_core(points, one, is_only=len(stretches) == 1) for one in stretches]
    begins = [float(points.time_ns[one.begin]) for one in stretches]
    ends = [*begins[1:], max(float(wanted_ns[-1]), begins[-1])]
    found: list[Piece] = []
    for number, (stretch, core) in enumerate(zip(stretches, cores, strict=True)):
        begin_ns, end_ns = begins[number], ends[number]
        is_last = number + 1 == len(cores)
        if core.is_straight and stretch.has_core:
            core_end_ns = end_ns if is_last else float(points.time_ns[stretch.core_end])
            following = None if is_last or core_end_ns < end_ns else cores[number + 1]
            found += _straight(core, core_end_ns, following, wanted_ns)
            begin_ns = core_end_ns
        if begin_ns < end_ns or not found:
            found += _chords(points, begin_ns, end_ns, _rates(cores[max(number - 1, 0) :][:3]))
    return found


@dataclass(frozen=True, slots=True)
class _Core:
    """The core of a stretch, the lines through it, and the rates that its clock may have had."""

    points: Points
    lines: Lines
    rates: tuple[float, float]
    is_straight: bool

    @property
    def slack_ns(self) -> float:
        """Half of the room that the bounds usually leave at these rates."""
        lower, upper = self.reach(_some(self.points.time_ns))
        return float(np.median(upper - lower)) / 2

    def reach(self, time_ns: Float64s) -> tuple[Float64s, Float64s]:
        """How low and how high the clock can be at some times, less the slope of the middle line."""
        slope = self.lines.middle[1]
        wander = max(self.rates[1] - slope, slope - self.rates[0])
        lower, upper = corridor(self.points, time_ns, slope=slope, wander=wander)
        return lower - slope * time_ns, upper - slope * time_ns


def _some(time_ns: Float64s) -> Float64s:
    """Some of many times, evenly, and the last."""
    return np.append(time_ns[:: max(len(time_ns) // _MOST_LOOKS, 1)], time_ns[-1:])


def _core(points: Points, stretch: Stretch, *, is_only: bool) -> _Core:
    """The core of a stretch, and how fast its clock may have run: as one of its lines, or a little off.

    It may have run along a curve that stays within the room that the bounds leave; and how much they
    leave depends on how fast it may have run. So the one is narrowed by the other, from any rate on.

    A rate that changes too slowly to break a bound still takes room away from the lines. Where it does
    change elsewhere, they are taken for straight while they have a good part of the room that a
    wandering clock has.
    """
    points = points[stretch.begin : stretch.trusted_end]
    lines = stretch.lines
    core = _Core(points, lines, (-HIGHEST_DRIFT, HIGHEST_DRIFT), is_straight=lines.exist)
    duration_ns = float(points.time_ns[-1] - points.time_ns[0])
    if not lines.exist or duration_ns <= 0:
        return core
    for _ in range(_NARROWINGS):
        # The rate of a parabola that is off a line by `d` is off by `8 d / duration` at its ends.
        off = _WANDER + 8 * max(core.slack_ns, _ROUNDING_NS) / duration_ns
        low, high = lines.slopes
        rates = (max(low - off, -HIGHEST_DRIFT), min(high + off, HIGHEST_DRIFT))
        core = replace(core, rates=rates)
    is_straight = is_only or lines.middle[2] >= _ROOM_SHARE * core.slack_ns
    return _swinging(replace(core, is_straight=is_straight))


def _swinging(core: _Core) -> _Core:
    """A core whose clock may swing: lines then have little of the room that such a clock has.

    A straight clock leaves its lines nearly all of it.
    """
    slope = core.lines.middle[1]
    rates = (min(core.rates[0], slope - _SWING), max(core.rates[1], slope + _SWING))
    free = replace(core, rates=rates)
    return free if core.lines.middle[2] < _SWING_SHARE * free.slack_ns else core


def _straight(
    core: _Core, end_ns: float, following: _Core | None, wanted_ns: Float64s
) -> list[Piece]:
    """The pieces of a core: one line, in as many parts as its bound differs much between.

    `following` is the core that begins where it ends, if one does.
    """
    begin_ns = float(core.points.time_ns[0])
    offset_ns, slope, half_width_ns = core.lines.middle
    low_slope, high_slope = core.lines.slopes
    inside = wanted_ns[
        np.searchsorted(wanted_ns, begin_ns) : np.searchsorted(wanted_ns, end_ns, "right")
    ]
    time_ns = np.union1d(_some(core.points.time_ns), _some(inside))
    lower, upper = core.reach(time_ns)
    off_ns = np.maximum(upper - offset_ns, offset_ns - lower)
    whole = Piece(
        begin_ns,
        end_ns,
        offset_ns,
        slope,
        half_width_ns + _ROUNDING_NS,
        float(off_ns.max()) + _ROUNDING_NS,
        is_straight=True,
        gap_ns=_jump_ns(core, following, end_ns) if following else 0.0,
        observations=len(core.points),
        drift_within=(high_slope - low_slope) / 2,
    )
    if off_ns.max() <= _MUCH * np.median(off_ns) or end_ns <= begin_ns:
        return [whole]
    return _parts(whole, time_ns, off_ns, core.points.time_ns)


def _parts(whole: Piece, time_ns: Float64s, off_ns: Float64s, at_ns: Float64s) -> list[Piece]:
    """A piece in equal parts, each with the bound that holds in it."""
    edges = np.linspace(whole.begin_ns, whole.end_ns, _PARTS + 1)
    found = []
    for begin_ns, end_ns in itertools.pairwise(edges.tolist()):
        here = (time_ns >= begin_ns) & (time_ns <= end_ns)
        around = np.interp([begin_ns, end_ns], time_ns, off_ns)
        bound_ns = max(float(off_ns[here].max(initial=0.0)), float(around.max()))
        count = int(((at_ns >= begin_ns) & (at_ns < end_ns)).sum())
        found.append(
            replace(
                whole,
                begin_ns=begin_ns,
                end_ns=end_ns,
                bound_ns=bound_ns + _ROUNDING_NS,
                observations=count,
            )
        )
    return found


def _jump_ns(before: _Core, after: _Core, time_ns: float) -> float:
    """By how much all lines of two cores are apart at a time, more than between two points of them."""
    if not after.lines.exist:
        return 0.0
    low, high = before.lines.range_at(time_ns)
    later_low, later_high = after.lines.range_at(time_ns)
    slowest, fastest = _rates([before, after])
    between_ns = float(after.points.time_ns[0] - before.points.time_ns[-1])
    apart_ns = max(later_low - high, low - later_high)
    return max(apart_ns - (fastest - slowest) * between_ns, 0.0)


def _rates(cores: list[_Core]) -> tuple[float, float]:
    """Between which limits the rate is, near these cores."""
    return min(one.rates[0] for one in cores), max(one.rates[1] for one in cores)


def _chords(
    points: Points, begin_ns: float, end_ns: float, rates: tuple[float, float]
) -> list[Piece]:
    """Straight pieces through the middle of what the bounds leave, of a clock whose rate changes."""
    near = points[
        (points.time_ns >= begin_ns - _NEIGHBOURHOOD_NS)
        & (points.time_ns <= end_ns + _NEIGHBOURHOOD_NS)
    ]
    count = int(np.clip((end_ns - begin_ns) / _CHORD_NS, _FEWEST_CHORDS, _MOST_CHORDS))
    knots = np.linspace(begin_ns, end_ns, count + 1) if end_ns > begin_ns else np.array([begin_ns])
    inside = near.time_ns[(near.time_ns >= begin_ns) & (near.time_ns <= end_ns)]
    time_ns = np.union1d(knots, inside)
    slope, wander = (rates[0] + rates[1]) / 2, (rates[1] - rates[0]) / 2
    lower, upper = corridor(near, time_ns, slope=slope, wander=wander)
    middle = (lower + upper) / 2
    at_knots = middle[np.searchsorted(time_ns, knots)]
    if len(knots) == 1:
        knots, at_knots = np.append(knots, knots + 1.0), np.append(at_knots, at_knots + slope)
    found = []
    for number in range(len(knots) - 1):
        chosen = (time_ns >= knots[number]) & (time_ns <= knots[number + 1])
        incline = (at_knots[number + 1] - at_knots[number]) / (knots[number + 1] - knots[number])
        line = at_knots[number] + incline * (time_ns[chosen] - knots[number])
        off_ns = float(np.maximum(abs(upper[chosen] - line), abs(line - lower[chosen])).max())
        found.append(
            Piece(
                float(knots[number]),
                float(knots[number + 1]),
                float(at_knots[number] - incline * knots[number]),
                float(incline),
                off_ns + _ROUNDING_NS,
                off_ns + _ROUNDING_NS,
                is_straight=False,
                gap_ns=max(float((lower[chosen] - upper[chosen]).max()), 0.0),
                observations=int(chosen.sum()),
                drift_within=wander,
            )
        )
    return found
