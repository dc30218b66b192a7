"""Bounds between observations when only the rate of a clock is known to lie within limits.

If a clock's residual changes by at most `wander` per unit of time, a bound at one time is a bound at
every other, wider by `wander` times the distance. The tightest of all is found in two passes.
"""

import numpy as np

from cltrace.timeline.clock_fit.points import Float64s, Points


def corridor(
    points: Points, time_ns: Float64s, *, slope: float, wander: float
) -> tuple[Float64s, Float64s]:
    """The lowest and the highest residual at each of `time_ns`, which ascend; infinite where unknown.

    The residual is taken to change at a rate within `slope - wander` and `slope + wander`.
    """
    straight = slope * points.time_ns
    has_upper, has_lower = np.isfinite(points.upper_ns), np.isfinite(points.lower_ns)
    upper = _lowest_cone(
        points.time_ns[has_upper], (points.upper_ns - straight)[has_upper], time_ns, wander
    )
    lower = -_lowest_cone(
        points.time_ns[has_lower], (straight - points.lower_ns)[has_lower], time_ns, wander
    )
    return lower + slope * time_ns, upper + slope * time_ns


def _lowest_cone(at_ns: Float64s, bound_ns: Float64s, time_ns: Float64s, wander: float) -> Float64s:
    """At each time the least of `bound + wander * distance`."""
    if not len(at_ns):
        return np.full(len(time_ns), np.inf)
    before = np.minimum.accumulate(bound_ns - wander * at_ns)
    behind = np.minimum.accumulate((bound_ns + wander * at_ns)[::-1])[::-1]
    last_before = np.searchsorted(at_ns, time_ns, side="right") - 1
    first_behind = np.searchsorted(at_ns, time_ns, side="left")
    from_before = np.where(
        last_before >= 0, before[np.maximum(last_before, 0)] + wander * time_ns, np.inf
    )
    from_behind = np.where(
        first_behind < len(at_ns),
        behind[np.minimum(first_behind, len(at_ns) - 1)] - wander * time_ns,
        np.inf,
    )
    return np.minimum(from_before, from_behind)
