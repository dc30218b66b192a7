"""The overlap model as a kind of model."""

from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.launch import demand_of
from cltrace.predict.models.overlap.bounds import at_least, at_most
from cltrace.predict.models.overlap.fit import (
    NORMS,
    REQUIRED,
    fitted_costs,
    measured_probes,
)
from cltrace.predict.models.overlap.scaling import scaled
from cltrace.predict.models.overlap.times import Costs, times_of
from cltrace.predict.models.prediction import Cache, Fit, Part, Prediction
from cltrace.profile import DeviceProfile

_MOST: Final = 1e14


@dataclass(frozen=True, slots=True)
class Overlap:
    """The fitted model. `costs` are by name; `operations` are the names of measured operations."""

    costs: Costs
    operations: frozenset[str]

    def predict(self, counts: KernelCounts, cache: Cache = Cache.WARM) -> Prediction:
        """What a launch takes: the parts of a device by themselves, and all together.

        The interval holds nine of ten calibration probes; where counts rest on assumptions, it reaches
        from the least that they may be to the most.
        """
        demand = demand_of(counts, self.operations)
        times = times_of(demand, self.costs, cache)
        low = high = times.total_ns
        if counts.assumptions:
            low = min(low, self._total_ns(at_least(counts), cache))
            high = max(high, self._total_ns(at_most(counts), cache))
        parts = tuple(Part(name, time) for name, time in times.parts().items() if time > 0.0)
        return Prediction(
            duration_ns=times.total_ns,
            limiter=max(parts, key=lambda part: part.time_ns).name,
            parts=parts,
            interval_ns=(low * self.costs["interval low"], high * self.costs["interval high"]),
        )

    def scaled_ns(self, counts: KernelCounts, factor: float) -> float:
        """What a launch of so many times the work-items takes, of arrays as many times as large."""
        demand = scaled(demand_of(counts, self.operations), factor, counts.machine.compute_units)
        return times_of(demand, self.costs).total_ns

    def _total_ns(self, counts: KernelCounts, cache: Cache) -> float:
        return times_of(demand_of(counts, self.operations), self.costs, cache).total_ns


class OverlapModel:
    """The overlap model as a kind of model."""

    name = "overlap"

    def fit(self, profile: DeviceProfile) -> Fit:
        """Its costs. All probes of the calibration are counted for that, which takes a while.

        Raises: `ProfileError` if a family is missing, `CompilerMissingError` without clang.
        """
        probes = measured_probes(profile)
        found = fitted_costs(probes, profile.device)
        costs = {name: one.value for name, one in found.items()}
        known = {
            (one.family, one.series, one.x): times_of(one.demand, costs).total_ns for one in probes
        }
        return Fit(
            found,
            {
                family: tuple(known.get((family, one.series, one.x)) for one in points)
                for family, points in profile.families.items()
            },
        )

    def fitted(self, profile: DeviceProfile) -> Overlap:
        """The model of a device."""
        known = profile.parameters.get(self.name)
        if known is None:
            raise ProfileError("the profile is not fitted: cltrace calibrate --from FILE does that")
        costs = {name: one.value for name, one in known.items()}
        wrong = sorted(REQUIRED - set(costs)) or [
            name for name, cost in costs.items() if not _is_sound(name, cost)
        ]
        if wrong:
            raise ProfileError(f"the profile's costs of {self.name} are damaged: {wrong[0]}")
        operations = frozenset(
            name for name, parameter in known.items() if parameter.family == "throughput"
        )
        return Overlap(costs, operations)


def _is_sound(name: str, cost: float) -> bool:
    """Whether a cost can be one: nothing takes less than no time, or a day."""
    if name in NORMS:
        return 1.0 <= cost < _MOST
    return 0.0 <= cost < _MOST and (
        cost > 0.0 or not name.startswith(("l1 ", "l2 ", "interval ", "launch"))
    )


OVERLAP: Final = OverlapModel()
