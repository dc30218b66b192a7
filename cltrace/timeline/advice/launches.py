"""Rules about kernel launches."""

from math import prod
from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    Advice,
    Evidence,
    LaunchConfiguration,
    Metric,
    metric_count,
    metric_ns,
)
from cltrace.timeline.blocked_enqueues import MIN_BLOCKED_NS
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import slow_moves
from cltrace.trace.commands import FIRST_LAUNCH

_MIN_LAUNCHES: Final = 64
_IDLE_SHARE: Final = 0.5
_MIN_SPAN_SHARE: Final = 0.2
_MAX_LOOP_NS: Final = 200_000
"""Time of the Python code between two launches of a loop. With more, the program does other work."""
_MAX_WASTE: Final = 0.1
_MIN_GROUP_SHARE: Final = 0.5


def launch_bound_loops(evidence: Evidence) -> list[Advice]:
    """Find loops of short kernels in which the device mostly waits for the next launch."""
    activity = evidence.activity
    commands = activity.commands
    moves = evidence.moves
    launches = np.flatnonzero(
        commands.is_kind("kernel") & commands.is_placed & (commands.flags & FIRST_LAUNCH == 0)
    )
    # Where the call moved memory of another device, that kept the device waiting, not the launch.
    launches = np.setdiff1d(launches, moves.command[slow_moves(moves, MIN_BLOCKED_NS)])
    waited_ns = _launch_waits(activity)
    findings = []
    for site, members in groups(commands.site[launches], launches):
        worked_ns = int((commands.end_ns - commands.start_ns)[members].sum())
        cost_ns = int(waited_ns[members].sum())
        span_ns = int(commands.end_ns[members].max() - commands.start_ns[members].min())
        is_much = cost_ns >= max(_IDLE_SHARE * (worked_ns + cost_ns), _MIN_SPAN_SHARE * span_ns)
        if len(members) < _MIN_LAUNCHES or not is_much:
            continue
        findings.append(
            Advice(
                rule="launch-bound",
                title="The device waits for launches",
                site=activity.names.sites.get(site, ""),
                times=len(members),
                cost_ns=cost_ns,
                metrics=(
                    metric_ns("a kernel takes", float(np.median(commands.duration_ns[members]))),
                    metric_ns("the device waits for it", float(np.median(waited_ns[members]))),
                ),
                remedy="do more per launch: fuse kernels, or loop inside a kernel; enqueue ahead "
                "without waiting",
            )
        )
    return sorted(findings, key=lambda advice: -(advice.cost_ns or 0))


def _launch_waits(activity: Activity) -> Int64s:
    """Return the time that the device was idle before each command because of its launch, in ns.

    A gap in which the program did other work for longer than a launch takes is not counted as such.
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
        waited[following] = np.where(program <= _MAX_LOOP_NS, gap, gap - program)
    return waited


def wasted_lanes(evidence: Evidence) -> list[Advice]:
    """Find work-groups that leave hardware lanes unused, and ranges too small to fill the device."""
    commands = evidence.activity.commands
    kernels = np.flatnonzero(commands.is_kind("kernel"))
    findings = []
    for launch, members in groups(commands.launch[kernels], kernels):
        configuration = evidence.configurations.get(launch)
        if configuration is None:
            continue
        metrics = _measure_waste(configuration, evidence, int(commands.device[members[0]]))
        if metrics:
            took = int(np.maximum(commands.duration_ns[members], 0).sum())
            site = evidence.activity.names.sites.get(int(commands.site[members[0]]), "")
            findings.append(
                Advice(
                    rule="wasted-lanes",
                    title=f"{configuration.kernel}: work-groups that do not fit the device",
                    site=site,
                    times=len(members),
                    cost_ns=took,
                    metrics=metrics,
                    remedy="choose a work-group size that is a multiple of the preferred one, and a "
                    "range that gives every compute unit several groups",
                )
            )
    return sorted(findings, key=lambda advice: -(advice.cost_ns or 0))


def _measure_waste(
    configuration: LaunchConfiguration, evidence: Evidence, device: int
) -> tuple[Metric, ...]:
    """Return the numbers that show why a configuration wastes lanes; empty if it does not."""
    multiple, local = configuration.multiple, configuration.local_size
    summary = evidence.devices.get(device)
    if local is None:
        return ()
    items = prod(local)
    if multiple and multiple > 1 and (-items % multiple) / (items + -items % multiple) > _MAX_WASTE:
        return (
            metric_count("work-items per work-group", items),
            metric_count("work-items that the device runs together", multiple),
        )
    groups = prod(
        -(-whole // part) for whole, part in zip(configuration.global_size, local, strict=False)
    )
    units = summary.compute_units if summary else None
    if units and 1 < groups < _MIN_GROUP_SHARE * units and items > 1:
        return metric_count("work-groups", groups), metric_count("compute units", units)
    return ()
