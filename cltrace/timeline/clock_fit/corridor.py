"""Bounds between observations when only the rate of a clock is known to lie within limits.

If a clock's residual changes by at most `wander` per unit of time, a bound at one time is a bound at
every other time, wider by `wander` times the distance. Two passes find the tightest of all these bounds.
"""

import numpy as np

from cltrace.timeline.clock_fit.points import Points
from cltrace.timeline.columns import Float64s


def compute_corridor(
    points: Points, time_ns: Float64s, *, slope: float, wander: float
) -> tuple[Float64s, Float64s]:
    """Return the lowest and the highest residual at each of `time_ns`; infinite where unbounded.

    `time_ns` ascends. The residual is assumed to change at a rate from `slope - wander` to
    `slope + wander`.
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
    """Return the minimum of `bound + wander * distance` at each time."""
    if not len(at_ns):
        return np.full(len(time_ns), np.inf)
    before = np.minimum.accumulate(bound_ns - wander * at_ns)
    after = np.minimum.accumulate((bound_ns + wander * at_ns)[::-1])[::-1]
    last_before = np.searchsorted(at_ns, time_ns, side="right") - 1
    first_after = np.searchsorted(at_ns, time_ns, side="left")
    from_before = np.where(
        last_before >= 0, before[np.maximum(last_before, 0)] + wander * time_ns, np.inf
    )
    from_after = np.where(
        first_after < len(at_ns),
        after[np.minimum(first_after, len(at_ns) - 1)] - wander * time_ns,
        np.inf,
    )
    return np.minimum(from_before, from_after)
