"""The roofline of Williams, Waterman and Patterson (2009): the longer of arithmetic and memory.

A launch takes the launch overhead, and the longer of two times: all operations at the throughput of the
device, and all different bytes at the rate of a large copy. The model has no latency, no access
patterns and no small launches, and its cache is perfect: it is wrong where these matter.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cltrace.errors import ProfileError
from cltrace.events.cost_names import CostName
from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels import CostClass, KernelCounts
from cltrace.kernels.counts.records import AccessSite
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.models.defaults import Gaps
from cltrace.predict.models.prediction import Cache, Fit, Part, Prediction, stored_parameters
from cltrace.profile import DeviceProfile, Parameter
from cltrace.suite.calibration.operations import throughput_items

_SMALL_ITEMS: Final = 1 << 14
"""Empty launches of no more work-items take the launch overhead."""
_INT_ADD: Final = CostName("int", "add")
_COSTS: Final[Mapping[CostClass, CostName]] = {
    CostClass.INT_ADD: _INT_ADD,
    CostClass.INT_LOGIC: _INT_ADD,
    CostClass.INT_COMPARE: _INT_ADD,
    CostClass.INT_MULTIPLY: CostName("int", "multiply"),
    CostClass.INT_DIVIDE: CostName("int", "divide"),
    CostClass.FLOAT_ADD: CostName("float", "add"),
    CostClass.FLOAT_MULTIPLY: CostName("float", "multiply"),
    CostClass.FLOAT_MULTIPLY_ADD: CostName("float", "multiply-add"),
    CostClass.FLOAT_DIVIDE: CostName("float", "divide"),
    CostClass.FLOAT_COMPARE: CostName("float", "compare and select"),
    CostClass.SPECIAL: CostName("float", "exp"),
    CostClass.CONVERT: _INT_ADD,
}
"""Name of the cost of each class: a series of the family `throughput`."""
_NARROWER: Final[Mapping[str, str]] = {"double": "float", "long": "int"}


@dataclass(frozen=True, slots=True)
class Roofline:
    """The roofline of a device. `operation_ns` are the times of one work-item among many."""

    launch_ns: float
    byte_ns: float
    operation_ns: Mapping[CostName, float]

    def predict(
        self,
        counts: KernelCounts,
        cache: Cache = Cache.WARM,  # noqa: ARG002
        arrivals: Sequence[Arrival] = (STEADY,),  # noqa: ARG002
    ) -> Prediction:
        """Predict the longer of arithmetic and memory, after the launch overhead."""
        arithmetic = sum(
            row.total.value * self._operation_ns(row.cost, row.type) for row in counts.operations
        )
        memory = self.byte_ns * sum(_bytes(site, counts) for site in counts.sites)
        parts = (
            Part("launch", self.launch_ns),
            Part("arithmetic", arithmetic),
            Part("memory", memory),
        )
        limiter = max(parts, key=lambda part: part.time_ns).name
        return Prediction(self.launch_ns + max(arithmetic, memory), limiter, parts)

    def _operation_ns(self, cost: CostClass, kind: str) -> float:
        name = _COSTS.get(cost)
        if name is None:
            return 0.0
        own = replace(name, type=kind) if _NARROWER.get(kind) == name.type else name
        return self.operation_ns.get(own, self.operation_ns.get(name, 0.0))


class RooflineModel:
    """The roofline as a kind of model."""

    name = "roofline"

    def fit(self, profile: DeviceProfile, deadline: Deadline = NEVER) -> Fit:  # noqa: ARG002
        """Fit the launch overhead, the time per byte, and the times of operations."""
        gaps = Gaps.of(profile, self.name)
        parameters = dict(
            gaps.fit_or_default(
                ("base", "elementary"), ("launch", "byte"), lambda: _launch_and_byte(profile)
            )
        )
        parameters.update(gaps.defaults_of(gaps.names_of("throughput")))
        parameters.update(_operations(profile))
        return Fit(parameters)

    def for_device(self, profile: DeviceProfile) -> Roofline:
        """Return the roofline of a device. Raises: `ProfileError`."""
        parameters = stored_parameters(profile, self.name)
        if not {"launch", "byte"} <= set(parameters):
            raise ProfileError(f"the profile's costs of {self.name} are damaged")
        try:
            operation_ns = {
                CostName.parse(key): parameter.value
                for key, parameter in parameters.items()
                if parameter.own_family == "throughput"
            }
        except ValueError as error:
            raise ProfileError(
                f"the profile's costs of {self.name} are damaged: {error}"
            ) from error
        return Roofline(parameters["launch"].value, parameters["byte"].value, operation_ns)


def _launch_and_byte(profile: DeviceProfile) -> Iterator[tuple[str, Parameter]]:
    small = [point.median_ns for point in profile.points("base") if point.x <= _SMALL_ITEMS]
    copies = profile.points("elementary", "float copy")
    if not small or not copies:
        raise ProfileError("the calibration has no empty launches or no copies")
    launch = min(small)
    largest = max(copies, key=lambda point: point.x)
    byte = (largest.median_ns - launch) / (8 * largest.x)
    yield "launch", Parameter(launch, "ns", 0.0, "base")
    yield "byte", Parameter(byte, "ns a byte", 0.0, "elementary")


def _operations(profile: DeviceProfile) -> Iterator[tuple[str, Parameter]]:
    unit_items = throughput_items(is_cpu=profile.device.kind == "cpu")
    items = profile.device.compute_units * unit_items
    for series in dict.fromkeys(point.series for point in profile.points("throughput")):
        ordered = sorted(profile.points("throughput", series), key=lambda point: point.x)
        if len(ordered) < 2:
            continue
        short, long = ordered[0], ordered[-1]
        trips = long.x - short.x
        time_ns = (long.median_ns - short.median_ns) / trips / items
        spread = math.hypot(short.standard_error_ns, long.standard_error_ns)
        error = spread / trips / items
        yield series, Parameter(max(time_ns, 0.0), "ns", error, "throughput")


def _bytes(site: AccessSite, counts: KernelCounts) -> float:
    if site.space not in {"global", "constant"}:
        return 0.0
    return site.footprint.launch_sectors * counts.machine.sector_bytes
