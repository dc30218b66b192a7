"""The model of Pöppl, Run time prediction for OpenCL (2014), its equations fitted to a device.

A launch takes the sum of the times of its cost types, times a factor for the size of its work-groups
(equations 6.5 and 6.6). Each type has a line over the number of work-items (5.4, 5.8, 5.10 to 5.12) and
a factor for the number of times that it stands in the kernel: operations on floats are hidden behind
memory up to a number of them (5.9), further ones on integers are free (fig. 7.3), accesses cost less
after the first (5.13). The factor for work-groups decays (5.6) or is a saw-tooth (7.2).
`docs/model-thesis.md` lists the deviations from what was published.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cltrace.errors import ProfileError
from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.cost_types import CostType, TypeCount, cost_types
from cltrace.predict.curves import (
    Decay,
    GroupCurve,
    Knee,
    Line,
    Multiplicity,
    fit_group_curve,
    fit_knee,
    fit_line,
)
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.models.defaults import Gaps
from cltrace.predict.models.prediction import Cache, Fit, Part, Prediction, stored_parameters
from cltrace.profile import DeviceProfile, Parameter

_ELEMENTS: Final[Mapping[CostType, tuple[str, str, str]]] = {
    CostType.INT_PLUS: ("elementary", "int +", "int copy"),
    CostType.INT_MINUS: ("elementary", "int -", "int copy"),
    CostType.INT_TIMES: ("elementary", "int *", "int copy"),
    CostType.INT_DIVIDE: ("elementary", "int /", "int copy"),
    CostType.FLOAT_PLUS: ("elementary", "float +", "float copy"),
    CostType.FLOAT_MINUS: ("elementary", "float -", "float copy"),
    CostType.FLOAT_TIMES: ("elementary", "float *", "float copy"),
    CostType.FLOAT_DIVIDE: ("elementary", "float /", "float copy"),
    CostType.LOCAL: ("classes", "local", "none"),
    CostType.READ_CONSTANT: ("classes", "constant", "none"),
    CostType.READ_CACHED: ("classes", "interval", "none"),
    CostType.READ_CONTINUOUS: ("classes", "continuous", "none"),
    CostType.READ_COMPLEX: ("classes", "complex", "none"),
}
"""By cost type: the family, the series with it, and the same series without it."""
_INT_OPERATIONS: Final = frozenset(
    {CostType.INT_PLUS, CostType.INT_MINUS, CostType.INT_TIMES, CostType.INT_DIVIDE}
)
_FLOAT_OPERATIONS: Final = frozenset(
    {CostType.FLOAT_PLUS, CostType.FLOAT_MINUS, CostType.FLOAT_TIMES, CostType.FLOAT_DIVIDE}
)
_SATURATING: Final = ("several-operations", "float *")
"""The family and series that show up to how many operations memory hides."""
_DECAY: Final = ("b1", "t1", "b2", "t2", "y0")


@dataclass(frozen=True, slots=True)
class TypeTime:
    """Time of a cost type in a launch, in ns, and the number of times that a work-item does it."""

    type: CostType
    per_item: float
    time_ns: float


@dataclass(frozen=True, slots=True)
class Thesis:
    """The fitted equations. `lines` are by cost type, over work-items, in ns."""

    lines: Mapping[CostType, Line]
    group: GroupCurve
    largest_group: int
    saturation: float
    accesses: float

    def group_factor(self, group_items: int) -> float:
        """Return the factor for work-groups of a size; 1 for the largest."""
        return self.group(group_items) / self.group(self.largest_group)

    def parts(self, counts: KernelCounts) -> tuple[TypeTime, ...]:
        """Return the time of each cost type of a launch. Their sum is the launch's time."""
        group_items = counts.work_items // counts.groups
        return self.type_times(cost_types(counts), counts.work_items, group_items)

    def type_times(
        self, rows: Iterable[TypeCount], items: int, group_items: int
    ) -> tuple[TypeTime, ...]:
        """Return the time of each row for a number of work-items in work-groups of a size."""
        factor = self.group_factor(group_items)
        return tuple(
            TypeTime(row.type, row.per_item, factor * self._time_ns(row, items)) for row in rows
        )

    def multiplier(self, row: TypeCount) -> float:
        """Return M(n), the share of n single times that n operations or accesses take.

        n M(n) never falls. n below 1 is the share of work-items that do it once.
        """
        number = max(row.per_item, 1.0)
        if row.type in _INT_OPERATIONS:
            return 1.0 / number
        if row.type in _FLOAT_OPERATIONS:
            return max(1.0, number - self.saturation) / number
        if row.type is CostType.BASE:
            return 1.0
        return min(1.0 / number + self.accesses, 1.0)

    def predict(
        self,
        counts: KernelCounts,
        cache: Cache = Cache.WARM,  # noqa: ARG002
        arrivals: Sequence[Arrival] = (STEADY,),  # noqa: ARG002
    ) -> Prediction:
        """Predict the sum of the times of all cost types."""
        parts = tuple(Part(str(part.type), part.time_ns) for part in self.parts(counts))
        limiter = max(parts, key=lambda part: part.time_ns).name
        return Prediction(sum(part.time_ns for part in parts), limiter, parts)

    def _time_ns(self, row: TypeCount, items: int) -> float:
        line = self.lines.get(row.type)
        if line is None or not row.per_item:
            return 0.0
        return row.per_item * line(items) * self.multiplier(row)


class ThesisModel:
    """The thesis's model as a kind of model."""

    name = "thesis"

    def fit(self, profile: DeviceProfile, deadline: Deadline = NEVER) -> Fit:  # noqa: ARG002
        """Fit the lines of cost types, and the factors."""
        gaps = Gaps.of(profile, self.name)
        parameters = dict(_lines(profile, gaps))
        for family, names, fit in _factors(profile, gaps):
            parameters.update(gaps.fit_or_default((family,), names, fit))
        curves = FamilyCurves(replace(profile, parameters={self.name: parameters}))
        return Fit(
            parameters,
            {
                family: tuple(curves.value_ns(family, point.series, point.x) for point in points)
                for family, points in profile.families.items()
            },
        )

    def for_device(self, profile: DeviceProfile) -> Thesis:
        """Return the equations of a device. Raises: `ProfileError`."""
        parameters = stored_parameters(profile, self.name)
        values = {name: parameter.value for name, parameter in parameters.items()}
        try:
            lines = {
                cost_type: Line(
                    values[f"{cost_type} each"], values[f"{cost_type} constant"], 0.0, 0.0
                )
                for cost_type in CostType
                if f"{cost_type} each" in values
            }
            return Thesis(
                lines,
                _stored_group(values),
                _largest_group(profile),
                values["saturation"],
                values["accesses"],
            )
        except (KeyError, ValueError, OverflowError) as error:
            raise ProfileError(
                f"the profile's costs of {self.name} are damaged: {error}"
            ) from error


THESIS: Final = ThesisModel()


def _lines(profile: DeviceProfile, gaps: Gaps) -> Iterator[tuple[str, Parameter]]:
    """Yield the parameters of lines; defaults for those whose series were left out."""

    def base_line() -> Line:
        base = profile.points("base")
        return fit_line([point.x for point in base], [point.mean_ns for point in base])

    lines: list[tuple[CostType, str, Callable[[], Line]]] = [
        (cost_type, family, partial(_difference, profile, family, series, without))
        for cost_type, (family, series, without) in _ELEMENTS.items()
    ]
    lines.append((CostType.BASE, "base", base_line))
    lines.append((CostType.WRITE, "classes", lambda: _write_line(profile, base_line())))
    for cost_type, family, fit in lines:
        names = (f"{cost_type} each", f"{cost_type} constant")
        yield from gaps.fit_or_default(
            (family, "base"), names, partial(_fit_line_parameters, cost_type, family, fit)
        ).items()


def _factors(
    profile: DeviceProfile, gaps: Gaps
) -> Iterator[tuple[str, Sequence[str], Callable[[], Iterable[tuple[str, Parameter]]]]]:
    """Yield the family of each factor, the names of its parameters, and their fit."""
    group_names = [name for name in gaps.defaults if name.startswith("group ")]
    yield "group-size", group_names, lambda: _group_parameters(_group(profile))
    yield "several-operations", ("saturation",), lambda: _saturation(profile)
    yield "several-accesses", ("accesses",), lambda: _accesses(profile)


def _fit_line_parameters(
    cost_type: CostType, family: str, fit: Callable[[], Line]
) -> Iterator[tuple[str, Parameter]]:
    yield from _line_parameters(cost_type, family, fit())


def _line_parameters(
    cost_type: CostType, family: str, line: Line
) -> Iterator[tuple[str, Parameter]]:
    yield f"{cost_type} each", Parameter(line.slope, "ns a work-item", line.slope_error, family)
    yield f"{cost_type} constant", Parameter(line.constant, "ns", line.constant_error, family)


def _difference(profile: DeviceProfile, family: str, series: str, without: str) -> Line:
    """Fit a line to the difference of two series. Where it is negative, the line is 0."""
    base_ns = {point.x: point.mean_ns for point in profile.points(family, without)}
    points = [point for point in profile.points(family, series) if point.x in base_ns]
    if not points:
        raise ProfileError(f"the calibration has no series {series!r} of {family}")
    return fit_line(
        [point.x for point in points],
        [point.mean_ns - base_ns[point.x] for point in points],
        [point.mean_ns for point in points],
    )


def _write_line(profile: DeviceProfile, base: Line) -> Line:
    """Fit a line to writes: the difference between a kernel that only writes and an empty one."""
    points = profile.points("classes", "none")
    return fit_line(
        [point.x for point in points],
        [point.mean_ns - base(point.x) for point in points],
        [point.mean_ns for point in points],
    )


def _group(profile: DeviceProfile) -> GroupCurve:
    points = profile.points("group-size")
    return fit_group_curve([point.x for point in points], [point.mean_ns for point in points])


def _largest_group(profile: DeviceProfile) -> int:
    """Return the largest size that is a power of two: other sizes may leave units idle."""
    sizes = (int(point.x) for point in profile.points("group-size"))
    powers = (size for size in sizes if size.bit_count() == 1)
    return max(powers, default=profile.device.max_group_items)


def _group_parameters(group: GroupCurve) -> Iterator[tuple[str, Parameter]]:
    match group:
        case Decay():
            for name in _DECAY:
                unit = "work-items" if name.startswith("t") else "ns"
                yield f"group {name}", Parameter(getattr(group, name), unit, 0.0, "group-size")
        case Multiplicity():
            yield "group full", Parameter(group.full_ns, "ns", 0.0, "group-size")
            yield "group units", Parameter(float(group.units), "work-items", 0.0, "group-size")


def _stored_group(values: Mapping[str, float]) -> GroupCurve:
    if "group units" in values:
        return Multiplicity(values["group full"], int(values["group units"]))
    return Decay(*(values[f"group {name}"] for name in _DECAY))


def _knee(profile: DeviceProfile) -> Knee:
    points = profile.points(*_SATURATING)
    if not points:
        raise ProfileError("the calibration has no several operations of float")
    return fit_knee([point.x for point in points], [point.mean_ns for point in points])


def _saturation(profile: DeviceProfile) -> Iterator[tuple[str, Parameter]]:
    saturation = _knee(profile).saturation
    yield "saturation", Parameter(saturation, "operations", 0.0, "several-operations")


def _accesses(profile: DeviceProfile) -> Iterator[tuple[str, Parameter]]:
    """Yield the constant of the factor 1/n + constant for n accesses."""
    points = profile.points("several-accesses")
    line = fit_line([point.x for point in points], [point.mean_ns for point in points])
    first = line(1.0)
    constant = line.slope / first if first else 0.0
    yield "accesses", Parameter(constant, "", 0.0, "several-accesses")


class FamilyCurves:
    """Fitted times of a calibration's probes, for the families that the model fits."""

    def __init__(self, profile: DeviceProfile) -> None:
        self._profile = profile
        self._model = THESIS.for_device(profile)
        self._knee = _knee(profile) if profile.points(*_SATURATING) else None

    def value_ns(self, family: str, series: str, x: float) -> float | None:
        """Return the fitted time of a series at x; None if the model does not fit the series."""
        match family:
            case "base":
                return self._model.lines[CostType.BASE](x)
            case "group-size":
                return self._model.group(x)
            case "several-operations" if series == "float *" and self._knee is not None:
                return self._knee(x)
        for cost_type, (of_family, of_series, without) in _ELEMENTS.items():
            if (family, series) == (of_family, of_series):
                points = self._profile.points(family, without)
                base_ns = {point.x: point.mean_ns for point in points}
                return self._model.lines[cost_type](x) + base_ns[x] if x in base_ns else None
        return None
