"""The calibration suite: families of probes, each of which isolates one cost.

After Pöppl, Run time prediction for OpenCL (2014), chapter 5, extended by costs that its models do not
contain: dispatch, occupancy, latencies, levels of caches, banks, atomics, barriers.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cltrace.suite.calibration import (
    arrivals,
    branches,
    images,
    launches,
    loops,
    memory,
    operations,
    private,
    sharing,
    together,
    transfers,
)
from cltrace.suite.calibration.plan import PlannedProbe, order_probes
from cltrace.suite.calibration.probes import Effort, Family, Probe, ProbeLimits

__all__ = [
    "FAMILIES", "Effort", "Family", "PlannedProbe", "Probe", "ProbeLimits", "planned_probes",
]  # fmt: skip

_THESIS: Final = "Pöppl 2014"
_BUESSER: Final = "Büsser 2018"
_OURS: Final = ""

_ALL: Final = (
    Family("base", "Empty kernels", "work-items", f"{_THESIS}, 5.4", launches.base),
    Family("groups", "Dispatch", "work-groups", _OURS, launches.group_counts),
    Family("group-size", "Work-group size", "work-items", f"{_THESIS}, 5.6, 7.2", launches.group_sizes),
    Family("waves", "Waves of work-groups", "work-items a work-group", _OURS, launches.waves),
    Family("reads", "Reads beside each other", "reads", _OURS, launches.reads),
    Family("elementary", "Elements", "work-items", f"{_THESIS}, 5.8", operations.elementary),
    Family("several-operations", "Several operations", "operations", f"{_THESIS}, 5.9",
           operations.several),
    Family("throughput", "Operations side by side", "operations", _OURS, operations.throughput),
    Family("mixtures", "Operations of two pipes", "operations", _OURS, operations.mixtures),
    Family("latency", "Operations one by one", "operations", _OURS, operations.latency),
    Family("classes", "Classes of accesses", "work-items", f"{_THESIS}, 5.10-5.12", memory.classes),
    Family("several-accesses", "Several accesses", "accesses", f"{_THESIS}, 5.13", memory.several),
    Family("strides", "Strides", "elements", _OURS, memory.strides),
    Family("global-banks", "Banks of the cache", "elements", _OURS, memory.banks),
    Family("working-sets", "Working sets", "B", _OURS, memory.working_sets),
    Family("near-sets", "Near sets", "B", _OURS, memory.near_sets),
    Family("scatters", "Random places", "B", _OURS, memory.scatters),
    Family("chases", "Latency", "B", _OURS, memory.chases),
    Family("loops", "Loops with a load", "trips", _OURS, memory.loops),
    Family("order", "Reads behind writes", "trips", _OURS, loops.order),
    Family("grid-strides", "Strides of the global size", "work-items a compute unit", _OURS,
           loops.grid_strides),
    Family("few-items", "Few work-items", "trips", _OURS, loops.few_items),
    Family("few-units", "Random lines for few compute units", "work-groups", _OURS, memory.few_units),
    Family("widths", "Widths of accesses", "work-items a work-group", _OURS, loops.widths),
    Family("local-banks", "Banks of local memory", "elements", _OURS, sharing.local_banks),
    Family("atomics", "Atomics", "counters", _OURS, sharing.atomics),
    Family("barriers", "Barriers", "barriers", _OURS, launches.barriers),
    Family("private", "Private arrays", "B a work-item", _OURS, private.private),
    Family("images", "Images", "reads", _OURS, images.images),
    Family("items", "Operations of single work-items", "trips", _OURS, branches.items),
    Family("guards", "Stores under a condition", "conditions", _OURS, branches.guards),
    Family("branches", "Branches", "share of mispredictions", _OURS, branches.branches),
    Family("idle", "After idle time", "ns", _OURS, arrivals.after_idle_time),
    Family("image-changes", "Changed images", "images", _OURS, arrivals.changed_images),
    Family("first", "First launches", "first launch", _OURS, arrivals.first_launches),
    Family("occupancy", "Occupancy", "B of local memory a work-group", _OURS, launches.occupancy),
    Family("together", "Launches beside others", "launches", f"{_BUESSER}, 5.1", together.together),
    Family("transfers", "Transfers", "B", f"{_THESIS}, 5.1", transfers.transfers),
)  # fmt: skip

FAMILIES: Final[Mapping[str, Family]] = {family.name: family for family in _ALL}
"""The families by name, in the order of reports."""


def planned_probes(limits: ProbeLimits) -> Iterator[PlannedProbe]:
    """Yield all probes for a device, in the order of measurement: the most valuable ones first."""
    return order_probes({name: family.probes for name, family in FAMILIES.items()}, limits)
