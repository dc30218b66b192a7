"""Advice, and the evidence that the rules examine."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import Dependencies
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import MemoryMoves

MIN_OCCURRENCES: Final = 8
"""Occurrences from which a pattern counts as a habit of the program."""

HOST_MEMORY: Final = (1 << 3) | (1 << 4)
"""`CL_MEM_USE_HOST_PTR` and `CL_MEM_ALLOC_HOST_PTR`."""

READ_ONLY: Final = 1 << 2
"""`CL_MEM_READ_ONLY`: kernels do not change the memory object."""


class MetricUnit(StrEnum):
    """Unit of a metric."""

    NS = "ns"
    BYTES = "bytes"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Metric:
    """A labelled number that supports a piece of advice."""

    label: str
    value: float
    unit: MetricUnit


def metric_ns(label: str, ns: float) -> Metric:
    """Return a metric that is a time."""
    return Metric(label, ns, MetricUnit.NS)


def metric_bytes(label: str, size_bytes: float) -> Metric:
    """Return a metric that is a size."""
    return Metric(label, size_bytes, MetricUnit.BYTES)


def metric_count(label: str, count: float) -> Metric:
    """Return a metric that is a count."""
    return Metric(label, count, MetricUnit.COUNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """An improvement that the program could make at one site.

    `rule` is a stable word for scripts. `site` is `file:line`, empty if it is not recorded. `times` is
    the number of occurrences, `cost_ns` the time that they took: the most that the improvement can save;
    `None` where the cost is not a time. `metrics` are the numbers behind it, `remedy` is the suggestion.
    """

    rule: str
    title: str
    site: str
    times: int
    cost_ns: int | None
    metrics: tuple[Metric, ...]
    remedy: str


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One build of a program: source, options, device number, and duration."""

    source: str
    options: str
    device: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class LaunchConfiguration:
    """Sizes of a launch, and the preferred work-group size multiple of its kernel.

    `local_size` is `None` when the driver chose it, `multiple` when the driver does not report it.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    multiple: int | None


@dataclass(frozen=True, slots=True)
class MemoryObject:
    """A memory object: its kind, its `CL_MEM_*` flags, the site that created it, and its fate."""

    kind: str
    flags: int
    size_bytes: int
    site: str
    fate: str


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """Facts about a device that rules need."""

    name: str
    kind: str
    compute_units: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All facts that rules examine.

    `used_buffers` are the memory objects among a launch's arguments, for launches of which all arguments
    are recorded. `moves` are uses of memory objects that another device had last. `parents` maps
    sub-buffers to the buffers that they are parts of.
    """

    activity: Activity
    dependencies: Dependencies
    builds: tuple[BuildStep, ...]
    configurations: Mapping[int, LaunchConfiguration]
    memory: Mapping[int, MemoryObject]
    devices: Mapping[int, DeviceSummary]
    used_buffers: Mapping[int, frozenset[int]]
    moves: MemoryMoves
    parents: Mapping[int, int]
    pyopencl_below: frozenset[int]
    """Processes whose calls were recorded below pyopencl: those that it makes by itself are there too."""


def sum_by_site(activity: Activity, sites: Int64s, cost_ns: Int64s) -> list[tuple[str, int, int]]:
    """Return each site with its number of occurrences and its total cost in ns, the highest first."""
    times: Counter[str] = Counter()
    cost: Counter[str] = Counter()
    for site, members in groups(sites):
        name = activity.names.sites.get(site, "")
        times[name] += len(members)
        cost[name] += int(cost_ns[members].sum())
    return sorted(
        ((name, times[name], cost[name]) for name in times), key=lambda row: (-row[2], row[0])
    )
