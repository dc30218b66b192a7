"""The roofline of Williams, Waterman and Patterson (2009): the longer of arithmetic and memory.

A launch takes what an empty one takes, and the longer of two times: all operations at the rate at which
the device does them side by side, and all different bytes at the rate of a large copy. Where it is
wrong: it knows no caches but a perfect one, no latency, no bad access, no small launch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.errors import ProfileError
from cltrace.kernels import CostClass, KernelCounts
from cltrace.kernels.counts.records import AccessSite
from cltrace.predict.models.prediction import Cache, Fit, Part, Prediction
from cltrace.profile import DeviceProfile, Parameter

_SMALL: Final = 1 << 14
"""Empty launches of no more work-items take what any launch takes."""
_SERIES: Final[Mapping[CostClass, str]] = {
    CostClass.INT_ADD: "int add",
    CostClass.INT_LOGIC: "int add",
    CostClass.INT_COMPARE: "int add",
    CostClass.INT_MULTIPLY: "int multiply",
    CostClass.INT_DIVIDE: "int divide",
    CostClass.FLOAT_ADD: "float add",
    CostClass.FLOAT_MULTIPLY: "float multiply",
    CostClass.FLOAT_MULTIPLY_ADD: "float multiply-add",
    CostClass.FLOAT_DIVIDE: "float divide",
    CostClass.FLOAT_COMPARE: "float compare and select",
    CostClass.SPECIAL: "float exp",
    CostClass.CONVERT: "int add",
}
"""The series of the family `throughput` that a class of operations costs like."""
_WIDE: Final[Mapping[str, str]] = {"double": "float", "long": "int"}


@dataclass(frozen=True, slots=True)
class Roofline:
    """The fitted model. `operation_ns` is by series, of an operation of a work-item among many."""

    launch_ns: float
    byte_ns: float
    operation_ns: Mapping[str, float]

    def predict(self, counts: KernelCounts, cache: Cache = Cache.WARM) -> Prediction:  # noqa: ARG002
        """The longer of arithmetic and memory."""
        arithmetic = sum(
            row.total.value * self._operation_ns(row.cost, row.type) for row in counts.operations
        )
        memory = self.byte_ns * sum(_bytes(site, counts) for site in counts.sites)
        parts = (
            Part("launch", self.launch_ns), Part("arithmetic", arithmetic), Part("memory", memory)
        )  # fmt: skip
        limiter = max(parts, key=lambda part: part.time_ns).name
        return Prediction(self.launch_ns + max(arithmetic, memory), limiter, parts)

    def _operation_ns(self, cost: CostClass, kind: str) -> float:
        series = _SERIES.get(cost)
        if series is None:
            return 0.0
        narrow = _WIDE.get(kind)
        wide = series.replace(narrow, kind, 1) if narrow is not None else series
        return self.operation_ns.get(wide, self.operation_ns.get(series, 0.0))


class RooflineModel:
    """The roofline as a kind of model."""

    name = "roofline"

    def fit(self, profile: DeviceProfile) -> Fit:
        """Its three kinds of costs."""
        small = [point.median_ns for point in profile.points("base") if point.x <= _SMALL]
        copies = profile.points("elementary", "float copy")
        if not small or not copies:
            raise ProfileError("the calibration has no empty launches or no copies")
        launch = min(small)
        largest = max(copies, key=lambda point: point.x)
        byte = (largest.median_ns - launch) / (8 * largest.x)
        found = {
            "launch": Parameter(launch, "ns", 0.0, "base"),
            "byte": Parameter(byte, "ns a byte", 0.0, "elementary"),
        }
        for series in dict.fromkeys(point.series for point in profile.points("throughput")):
            ordered = sorted(profile.points("throughput", series), key=lambda point: point.x)
            if len(ordered) < 2:
                continue
            few, many = ordered[0], ordered[-1]
            items = profile.device.compute_units * _items_a_unit(profile)
            each = (many.median_ns - few.median_ns) / (many.x - few.x) / items
            error = (
                math.hypot(few.standard_error_ns, many.standard_error_ns) / (many.x - few.x) / items
            )
            found[series] = Parameter(max(each, 0.0), "ns", error, "throughput")
        return Fit(found)

    def fitted(self, profile: DeviceProfile) -> Roofline:
        """The roofline of a device."""
        known = profile.parameters.get(self.name)
        if known is None:
            raise ProfileError("the profile is not fitted: cltrace calibrate --from FILE does that")
        if not {"launch", "byte"} <= set(known):
            raise ProfileError(f"the profile's costs of {self.name} are damaged")
        rates = {
            name: parameter.value
            for name, parameter in known.items()
            if parameter.family == "throughput"
        }
        return Roofline(known["launch"].value, known["byte"].value, rates)


def _items_a_unit(profile: DeviceProfile) -> int:
    """The work-items on a compute unit of the family `throughput`."""
    return 64 if profile.device.kind == "cpu" else 2048


def _bytes(site: AccessSite, counts: KernelCounts) -> float:
    if site.space not in {"global", "constant"}:
        return 0.0
    return site.footprint.launch_sectors * counts.machine.sector_bytes
