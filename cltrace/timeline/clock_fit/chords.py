"""Chords: straight pieces through the middle of the bounds of a clock whose rate changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.clock_fit.corridor import Cones, compute_corridor
from cltrace.timeline.clock_fit.piece import ROUNDING_NS, Piece
from cltrace.timeline.clock_fit.points import Points
from cltrace.timeline.clock_fit.sources import PointSlice
from cltrace.timeline.columns import Float64s

_CHORD_NS: Final = 50e6
_MIN_CHORDS, _MAX_CHORDS = 4, 400
_NEIGHBOURHOOD_NS: Final = 1e9
_POINTS_AT_ONCE: Final = 1 << 16


def fit_chords(
    points: PointSlice, begin_ns: float, end_ns: float, rates: tuple[float, float]
) -> list[Piece]:
    """Return straight pieces through the middle of the bounds of a clock whose rate changes."""
    near = points.slice(
        points.count_before(begin_ns - _NEIGHBOURHOOD_NS),
        points.count_before(end_ns + _NEIGHBOURHOOD_NS, "right"),
    )
    count = int(np.clip((end_ns - begin_ns) / _CHORD_NS, _MIN_CHORDS, _MAX_CHORDS))
    knots = np.linspace(begin_ns, end_ns, count + 1) if end_ns > begin_ns else np.array([begin_ns])
    slope, wander = (rates[0] + rates[1]) / 2, (rates[1] - rates[0]) / 2
    lower, upper = compute_corridor(near, knots, slope=slope, wander=wander)
    at_knots = (lower + upper) / 2
    is_moment = len(knots) == 1
    if is_moment:
        knots, at_knots = np.append(knots, knots + 1.0), np.append(at_knots, at_knots + slope)
    errors = _ChordErrors(near, knots, at_knots, slope, wander)
    pieces = []
    for number in range(len(knots) - 1):
        error = errors.of(number, begin_ns if is_moment else float(knots[number + 1]))
        pieces.append(
            Piece(
                begin_ns=float(knots[number]),
                end_ns=float(knots[number + 1]),
                offset_ns=float(at_knots[number] - error.incline * knots[number]),
                slope=error.incline,
                half_width_ns=error.error_ns + ROUNDING_NS,
                bound_ns=error.error_ns + ROUNDING_NS,
                is_straight=False,
                gap_ns=max(error.gap_ns, 0.0),
                observations=error.observations,
                drift_within=wander,
            )
        )
    return pieces


@dataclass(frozen=True, slots=True)
class _ChordError:
    """Incline of a chord, its largest error, and the largest gap between contradicting bounds."""

    incline: float
    error_ns: float
    gap_ns: float
    observations: int


class _ChordErrors:
    """Errors of chords at the times of all points, of which a part is read at once."""

    def __init__(
        self, points: PointSlice, knots: Float64s, at_knots: Float64s, slope: float, wander: float
    ) -> None:
        self._points, self._knots, self._at_knots = points, knots, at_knots
        self._slope, self._wander = slope, wander
        self._edges = np.union1d(knots, points.times(_POINTS_AT_ONCE))
        self._cones = Cones(self._edges, slope=slope, wander=wander)
        for part in points.parts(_POINTS_AT_ONCE):
            self._cones.add(part)
        self._minima = self._cones.minima()

    def of(self, number: int, until_ns: float) -> _ChordError:
        """Return the errors of a chord at times up to `until_ns`."""
        knots, at_knots = self._knots[number : number + 2], self._at_knots[number : number + 2]
        incline = float((at_knots[1] - at_knots[0]) / (knots[1] - knots[0]))
        error_ns, gap_ns, count = 0.0, -np.inf, 0
        for time_ns, lower, upper in self._corridor(float(knots[0]), until_ns):
            line = at_knots[0] + incline * (time_ns - knots[0])
            errors = np.maximum(abs(upper - line), abs(line - lower))
            error_ns = max(error_ns, float(errors.max()))
            gap_ns = max(gap_ns, float((lower - upper).max()))
            count += len(time_ns)
        return _ChordError(incline, error_ns, gap_ns, count)

    def _corridor(
        self, begin_ns: float, end_ns: float
    ) -> Iterator[tuple[Float64s, Float64s, Float64s]]:
        """Yield the times of a chord, each once, and the lowest and the highest residual at them."""
        first, last = (int(np.searchsorted(self._edges, time_ns)) for time_ns in (begin_ns, end_ns))
        for at in range(first, max(last, first + 1)):
            edge = (
                self._edges[at],
                min(float(self._edges[min(at + 1, len(self._edges) - 1)]), end_ns),
            )
            inside = self._points.load(
                self._points.count_before(edge[0]), self._points.count_before(edge[1], "right")
            )
            time_ns = np.union1d(inside.time_ns, edge)
            # The first time of a chord belongs to it, and the edges within it to the part before them.
            time_ns = time_ns[(time_ns > edge[0]) | (at == first)]
            if len(time_ns):
                yield time_ns, *self._limits(inside, time_ns, at)

    def _limits(self, inside: Points, time_ns: Float64s, at: int) -> tuple[Float64s, Float64s]:
        """Return the lowest and the highest residual at times between an edge and the next."""
        straight = self._slope * inside.time_ns
        values = []
        following = min(at + 1, len(self._edges) - 1)
        for bound_ns, (before, after) in zip(
            (straight - inside.lower_ns, inside.upper_ns - straight), self._minima, strict=True
        ):
            is_bounded = np.isfinite(bound_ns)
            at_ns, bound = inside.time_ns[is_bounded], bound_ns[is_bounded]
            earlier = np.minimum.accumulate(np.append(before[at], bound - self._wander * at_ns))
            later = np.append(bound + self._wander * at_ns, after[following])
            later = np.minimum.accumulate(later[::-1])[::-1]
            values.append(
                np.minimum(
                    earlier[np.searchsorted(at_ns, time_ns, "right")] + self._wander * time_ns,
                    later[np.searchsorted(at_ns, time_ns, "left")] - self._wander * time_ns,
                )
            )
        along = self._slope * time_ns
        return -values[0] + along, values[1] + along
