"""The model of Pöppl, Run time prediction for OpenCL (2014), its equations fitted to a device.

A launch takes the sum of what its cost types take, times a factor for the size of its work-groups
(equations 6.5 and 6.6). Each type has a line over the number of work-items (5.4, 5.8, 5.10 to 5.12) and
a factor for how often it stands in the kernel: operations are hidden behind memory up to a number of
them (5.9), accesses cost less after the first (5.13).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.errors import ProfileError
from cltrace.kernels import KernelCounts
from cltrace.kernels.demand.cost_types import CostType, TypeCount, cost_types
from cltrace.predict.curves import Decay, Knee, Line, decay_through, knee_through, line_through
from cltrace.predict.models.prediction import Cache, Fit, Part, Prediction
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
"""By cost type: the family, the series that has it, and the one that lacks nothing else."""
_ARITHMETIC: Final = frozenset(
    {
        CostType.INT_PLUS, CostType.INT_MINUS, CostType.INT_TIMES, CostType.INT_DIVIDE,
        CostType.FLOAT_PLUS, CostType.FLOAT_MINUS, CostType.FLOAT_TIMES, CostType.FLOAT_DIVIDE,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypeTime:
    """What a cost type takes of a launch: how often a work-item does it, and ns."""

    type: CostType
    per_item: float
    time_ns: float


@dataclass(frozen=True, slots=True)
class Thesis:
    """The fitted equations. `lines` are by cost type, over work-items, in ns."""

    lines: Mapping[CostType, Line]
    group: Decay
    largest_group: int
    saturation: float
    accesses: float

    def group_factor(self, group_items: int) -> float:
        """The factor for work-groups of a size; 1 for the largest."""
        return self.group(group_items) / self.group(self.largest_group)

    def parts(self, counts: KernelCounts) -> tuple[TypeTime, ...]:
        """What each cost type of a launch takes. Their sum is the launch's time."""
        factor = self.group_factor(counts.work_items // counts.groups)
        return tuple(
            TypeTime(row.type, row.per_item, factor * self._time_ns(row, counts.work_items))
            for row in cost_types(counts)
        )

    def predict(self, counts: KernelCounts, cache: Cache = Cache.WARM) -> Prediction:  # noqa: ARG002
        """The sum of what all cost types take."""
        parts = tuple(Part(str(part.type), part.time_ns) for part in self.parts(counts))
        limiter = max(parts, key=lambda part: part.time_ns).name
        return Prediction(sum(part.time_ns for part in parts), limiter, parts)

    def _time_ns(self, row: TypeCount, items: int) -> float:
        line = self.lines.get(row.type)
        if line is None or not row.per_item:
            return 0.0
        return row.per_item * line(items) * self._multiplier(row)

    def _multiplier(self, row: TypeCount) -> float:
        number = max(row.per_item, 1.0)
        if row.type in _ARITHMETIC:
            hidden = number <= self.saturation
            return 1.0 / number if hidden else (number - self.saturation) / number
        if row.type is CostType.BASE:
            return 1.0
        return min(1.0 / number + self.accesses, 1.0)


class ThesisModel:
    """The thesis's model as a kind of model."""

    name = "thesis"

    def fit(self, profile: DeviceProfile) -> Fit:
        """Lines by cost type, and the factors."""
        found = dict(_lines(profile))
        group = _group(profile)
        for name in ("b1", "t1", "b2", "t2", "y0"):
            unit = "work-items" if name.startswith("t") else "ns"
            found[f"group {name}"] = Parameter(getattr(group, name), unit, 0.0, "group-size")
        knee = _knee(profile)
        found["saturation"] = Parameter(knee.saturation, "operations", 0.0, "several-operations")
        found["accesses"] = Parameter(_accesses(profile), "", 0.0, "several-accesses")
        curves = Curves(replace(profile, parameters={self.name: found}))
        return Fit(
            found,
            {
                family: tuple(curves.value_ns(family, one.series, one.x) for one in points)
                for family, points in profile.families.items()
            },
        )

    def fitted(self, profile: DeviceProfile) -> Thesis:
        """The equations of a device."""
        known = profile.parameters.get(self.name)
        if known is None:
            raise ProfileError("the profile is not fitted: cltrace calibrate --from FILE does that")
        try:
            lines = {
                kind: Line(known[f"{kind} each"].value, known[f"{kind} constant"].value, 0.0, 0.0)
                for kind in CostType
                if f"{kind} each" in known
            }
            group = Decay(
                *(known[f"group {name}"].value for name in ("b1", "t1", "b2", "t2", "y0"))
            )
            sizes = [int(point.x) for point in profile.points("group-size")]
            return Thesis(
                lines, group, max(sizes), known["saturation"].value, known["accesses"].value
            )
        except (KeyError, ValueError) as error:
            raise ProfileError(
                f"the profile's costs of {self.name} are damaged: {error}"
            ) from error


THESIS: Final = ThesisModel()


def _lines(profile: DeviceProfile) -> Iterator[tuple[str, Parameter]]:
    for kind, (family, series, without) in _ELEMENTS.items():
        yield from _named(kind, family, _difference(profile, family, series, without))
    base = profile.points("base")
    line = line_through([point.x for point in base], [point.mean_ns for point in base])
    yield from _named(CostType.BASE, "base", line)
    yield from _named(CostType.WRITE, "classes", _written(profile, line))


def _named(kind: CostType, family: str, line: Line) -> Iterator[tuple[str, Parameter]]:
    yield f"{kind} each", Parameter(line.slope, "ns a work-item", line.slope_error, family)
    yield f"{kind} constant", Parameter(line.constant, "ns", line.constant_error, family)


def _difference(profile: DeviceProfile, family: str, series: str, without: str) -> Line:
    """What a series takes more than another. Where it takes no more it costs nothing."""
    less = {point.x: point.mean_ns for point in profile.points(family, without)}
    points = [point for point in profile.points(family, series) if point.x in less]
    if not points:
        raise ProfileError(f"the calibration has no series {series!r} of {family}")
    return line_through(
        [point.x for point in points],
        [point.mean_ns - less[point.x] for point in points],
        [point.mean_ns for point in points],
    )


def _written(profile: DeviceProfile, base: Line) -> Line:
    """A write: what a kernel that only writes takes more than an empty one."""
    points = profile.points("classes", "none")
    return line_through(
        [point.x for point in points],
        [point.mean_ns - base(point.x) for point in points],
        [point.mean_ns for point in points],
    )


def _group(profile: DeviceProfile) -> Decay:
    points = profile.points("group-size")
    return decay_through([point.x for point in points], [point.mean_ns for point in points])


def _knee(profile: DeviceProfile) -> Knee:
    points = profile.points("several-operations", "float *")
    return knee_through([point.x for point in points], [point.mean_ns for point in points])


def _accesses(profile: DeviceProfile) -> float:
    """The constant of the factor 1/n + constant for n accesses."""
    points = profile.points("several-accesses")
    line = line_through([point.x for point in points], [point.mean_ns for point in points])
    first = line(1.0)
    return line.slope / first if first else 0.0


class Curves:
    """What the model says of probes: the fits of their families."""

    def __init__(self, profile: DeviceProfile) -> None:
        self._profile = profile
        self._model = THESIS.fitted(profile)
        self._knee = _knee(profile)

    def value_ns(self, family: str, series: str, x: float) -> float | None:
        """The fit of a series at x; None where there is none."""
        match family:
            case "base":
                return self._model.lines[CostType.BASE](x)
            case "group-size":
                return self._model.group(x)
            case "several-operations" if series == "float *":
                return self._knee(x)
        for kind, (of_family, of_series, without) in _ELEMENTS.items():
            if (family, series) == (of_family, of_series):
                less = {point.x: point.mean_ns for point in self._profile.points(family, without)}
                return self._model.lines[kind](x) + less[x] if x in less else None
        return None
