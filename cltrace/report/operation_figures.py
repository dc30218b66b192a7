"""Figures of costs of operations: a bar per operation, from the times of short and long loops."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cltrace.profile import DeviceProfile, Point
from cltrace.report.figures import BLUE, plain_text
from cltrace.report.quantities import three_digit_text
from cltrace.suite.calibration.operations import throughput_items

if TYPE_CHECKING:  # slow to load: the verb loads it when it draws
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Z95: Final = 1.96
_BAR_INCHES: Final = 0.19
_FIT: Final = "overlap"
_FIT_COLOR: Final = "#cc3311"


@dataclass(frozen=True, slots=True)
class _Cost:
    """Cost of an operation in ns, with half of its 95 % interval, and the default model's fit or None."""

    name: str
    cost_ns: float
    error_ns: float
    fitted_ns: float | None

    @property
    def end_ns(self) -> float:
        """Right end of all that is drawn of the cost."""
        return max(self.cost_ns + self.error_ns, self.fitted_ns or 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _CostFamily:
    """Label of the axis of a family, and how many operations run beside each other on a device."""

    label: str
    in_parallel: Callable[[DeviceProfile], int]


def _alone(_: DeviceProfile) -> int:
    return 1


def _per_compute_unit(profile: DeviceProfile) -> int:
    return throughput_items(is_cpu=profile.device.kind == "cpu")


_COST_FAMILIES: Final[Mapping[str, _CostFamily]] = {
    "throughput": _CostFamily("ns per operation on a compute unit", _per_compute_unit),
    "mixtures": _CostFamily("ns per pair of operations on a compute unit", _per_compute_unit),
    "latency": _CostFamily("ns per operation in a chain", _alone),
    "barriers": _CostFamily("ns per barrier of a launch", _alone),
    "first": _CostFamily("ns that a first launch takes longer", _alone),
}


def has_costs(profile: DeviceProfile, family: str) -> bool:
    """Return True if a family is drawn as bars: its series differ in the number of operations alone."""
    return family in _COST_FAMILIES and bool(_costs(profile, family))


def draw_costs(profile: DeviceProfile, family: str) -> "Figure":
    """Return a chart with a bar per operation, in ns, the cheapest on top. Error bars are 95 %."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    costs = sorted(_costs(profile, family), key=lambda cost: cost.cost_ns)
    figure = Figure(figsize=(7.5, 1.3 + _BAR_INCHES * len(costs)), layout="constrained")
    axis = figure.subplots()
    axis.barh(
        range(len(costs)),
        [cost.cost_ns for cost in costs],
        xerr=[cost.error_ns for cost in costs],
        color=BLUE,
        error_kw={"linewidth": 0.8, "capsize": 2},
        label="measured",
    )
    for at, cost in enumerate(costs):
        axis.annotate(
            three_digit_text(cost.cost_ns),
            (cost.end_ns, at),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    _add_fits(axis, costs)
    axis.axvline(0, color="black", linewidth=0.6)
    axis.set_yticks(range(len(costs)), [plain_text(cost.name) for cost in costs], fontsize=7)
    axis.set_ylim(len(costs) - 0.4, -0.6)
    axis.set_xlabel(_COST_FAMILIES[family].label, fontsize=9)
    axis.tick_params(axis="x", labelsize=8)
    axis.margins(x=0.1)
    return figure


def _add_fits(axis: "Axes", costs: Sequence[_Cost]) -> None:
    """Mark the costs that the default model takes, if it was fitted to the family."""
    fitted = [(cost.fitted_ns, at) for at, cost in enumerate(costs) if cost.fitted_ns is not None]
    if fitted:
        axis.plot(
            [cost_ns for cost_ns, _ in fitted],
            [at for _, at in fitted],
            "|",
            color=_FIT_COLOR,
            markersize=7,
            label=f"model {_FIT}",
        )
        axis.legend(fontsize=8, frameon=False, loc="upper right")


def _costs(profile: DeviceProfile, family: str) -> Sequence[_Cost]:
    """Return the costs of the operations of a family that were measured at two numbers or more."""
    in_parallel = _COST_FAMILIES[family].in_parallel(profile)
    costs = []
    for name in dict.fromkeys(point.series for point in profile.points(family)):
        points = sorted(profile.points(family, name), key=lambda point: point.x)
        operations = points[-1].x - points[0].x
        if operations > 0:
            share = 1 / (operations * in_parallel)
            fitted = dict(profile.fitted_times(_FIT, family, name))
            first, last = fitted.get(points[0].x), fitted.get(points[-1].x)
            costs.append(
                _Cost(
                    name,
                    (points[-1].mean_ns - points[0].mean_ns) * share,
                    _error_ns(points[0], points[-1]) * share,
                    None if first is None or last is None else (last - first) * share,
                )
            )
    return costs


def _error_ns(first: Point, last: Point) -> float:
    """Return half of the 95 % confidence interval of the difference of two mean times."""
    return _Z95 * math.hypot(first.standard_error_ns, last.standard_error_ns)
