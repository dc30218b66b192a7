"""The overlap model, fitted to a calibration and read from a profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.launch import demand_of
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.models.defaults import FIXED_COSTS, LATER_COSTS, LATER_PROCESSOR_COSTS, Gaps
from cltrace.predict.models.overlap.bounds import lower_bound, upper_bound
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.fit import fit_costs
from cltrace.predict.models.overlap.joint_costs import NORMS, required_constants
from cltrace.predict.models.overlap.joint_search import SearchLimits
from cltrace.predict.models.overlap.probes import count_calibration
from cltrace.predict.models.overlap.scaling import scale_demand
from cltrace.predict.models.overlap.times import times_of
from cltrace.predict.models.prediction import Cache, Fit, Part, Prediction, stored_parameters
from cltrace.profile import DeviceProfile
from cltrace.suite.calibration import Effort

_MAX_COST: Final = 1e14
_TOLERANCES: Final[Mapping[Effort, float]] = {Effort.QUICK: 3e-3, Effort.FULL: 1e-8}
"""Tolerance of the search by effort: the noise of a quick calibration outweighs smaller steps."""
_COUNTING_SHARE: Final = 0.6
"""Share of the time of a fit that counting the probes may take."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap model with the costs of a device."""

    costs: Costs

    def predict(
        self,
        counts: KernelCounts,
        cache: Cache = Cache.WARM,
        arrivals: Sequence[Arrival] = (STEADY,),
    ) -> Prediction:
        """Predict the time of a launch: that of each part of the device, and that of all together.

        Nine of ten launches are expected in the interval. Where counts rest on assumptions, it is
        extended from the prediction of the least possible counts to that of the most.
        """
        demand = demand_of(counts, self.costs.operations)
        times = times_of(demand, self.costs, cache, arrivals)
        low = high = times.total_ns
        if counts.assumptions:
            low = min(low, self._total_ns(lower_bound(counts), cache, arrivals))
            high = max(high, self._total_ns(upper_bound(counts), cache, arrivals))
        parts = tuple(Part(name, time) for name, time in times.parts().items() if time > 0.0)
        return Prediction(
            duration_ns=times.total_ns,
            limiter=max(parts, key=lambda part: part.time_ns).name,
            parts=parts,
            interval_ns=(low * self.costs["interval low"], high * self.costs["interval high"]),
        )

    def scaled_ns(self, counts: KernelCounts, factor: float) -> float:
        """Predict a launch of `factor` times the work-items, on arrays `factor` times as large."""
        demand = demand_of(counts, self.costs.operations)
        scaled = scale_demand(demand, factor, counts.machine.compute_units)
        return times_of(scaled, self.costs).total_ns

    def _total_ns(self, counts: KernelCounts, cache: Cache, arrivals: Sequence[Arrival]) -> float:
        demand = demand_of(counts, self.costs.operations)
        return times_of(demand, self.costs, cache, arrivals).total_ns


class OverlapModel:
    """The overlap model as a kind of model."""

    name = "overlap"

    def fit(self, profile: DeviceProfile, deadline: Deadline = NEVER) -> Fit:
        """Fit the costs of a device. All probes of the calibration are counted, which takes a while.

        At the deadline, the fit ends with the best costs so far.
        Raises: `ProfileError` if a family is missing, `CompilerMissingError` without clang.
        """
        counted = count_calibration(profile, deadline.first_part(_COUNTING_SHARE))
        probes = counted.probes
        gaps = Gaps.of(profile, self.name, counted.uncounted)
        limits = SearchLimits(deadline, _TOLERANCES[Effort[profile.provenance.effort.upper()]])
        parameters = fit_costs(probes, profile.device, gaps, limits)
        costs = Costs.of(parameters)
        fitted_ns = {
            (probe.family, probe.series, probe.x): times_of(
                probe.demand, costs, arrivals=(probe.arrival,)
            ).total_ns
            for probe in probes
        }
        return Fit(
            parameters,
            {
                family: tuple(fitted_ns.get((family, point.series, point.x)) for point in points)
                for family, points in profile.families.items()
            },
            counted.uncounted,
        )

    def for_device(self, profile: DeviceProfile) -> Overlap:
        """Return the model with the costs that a profile stores. Raises: `ProfileError`."""
        parameters = stored_parameters(profile, self.name)
        try:
            later = {**LATER_COSTS, **LATER_PROCESSOR_COSTS, **FIXED_COSTS}
            costs = Costs.of({**later, **parameters})
        except ValueError as error:
            raise ProfileError(
                f"the profile's costs of {self.name} are damaged: {error}"
            ) from error
        required = required_constants(is_cpu=profile.device.kind == "cpu")
        missing = sorted(required - set(costs.constants))
        if missing:
            raise ProfileError(
                f"the profile has no cost '{missing[0]}' of {self.name}: it is damaged, or an earlier"
                " version of cltrace fitted it; measure the device again with `cltrace calibrate`"
            )
        wrong = [
            name for name, parameter in parameters.items() if not _is_sound(name, parameter.value)
        ]
        if wrong:
            raise ProfileError(f"the profile's costs of {self.name} are damaged: {wrong[0]}")
        return Overlap(costs)


def _is_sound(name: str, cost: float) -> bool:
    """Return True for a plausible cost: neither negative nor longer than a day."""
    if name in NORMS:
        return 1.0 <= cost < _MAX_COST
    return 0.0 <= cost < _MAX_COST and (
        cost > 0.0 or not name.startswith(("l1 ", "l2 ", "interval ", "launch"))
    )


OVERLAP: Final = OverlapModel()
