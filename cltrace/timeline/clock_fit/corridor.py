"""Bounds between observations when only the rate of a clock is known to lie within limits.

If a clock's residual changes by at most `wander` per unit of time, a bound at one time is a bound at
every other time, wider by `wander` times the distance. One pass over the points finds the tightest bounds
that those between two times put on later and on earlier times. Two passes over the times join them.
"""

import numpy as np

from cltrace.timeline.clock_fit.points import Points
from cltrace.timeline.clock_fit.sources import PointSlice
from cltrace.timeline.columns import Float64s, Int64s


def compute_corridor(
    points: PointSlice, time_ns: Float64s, *, slope: float, wander: float
) -> tuple[Float64s, Float64s]:
    """Return the lowest and the highest residual at each of `time_ns`; infinite where unbounded.

    `time_ns` ascends. The residual is assumed to change at a rate from `slope - wander` to
    `slope + wander`.
    """
    cones = Cones(time_ns, slope=slope, wander=wander)
    for part in points.parts():
        cones.add(part)
    return cones.limits()


class Cones:
    """Limits of a residual at some times, which ascend, from points that are added in their order."""

    def __init__(self, time_ns: Float64s, *, slope: float, wander: float) -> None:
        self._time_ns, self._slope, self._wander = time_ns, slope, wander
        self._upper, self._lower = (_Side(time_ns, wander) for _ in range(2))

    def add(self, points: Points) -> None:
        """Add points."""
        straight = self._slope * points.time_ns
        for side, bound_ns in (
            (self._upper, points.upper_ns - straight),
            (self._lower, straight - points.lower_ns),
        ):
            is_bounded = np.isfinite(bound_ns)
            if is_bounded.all():
                side.add(points.time_ns, bound_ns)
            else:
                side.add(points.time_ns[is_bounded], bound_ns[is_bounded])

    def minima(self) -> tuple[tuple[Float64s, Float64s], tuple[Float64s, Float64s]]:
        """Return the minima over points before and after each time, of the lower and the upper side.

        They are minima of `bound - wander * time` and of `bound + wander * time`.
        """
        return self._lower.minima(), self._upper.minima()

    def limits(self) -> tuple[Float64s, Float64s]:
        """Return the lowest and the highest residual at each time."""
        straight = self._slope * self._time_ns
        return -self._lower.lowest() + straight, self._upper.lowest() + straight


class _Side:
    """Minimum of `bound + wander * distance` over all points, at some times."""

    def __init__(self, time_ns: Float64s, wander: float) -> None:
        self._time_ns, self._wander = time_ns, wander
        self._before, self._after = (np.full(len(time_ns), np.inf) for _ in range(2))

    def add(self, at_ns: Float64s, bound_ns: Float64s) -> None:
        """Add bounds at times that ascend."""
        if not len(at_ns):
            return
        # Points between two times bound the later one as a point before it, the earlier as one after it.
        first = max(int(np.searchsorted(self._time_ns, at_ns[0], "left")) - 1, 0)
        last = int(np.searchsorted(self._time_ns, at_ns[-1], "right")) + 1
        near = self._time_ns[first:last]
        ends = np.searchsorted(at_ns, near, side="right")
        _lower(self._before[first:last], bound_ns - self._wander * at_ns, np.append(0, ends))
        begins = np.searchsorted(at_ns, near, side="left")
        _lower(
            self._after[first:last], bound_ns + self._wander * at_ns, np.append(begins, len(at_ns))
        )

    def minima(self) -> tuple[Float64s, Float64s]:
        """Return the minima over the points up to each time, and over those from it on."""
        return np.minimum.accumulate(self._before), np.minimum.accumulate(self._after[::-1])[::-1]

    def lowest(self) -> Float64s:
        """Return the minimum at each time."""
        before, after = self.minima()
        straight = self._wander * self._time_ns
        return np.minimum(before + straight, after - straight)


def _lower(minima: Float64s, values: Float64s, edges: Int64s) -> None:
    """Lower each minimum to that of the values between two edges."""
    begin, end = edges[:-1], edges[1:]
    filled = np.flatnonzero(end > begin)
    if len(filled):
        values = values[: end[filled[-1]]]
        lowest = np.minimum.reduceat(values, begin[filled])
        minima[filled] = np.minimum(minima[filled], lowest)
