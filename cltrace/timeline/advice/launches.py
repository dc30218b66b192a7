"""Rules about launching kernels."""

from math import prod
from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    Advice,
    Configuration,
    Material,
    Seen,
    seen_count,
    seen_ns,
)
from cltrace.timeline.intervals import covered_ns, union
from cltrace.trace.commands import FIRST_LAUNCH

_MANY: Final = 64
_IDLE_SHARE: Final = 0.5
_WASTE: Final = 0.1
_SMALL_GROUP_SHARE: Final = 0.5


def launch_bound_loops(material: Material) -> list[Advice]:
    """Loops of short kernels in which the device mostly waits for the next launch."""
    activity = material.activity
    commands = activity.commands
    is_usual = commands.are("kernel") & commands.is_placed & (commands.flags & FIRST_LAUNCH == 0)
    found = []
    for site in np.unique(commands.site[is_usual]).tolist():
        members = np.flatnonzero(is_usual & (commands.site == site))
        if len(members) < _MANY:
            continue
        device = commands.device[members[0]]
        members = members[commands.device[members] == device]
        begin, end = int(commands.start_ns[members].min()), int(commands.end_ns[members].max())
        here = commands.is_placed & (commands.device == device)
        busy = union(commands.start_ns[here], commands.end_ns[here])
        busy_ns = int(covered_ns(busy, np.array([begin]), np.array([end]))[0])
        typical_ns = float(np.median(commands.duration_ns[members]))
        apart_ns = float(np.median(np.diff(np.sort(commands.start_ns[members]))))
        if end - begin - busy_ns < _IDLE_SHARE * (end - begin) or apart_ns < 2 * typical_ns:
            continue
        found.append(
            Advice(
                "launch-bound",
                "The device waits for launches",
                activity.names.sites.get(site, ""),
                len(members),
                end - begin - busy_ns,
                (
                    seen_ns("a kernel takes", typical_ns),
                    seen_ns("launches are apart", apart_ns),
                    seen_ns("device idle", end - begin - busy_ns),
                    seen_ns("of", end - begin),
                ),
                "do more in a launch: fuse kernels, or loop in one; enqueue ahead without waiting",
            )
        )
    return sorted(found, key=lambda one: -(one.cost_ns or 0))


def wasted_lanes(material: Material) -> list[Advice]:
    """Work-groups that leave lanes of the device's hardware unused, and ranges too small to fill it."""
    commands = material.activity.commands
    is_kernel = commands.are("kernel")
    found = []
    for launch, configuration in sorted(material.configurations.items()):
        members = np.flatnonzero(is_kernel & (commands.launch == launch))
        if not len(members):
            continue
        evidence = _waste(configuration, material, int(commands.device[members[0]]))
        if evidence:
            took = int(np.maximum(commands.duration_ns[members], 0).sum())
            site = material.activity.names.sites.get(int(commands.site[members[0]]), "")
            found.append(
                Advice(
                    "wasted-lanes",
                    f"{configuration.kernel}: work-groups that do not fit the device",
                    site,
                    len(members),
                    took,
                    evidence,
                    "choose a work-group size that is a multiple of the preferred one, and a range "
                    "that gives every compute unit several groups",
                )
            )
    return sorted(found, key=lambda one: -(one.cost_ns or 0))


def _waste(configuration: Configuration, material: Material, device: int) -> tuple[Seen, ...]:
    """Why a configuration wastes lanes; nothing if it does not."""
    multiple, local = configuration.multiple, configuration.local_size
    known = material.devices.get(device)
    if local is None:
        return ()
    items = prod(local)
    if multiple and multiple > 1 and (-items % multiple) / (items + -items % multiple) > _WASTE:
        return (
            seen_count("work-items in a group", items),
            seen_count("that the device runs together", multiple),
        )
    groups = prod(
        -(-whole // part) for whole, part in zip(configuration.global_size, local, strict=False)
    )
    units = known.compute_units if known else None
    if units and 1 < groups < _SMALL_GROUP_SHARE * units and items > 1:
        return seen_count("work-groups", groups), seen_count("compute units", units)
    return ()
