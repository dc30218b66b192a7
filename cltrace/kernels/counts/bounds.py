"""Intervals of counts that rest on assumptions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from cltrace.kernels.counts.records import Estimate
from cltrace.kernels.counts.scaling import ScaledSample


@dataclass(frozen=True, slots=True)
class ScenarioBounds:
    """Samples of a launch in the scenarios with the least and the most work.

    None stands for a scenario that takes too long to execute, which leaves counts unbounded on that
    side.
    """

    lower: ScaledSample | None
    upper: ScaledSample | None

    def bound(self, estimate: Estimate, value: Callable[[ScaledSample], float]) -> Estimate:
        """Add the interval of the scenarios to an estimate. `value` returns its value in a sample."""
        values = [value(sample) for sample in (self.lower, self.upper) if sample is not None]
        return replace(
            estimate,
            low=min(estimate.value, *values) if self.lower is not None else 0.0,
            high=max(estimate.value, *values) if self.upper is not None else math.inf,
        )
