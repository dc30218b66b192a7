"""Diagnosis of a wrong prediction: the parts whose time, changed alone, would make it right."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.model import Overlap
from cltrace.predict.models.overlap.part_costs import PART_CONSTANTS, scale_part
from cltrace.predict.models.overlap.times import times_of
from cltrace.predict.models.prediction import Cache

MAX_FACTOR: Final = 10.0
"""A part that would have to take more than this factor longer or shorter does not explain an error."""
_STEPS: Final = 12
"""Halvings of the range of a factor's logarithm: the factor is exact to 0.1 %."""


@dataclass(frozen=True, slots=True)
class PartFactor:
    """A part of a launch's time, and the factor of its time that makes the prediction right."""

    part: str
    factor: float


def diagnose(
    model: Overlap,
    counts: KernelCounts,
    measured_ns: float,
    cache: Cache = Cache.WARM,
    arrivals: Sequence[Arrival] = (STEADY,),
) -> tuple[PartFactor, ...]:
    """Return the parts that explain an error alone, the smallest change first; none if no part does.

    Parts overlap, so several may explain an error, and the smallest change is only the likeliest.
    """
    demand = demand_of(counts, model.costs.operations)
    factors = (
        (part, _factor(demand, model.costs, part, (cache, arrivals), measured_ns))
        for part in PART_CONSTANTS
    )
    explaining = [PartFactor(part, factor) for part, factor in factors if factor is not None]
    return tuple(sorted(explaining, key=lambda each: abs(math.log(each.factor))))


def _factor(
    demand: Demand,
    costs: Costs,
    part: str,
    state: tuple[Cache, Sequence[Arrival]],
    measured_ns: float,
) -> float | None:
    """Return the factor of a part with which a launch takes the measured time; None without one."""

    def total_ns(log: float) -> float:
        return times_of(demand, scale_part(costs, part, math.exp(log)), *state).total_ns

    limit = math.log(MAX_FACTOR)
    low, high = (-limit, 0.0) if total_ns(0.0) > measured_ns else (0.0, limit)
    if not total_ns(low) <= measured_ns <= total_ns(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if total_ns(middle) < measured_ns else (low, middle)
    return math.exp((low + high) / 2.0)
