"""The interval of a count that rests on assumptions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from cltrace.kernels.counts.records import Estimate
from cltrace.kernels.counts.scaling import Scaled


@dataclass(frozen=True, slots=True)
class Extremes:
    """What a launch does when all that is not known is as short, and as long, as is assumed at most.

    None stands for what takes too long to be executed: then nothing bounds the counts on that side.
    """

    least: Scaled | None
    most: Scaled | None

    def around(self, estimate: Estimate, value: Callable[[Scaled], float]) -> Estimate:
        """An estimate with the interval that the extremes span. `value` is its value in a sample."""
        known = [value(sample) for sample in (self.least, self.most) if sample is not None]
        return replace(
            estimate,
            low=min(estimate.value, *known) if self.least is not None else 0.0,
            high=max(estimate.value, *known) if self.most is not None else math.inf,
        )
