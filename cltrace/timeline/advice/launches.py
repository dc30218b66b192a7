"""Rules about launching kernels."""

from math import prod
from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    Advice,
    Configuration,
    Material,
    Seen,
    seen_count,
    seen_ns,
)
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.commands import FIRST_LAUNCH

_MANY: Final = 64
_IDLE_SHARE: Final = 0.5
_LEAST_SHARE: Final = 0.2
_LONGEST_LOOP_NS: Final = 200_000
"""What Python may do between two launches of a loop; more is work of its own."""
_WASTE: Final = 0.1
_SMALL_GROUP_SHARE: Final = 0.5


def launch_bound_loops(material: Material) -> list[Advice]:
    """Loops of short kernels in which the device mostly waits for the next launch."""
    activity = material.activity
    commands = activity.commands
    usual = np.flatnonzero(
        commands.are("kernel") & commands.is_placed & (commands.flags & FIRST_LAUNCH == 0)
    )
    waited_ns = _launch_waits(activity)
    found = []
    for site, members in groups(commands.site[usual], usual):
        worked_ns = int((commands.end_ns - commands.start_ns)[members].sum())
        cost_ns = int(waited_ns[members].sum())
        span_ns = int(commands.end_ns[members].max() - commands.start_ns[members].min())
        is_much = cost_ns >= max(_IDLE_SHARE * (worked_ns + cost_ns), _LEAST_SHARE * span_ns)
        if len(members) < _MANY or not is_much:
            continue
        found.append(
            Advice(
                "launch-bound",
                "The device waits for launches",
                activity.names.sites.get(site, ""),
                len(members),
                cost_ns,
                (
                    seen_ns("a kernel takes", float(np.median(commands.duration_ns[members]))),
                    seen_ns("the device waits for it", float(np.median(waited_ns[members]))),
                ),
                "do more in a launch: fuse kernels, or loop in one; enqueue ahead without waiting",
            )
        )
    return sorted(found, key=lambda one: -(one.cost_ns or 0))


def _launch_waits(activity: Activity) -> Int64s:
    """How long the device was idle before each command because of its launch.

    A program that does something else for longer than a launch takes is not waiting for launches.
    """
    commands = activity.commands
    waited = np.zeros(len(commands), np.int64)
    placed = np.flatnonzero(commands.is_placed)
    for _, members in groups(commands.device[placed], placed):
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        busy_until = np.maximum.accumulate(commands.end_ns[members])[:-1]
        following = members[1:]
        gap = np.maximum(commands.start_ns[following] - busy_until, 0)
        program = np.clip(commands.enter_ns[following] - busy_until, 0, gap)
        waited[following] = np.where(program <= _LONGEST_LOOP_NS, gap, gap - program)
    return waited


def wasted_lanes(material: Material) -> list[Advice]:
    """Work-groups that leave lanes of the device's hardware unused, and ranges too small to fill it."""
    commands = material.activity.commands
    kernels = np.flatnonzero(commands.are("kernel"))
    found = []
    for launch, members in groups(commands.launch[kernels], kernels):
        configuration = material.configurations.get(launch)
        if configuration is None:
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
