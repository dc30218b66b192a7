"""Order of measurement: the probes whose costs matter to most kernels come first."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.suite.calibration.probes import Probe, ProbeLimits, ProbesOf

_OPERATIONS: Final = frozenset(
    {
        "float add", "float multiply", "float multiply-add", "float divide", "float sqrt",
        "float compare and select", "int add", "int logic", "int multiply", "int divide",
        "long multiply-add of ints",
    }
)  # fmt: skip
_CHAINS: Final = frozenset({"float add", "float multiply", "float multiply-add", "int add"})
_FIRST_SERIES: Final[Mapping[str, Callable[[str], bool]]] = {
    "base": lambda _: True,
    "groups": lambda _: True,
    "throughput": _OPERATIONS.__contains__,
    "chases": lambda _: True,
    "working-sets": lambda _: True,
    "transfers": lambda series: series.startswith("pageable"),
    "strides": lambda series: series.endswith(" float"),
    "first": lambda _: True,
    "loops": lambda _: True,
    "latency": _CHAINS.__contains__,
    "elementary": lambda series: series == "float copy",
    "waves": lambda series: series.startswith("copied"),
    "order": lambda _: True,
    "scatters": lambda _: True,
    "near-sets": lambda _: True,
    "local-banks": lambda _: True,
    "barriers": lambda _: True,
    "atomics": lambda _: True,
    "idle": lambda _: True,
    "grid-strides": lambda _: True,
    "few-items": lambda _: True,
    "few-units": lambda _: True,
    "widths": lambda _: True,
    "several-operations": lambda series: series == "float *",
    "mixtures": lambda series: series.endswith("int logic"),
    "group-size": lambda _: True,
    "global-banks": lambda _: True,
    "reads": lambda _: True,
    "several-accesses": lambda _: True,
    "private": lambda _: True,
    "images": lambda _: True,
    "items": lambda _: True,
    "guards": lambda _: True,
    "branches": lambda _: True,
    "image-changes": lambda _: True,
    "occupancy": lambda _: True,
}
"""The families in the order of their value, each with the series that are measured first.

The other series follow after those of all families, in the same order of families.
"""


@dataclass(frozen=True, slots=True)
class PlannedProbe:
    """A probe and the name of its family."""

    family: str
    probe: Probe

    @property
    def key(self) -> tuple[str, str, float]:
        """Family, series and x, as rounded as in files."""
        return self.family, self.probe.series, float(f"{float(self.probe.x):.9g}")


def order_probes(families: Mapping[str, ProbesOf], limits: ProbeLimits) -> Iterator[PlannedProbe]:
    """Yield all probes of the families in the order of measurement."""
    names = [name for name in _FIRST_SERIES if name in families]
    names += [name for name in families if name not in _FIRST_SERIES]
    later: list[PlannedProbe] = []
    for name in names:
        is_first = _FIRST_SERIES.get(name, _is_later)
        for probe in families[name](limits):
            planned = PlannedProbe(name, probe)
            if is_first(probe.series):
                yield planned
            else:
                later.append(planned)
    yield from later


def _is_later(_: str) -> bool:
    return False
