"""Rule about work-groups that leave lanes or compute units of a device unused."""

from math import prod
from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    DeviceSummary,
    Evidence,
    LaunchConfiguration,
    Metric,
    Place,
    Proposal,
    Remedy,
    metric_ns,
    typical_count,
)
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay import Change, combine

_MAX_WASTE: Final = 0.1
_MIN_GROUP_SHARE: Final = 0.5


def wasted_lanes(evidence: Evidence) -> list[Proposal]:
    """Find work-groups that leave hardware lanes unused, and ranges too small to fill the device.

    Launches of a kernel at a place are one proposal, with the configuration that took the most time.
    """
    commands = evidence.activity.commands
    kernels = np.flatnonzero(commands.is_kind("kernel") & commands.is_placed)
    proposals = []
    for place, members in evidence.by_place(commands.site[kernels], kernels):
        for _, own in groups(commands.kernel[members], members):
            wasteful = [
                (launches, configuration, waste)
                for launch, launches in groups(commands.launch[own], own)
                if (configuration := evidence.configurations.get(launch)) is not None
                and (waste := _waste_of(launch, launches, evidence))
            ]
            if wasteful:
                proposals.append(_proposal(evidence, place, wasteful))
    return proposals


def _waste_of(launch: int, launches: Int64s, evidence: Evidence) -> "_Waste | None":
    """Return the waste of a launch configuration; `None` if there is none.

    A model that knows whether other work-groups are faster decides where there is one.
    """
    if launch in evidence.modelled:
        return None
    configuration = evidence.configurations[launch]
    device = evidence.devices.get(int(evidence.activity.commands.device[launches[0]]))
    return _wasted_lanes(configuration, device) or _unused_units(configuration, device)


_Waste = tuple[float, tuple[Metric, ...]]
"""Share of the lanes or units that are used, and the numbers that show it."""


def _proposal(
    evidence: Evidence, place: Place, wasteful: list[tuple[Int64s, LaunchConfiguration, _Waste]]
) -> Proposal:
    commands = evidence.activity.commands
    took = [int(np.maximum(commands.duration_ns[each[0]], 0).sum()) for each in wasteful]
    _, configuration, (_, metrics) = wasteful[int(np.argmax(took))]
    changes = [
        Change(scaled=launches, scales=np.full(len(launches), used))
        for launches, _, (used, _) in wasteful
    ]
    return Proposal(
        rule="wasted-lanes",
        title=f"{configuration.kernel}: work-groups that do not fit the device",
        place=place,
        times=sum(len(launches) for launches, _, _ in wasteful),
        metrics=(*metrics, metric_ns("these launches took", sum(took))),
        remedy=Remedy(
            "Choose a work-group size that is a multiple of the preferred one, and a range that gives "
            "every compute unit several groups.",
            f"kernel(queue, size, {configuration.local_size}, x)",
            "kernel(queue, size, (64,), x)",
        ),
        change=combine(changes),
        least=Change(),
    )


def _wasted_lanes(
    configuration: LaunchConfiguration, device: DeviceSummary | None
) -> _Waste | None:
    """Return the share of lanes that work, where a work-group is no multiple of a warp."""
    multiple, local = configuration.multiple, configuration.local_size
    # A processor's compiler vectorises over work-items as it likes: 5 of them take no longer than 8.
    has_lanes = device is None or device.kind != "CPU"
    if local is None or not has_lanes or not multiple or multiple <= 1:
        return None
    items = prod(local)
    idle = -items % multiple
    if idle / (items + idle) <= _MAX_WASTE:
        return None
    return items / (items + idle), (
        typical_count("work-items per work-group", items),
        typical_count("work-items that the device runs together", multiple),
    )


def _unused_units(
    configuration: LaunchConfiguration, device: DeviceSummary | None
) -> _Waste | None:
    """Return the share of compute units that work, where there are few work-groups."""
    local = configuration.local_size
    units = device.compute_units if device else None
    if local is None or not units:
        return None
    count = prod(
        -(-whole // part) for whole, part in zip(configuration.global_size, local, strict=False)
    )
    if not 1 < count < _MIN_GROUP_SHARE * units or prod(local) == 1:
        return None
    metrics = typical_count("work-groups", count), typical_count("compute units", units)
    return count / units, metrics
