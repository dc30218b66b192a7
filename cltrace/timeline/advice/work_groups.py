"""Rule about work-groups that leave lanes or compute units of a device unused."""

from math import prod
from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    Evidence,
    LaunchConfiguration,
    Metric,
    Place,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
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
                and (waste := _measure_waste(configuration, evidence, _device(evidence, launches)))
            ]
            if wasteful:
                proposals.append(_proposal(evidence, place, wasteful))
    return proposals


def _device(evidence: Evidence, launches: Int64s) -> int:
    return int(evidence.activity.commands.device[launches[0]])


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


def _measure_waste(
    configuration: LaunchConfiguration, evidence: Evidence, device: int
) -> _Waste | None:
    """Return the used share and the numbers that show waste; `None` if there is none."""
    multiple, local = configuration.multiple, configuration.local_size
    summary = evidence.devices.get(device)
    if local is None:
        return None
    items = prod(local)
    # A processor's compiler vectorises over work-items as it likes: 5 of them take no longer than 8.
    has_lanes = summary is None or summary.kind != "CPU"
    if (
        has_lanes
        and multiple
        and multiple > 1
        and -items % multiple / (items + -items % multiple) > _MAX_WASTE
    ):
        return items / (items + -items % multiple), (
            metric_count("work-items per work-group", items),
            metric_count("work-items that the device runs together", multiple),
        )
    count = prod(
        -(-whole // part) for whole, part in zip(configuration.global_size, local, strict=False)
    )
    units = summary.compute_units if summary else None
    if units and 1 < count < _MIN_GROUP_SHARE * units and items > 1:
        metrics = metric_count("work-groups", count), metric_count("compute units", units)
        return count / units, metrics
    return None
