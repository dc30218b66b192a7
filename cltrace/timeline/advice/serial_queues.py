"""Rule about small kernels that run one after another although nothing orders them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    DeviceSummary,
    Evidence,
    LaunchConfiguration,
    Proposal,
    Remedy,
    metric_count,
    typical_count,
)
from cltrace.timeline.advice.used_memory import UsedMemory
from cltrace.timeline.busy import run_beside_others
from cltrace.timeline.columns import Bools, Float64s, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay import Change, MovedWaits

_MAX_LANES: Final = 8
"""Launches that are taken to run at the same time at most."""
_GROUPS_PER_UNIT: Final = 2
_ITEMS_PER_UNIT: Final = 1024
"""Work-groups and work-items of a compute unit of a GPU, from which launches hardly run beside others."""
_MIN_SHARE: Final = 1e-3
"""Share of a device that a launch fills at least, also one without work-items."""
_USUAL_GROUP: Final = 256
"""Work-items of a work-group where the driver chose its size."""

_Used: TypeAlias = Mapping[int, frozenset[int | None]]
"""Memory objects that commands use and that may change, `None` for unknown ones."""


class _Schedule(NamedTuple):
    """Commands that need not follow the queue, what they follow instead, and where waits need more."""

    freed: list[int]
    followed: list[tuple[int, int]]
    waits: list[tuple[int, int]]
    """Pairs of a command, and one whose awaiting calls wait for it as well."""


def serial_queues(evidence: Evidence) -> list[Proposal]:
    """Find in-order queues of kernels too small for the device, of which some are independent."""
    if evidence.shares_memory_with_host:
        return []  # kernels may use memory that is not among their arguments
    commands = evidence.activity.commands
    share = _shares(evidence)
    small = np.flatnonzero((share <= 0.5) & commands.is_placed & ~run_beside_others(commands))
    memory = UsedMemory(evidence)
    proposals = []
    for queue, members in groups(commands.queue[small], small):
        if queue in evidence.activity.in_order:
            runs = list(_runs(evidence, members))
            used = {each: frozenset(memory.of(each)) for run in runs for each in run}
            independent = [each for run in runs for each in _independent(used, run)]
            if len(independent) >= MIN_OCCURRENCES:
                proposals.append(_proposal(evidence, used, runs, independent, share))
    return proposals


def _shares(evidence: Evidence) -> Float64s:
    """Return the share of its device that each command fills; infinite where it is not known."""
    commands = evidence.activity.commands
    share = np.full(len(commands), math.inf)
    for command in np.flatnonzero(commands.is_kind("kernel")).tolist():
        launched = evidence.configurations.get(int(commands.launch[command]))
        device = evidence.devices.get(int(commands.device[command]))
        if launched is not None and device is not None and device.compute_units:
            share[command] = _share(launched, device, device.compute_units)
    return share


def _share(launched: LaunchConfiguration, device: DeviceSummary, units: int) -> float:
    items = math.prod(launched.global_size)
    if device.kind == "CPU":
        # Drivers of CPUs choose work-groups that fill all cores.
        group = math.prod(launched.local_size) if launched.local_size else 0
        return items / group / units if group else math.inf
    group = math.prod(launched.local_size) if launched.local_size else _USUAL_GROUP
    return max(items / group / _GROUPS_PER_UNIT, items / _ITEMS_PER_UNIT) / units


def _runs(evidence: Evidence, members: Int64s) -> Iterator[list[int]]:
    """Yield runs of small kernels that follow each other in a queue, with no wait of the host between."""
    before = evidence.dependencies.queue_predecessor
    is_awaited = np.zeros(len(before), np.bool_)
    is_awaited[evidence.events.awaited[:, 1]] = True
    follows: Bools = before[members[1:]] == members[:-1]
    follows &= ~is_awaited[members[:-1]]
    for run in np.split(members, np.flatnonzero(~follows) + 1):
        if len(run) > 1:
            yield run.tolist()


def _independent(used: _Used, run: Sequence[int]) -> list[int]:
    """Return the commands of a run that use no memory which may change of the one before."""
    return [
        command
        for before, command in pairwise(run)
        if not used[command] & used[before] and None not in used[command] | used[before]
    ]


def _proposal(
    evidence: Evidence,
    used: _Used,
    runs: Sequence[Sequence[int]],
    independent: Sequence[int],
    share: Float64s,
) -> Proposal:
    commands = evidence.activity.commands
    chosen = np.array(independent, np.int64)
    fills = max(float(np.median(share[chosen])), _MIN_SHARE)
    lanes = _best_lanes(evidence, chosen, max(min(int(1 / fills), _MAX_LANES), 2))
    is_cpu = evidence.devices[int(commands.device[chosen[0]])].kind == "CPU"
    two = _change(evidence, used, runs, 2)
    return Proposal(
        rule="serial-queue",
        title="Small kernels run one after another although nothing orders them",
        place=evidence.main_place(chosen),
        times=len(chosen),
        metrics=(
            metric_count("launches that need nothing of the one before", len(chosen)),
            typical_count("of them would fill the device", round(1 / fills)),
        ),
        remedy=Remedy(
            "Launch them in two queues or more, or make one launch of them; order with wait_for= what "
            "needs results of another queue.",
            "a(queue, size, None, x); b(queue, size, None, y)",
            "a(first, size, None, x); b(second, size, None, y)",
        ),
        change=two,
        # Cores run other threads, too, and drivers may still take turns; models err on neighbours.
        least=Change() if is_cpu or (two.scales > 1.0).any() else None,
        most=_change(evidence, used, runs, lanes) if lanes > 2 else None,
    )


def _best_lanes(evidence: Evidence, launched: Int64s, limit: int) -> int:
    """Return the number of launches at once, up to `limit`, at which the most work is done.

    Where no model says how they slow each other, that is as many as there is room for.
    """
    slower = evidence.neighbours.slower
    known = [slower[each] for each in set(evidence.launched(launched)) if each in slower]
    longest = {
        count: max((factors.get(count, 1.0) for factors in known), default=1.0)
        for count in range(2, limit + 1)
    }
    return max(longest, key=lambda count: count / longest[count])


def _change(evidence: Evidence, used: _Used, runs: Sequence[Sequence[int]], lanes: int) -> Change:
    """Return the change by which at most `lanes` commands of a run are under way at the same time.

    Where a model says so, they then take longer.
    """
    before = evidence.dependencies.queue_predecessor
    after = np.full(len(before), -1)
    is_later = before >= 0
    after[before[is_later]] = np.flatnonzero(is_later)
    schedule = _Schedule([], [], [])
    for run in runs:
        _schedule(used, run, lanes, (int(before[run[0]]), int(after[run[-1]])), schedule)
    members = np.array([command for run in runs for command in run], np.int64)
    slower = evidence.neighbours.slower
    launches = evidence.launched(members)
    return Change(
        scaled=members,
        scales=np.array([slower.get(launch, {}).get(lanes, 1.0) for launch in launches]),
        freed=np.array(schedule.freed, np.int64),
        followed=np.array(schedule.followed, np.int64).reshape(-1, 2),
        moved=_further_waits(evidence, np.array(schedule.waits, np.int64).reshape(-1, 2)),
    )


def _schedule(
    used: _Used,
    run: Sequence[int],
    lanes: int,
    outside: tuple[int, int],
    schedule: _Schedule,
) -> None:
    """Add a run to a schedule. `outside` are the commands before and after it in the queue, or -1."""
    before, after = outside
    last_users: dict[int | None, int] = {}
    followed: set[int] = set()
    for at, command in enumerate(run):
        own = used[command]
        if None in own or None in last_users:
            earlier = {run[at - 1]} if at else set()
        else:
            earlier = {last_users[each] for each in own if each in last_users}
        if at >= lanes:
            earlier.add(run[at - lanes])
        followed |= earlier
        schedule.followed.extend((command, each) for each in earlier or {before} if each >= 0)
        last_users |= dict.fromkeys(own, command)
    schedule.freed.extend(run)
    open_ends = [command for command in run if command not in followed]
    if after >= 0:
        schedule.freed.append(after)
        schedule.followed.extend((after, command) for command in open_ends)
    schedule.waits.extend((command, run[-1]) for command in open_ends if command != run[-1])


def _further_waits(evidence: Evidence, pairs: Int64s) -> tuple[MovedWaits, ...]:
    """Return waits for commands at the calls that wait for the command with which each is paired."""
    events = evidence.events
    event, awaited = events.awaited.T
    order = np.argsort(awaited, kind="stable")
    begin = np.searchsorted(awaited[order], pairs[:, 1])
    end = np.searchsorted(awaited[order], pairs[:, 1], side="right")
    at = np.concatenate(
        [
            np.empty(0, np.int64),
            *(order[first:last] for first, last in zip(begin, end, strict=True)),
        ]
    )
    chosen = event[at]
    command = np.repeat(pairs[:, 0], end - begin)
    return (MovedWaits(command, events.command[chosen], events.call[chosen]),)
