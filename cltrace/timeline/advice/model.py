"""What a piece of advice is, and what rules have to go by."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.timeline.activity import Activity
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.dependencies import Dependencies
from cltrace.timeline.grouping import groups

FEW: Final = 8
"""What happens less often than this is not a habit."""

HOST_MEMORY: Final = (1 << 3) | (1 << 4)
"""`CL_MEM_USE_HOST_PTR` and `CL_MEM_ALLOC_HOST_PTR`."""


class Quantity(StrEnum):
    """What a number in evidence counts."""

    NS = "ns"
    BYTES = "bytes"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Seen:
    """A number that was seen, and what it is of."""

    what: str
    value: float
    quantity: Quantity


def seen_ns(what: str, ns: float) -> Seen:
    """A time that was seen."""
    return Seen(what, ns, Quantity.NS)


def seen_bytes(what: str, size_bytes: float) -> Seen:
    """A size that was seen."""
    return Seen(what, size_bytes, Quantity.BYTES)


def seen_count(what: str, count: float) -> Seen:
    """How often something was seen."""
    return Seen(what, count, Quantity.COUNT)


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that the program could do better, at one place.

    `rule` is a stable word for scripts. `times` is how often it happened and `cost_ns` what it took: time
    that would go or shrink, at most; `None` where it costs something else than time. `evidence` is
    what was seen, `remedy` what to do. `site` is `file:line`, empty if the place is not known.
    """

    rule: str
    title: str
    site: str
    times: int
    cost_ns: int | None
    evidence: tuple[Seen, ...]
    remedy: str


@dataclass(frozen=True, slots=True)
class Build:
    """One build of a program: what was built, how, and how long it took."""

    source: str
    options: str
    device: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """A launch configuration: the sizes, and what the device would like.

    `local_size` is `None` when the driver chose, `multiple` when the driver does not say.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    multiple: int | None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory object: what kind it is, its `CL_MEM_*` flags, and its end."""

    kind: str
    flags: int
    size_bytes: int
    site: str
    fate: str


@dataclass(frozen=True, slots=True)
class Device:
    """What rules ask about a device."""

    name: str
    kind: str
    compute_units: int | None


@dataclass(frozen=True, slots=True)
class Material:
    """All that rules look at.

    `used_buffers` are those that a launch configuration has among its arguments, if all of these are
    known. `parents` leads from sub-buffers to the buffers that they are parts of.
    """

    activity: Activity
    needs: Dependencies
    builds: tuple[Build, ...]
    configurations: Mapping[int, Configuration]
    memory: Mapping[int, Memory]
    devices: Mapping[int, Device]
    used_buffers: Mapping[int, frozenset[int]]
    parents: Mapping[int, int]


def by_site(activity: Activity, sites: Int64s, cost_ns: Int64s) -> list[tuple[str, int, int]]:
    """Places with how often each occurs and what it costs together, the dearest first."""
    times: Counter[str] = Counter()
    cost: Counter[str] = Counter()
    for site, members in groups(sites):
        name = activity.names.sites.get(site, "")
        times[name] += len(members)
        cost[name] += int(cost_ns[members].sum())
    return sorted(
        ((name, times[name], cost[name]) for name in times), key=lambda one: (-one[2], one[0])
    )
