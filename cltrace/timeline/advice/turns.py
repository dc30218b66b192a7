"""Rule about devices that work one after another although nothing orders them."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
)
from cltrace.timeline.advice.sequences import first_proofs
from cltrace.timeline.advice.unneeded_waits import alone_ns
from cltrace.timeline.advice.used_memory import UsedMemory
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay import Change

_MIN_ALONE_SHARE: Final = 0.5
_MAX_COMMANDS: Final = 4096
"""Commands around a wait that are examined. With more, the rule reports nothing."""


class _Turn(NamedTuple):
    """Wait for a device, as a position among the waits, and positions of commands.

    `pending` are commands of the device that had not ended when the wait began. `following` are those
    that the same thread enqueued on other devices afterwards, until it waited again.
    """

    wait: int
    pending: Int64s
    following: Int64s


def devices_in_turns(evidence: Evidence) -> list[Proposal]:
    """Find waits for one device after which the thread enqueues independent work on another one."""
    if evidence.shares_memory_with_host:
        return []  # kernels may use memory that the host shares, and that is not recorded
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    orders = _Orders(evidence)
    turns = [turn.wait for turn in _find_turns(evidence) if not orders.may_order(turn)]
    chosen = np.array(turns, np.int64)
    awaited = waits.command[chosen]
    cost = alone_ns(evidence.activity, awaited, waits.enter_ns[chosen], commands.end_ns[awaited])
    # Where the others work meanwhile, the host may as well wait for each in turn.
    waited_ns = np.maximum(commands.end_ns[awaited] - waits.enter_ns[chosen], 0)
    is_alone = cost > _MIN_ALONE_SHARE * waited_ns
    alone = np.zeros(len(waits), np.int64)
    alone[chosen] = cost
    chosen = chosen[is_alone]
    return [
        _proposal(evidence, place, members, int(alone[members].sum()))
        for place, members in evidence.by_place(waits.site[chosen], chosen)
        if len(members) >= MIN_OCCURRENCES
    ]


def _proposal(evidence: Evidence, place: Place, members: Int64s, alone_ns: int) -> Proposal:
    """Return the proposal to wait later at one place."""
    waits = evidence.dependencies.waits
    is_call = waits.call[members] >= 0
    count = len(members)
    return Proposal(
        rule="devices-in-turns",
        title="Devices take turns although nothing orders them",
        place=place,
        times=count,
        metrics=(
            metric_count("waits for a device before independent work for another one", count),
            metric_ns("no other device worked for", alone_ns),
        ),
        remedy=Remedy(
            "Enqueue the work of all devices, flush their queues, and only then wait.",
            "for queue in queues: step(queue); queue.finish()",
            "for queue in queues: step(queue); queue.flush()",
        ),
        change=Change(
            removed_calls=waits.call[members[is_call]], unblocked=waits.command[members[~is_call]]
        ),
    )


def _find_turns(evidence: Evidence) -> Iterator[_Turn]:
    """Yield the waits of threads that enqueue on several devices and change the device at this wait."""
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    of_thread, of_device = dict(groups(commands.thread)), dict(groups(commands.device))
    ends = {
        device: np.maximum.accumulate(commands.end_ns[members])
        for device, members in of_device.items()
    }
    for thread, members in groups(waits.thread):
        own = of_thread.get(thread, np.empty(0, np.int64))
        if len(np.unique(commands.device[own])) < 2:
            continue
        for wait, following in _changes_of_device(evidence, members, own):
            device = int(commands.device[waits.command[wait]])
            enqueued = of_device[device]
            until = np.searchsorted(commands.enter_ns[enqueued], waits.return_ns[wait])
            since = np.searchsorted(ends[device], waits.enter_ns[wait], side="right")
            is_other = commands.device[following] != device
            yield _Turn(wait, enqueued[since:until], following[is_other])


def _changes_of_device(
    evidence: Evidence, waits: Int64s, own: Int64s
) -> Iterator[tuple[int, Int64s]]:
    """Yield waits of a thread with the commands that it enqueued from then until it waited again.

    All commands before the wait, since the thread last waited, are on the device that is waited for, and
    the first one after it is on another device. `own` are the thread's commands.
    """
    commands, every = evidence.activity.commands, evidence.dependencies.waits
    begins = np.searchsorted(commands.enter_ns[own], every.return_ns[waits])
    edges = np.unique(np.concatenate([[0], begins, [len(own)]]))
    places = np.searchsorted(edges, begins)
    for wait, place in zip(waits.tolist(), places.tolist(), strict=True):
        if not 0 < place < len(edges) - 1:
            continue
        device = commands.device[every.command[wait]]
        before, after = own[edges[place - 1] : edges[place]], own[edges[place] : edges[place + 1]]
        if commands.device[after[0]] != device and (commands.device[before] == device).all():
            yield wait, after


class _Orders:
    """Orders that may exist between commands of different devices: events, memory, data of the host."""

    def __init__(self, evidence: Evidence) -> None:
        self._commands = commands = evidence.activity.commands
        self._memory = UsedMemory(evidence)
        waits = evidence.dependencies.waits
        concerns_host = commands.is_kind("read", "write", "map", "unmap")
        self._waits_for_host = first_proofs(evidence.activity, waits, concerns_host)
        self._concerns_host: list[bool] = concerns_host.tolist()
        self._is_kernel: list[bool] = commands.is_kind("kernel").tolist()
        self._edges = set(map(tuple, evidence.activity.edges.tolist()))
        self._awaiting = {later for later, _ in self._edges}
        launches, first = np.unique(commands.launch, return_index=True)
        self._first_of_launch = dict(zip(launches.tolist(), first.tolist(), strict=True))

    def may_order(self, turn: _Turn) -> bool:
        """Return whether the following commands may need what the pending ones did."""
        pending, following = turn.pending.tolist(), turn.following.tolist()
        if self._waits_for_host[turn.wait]:
            # The host's arrays are not recorded: later transfers may need them, or data computed there.
            following = list(takewhile(self._repeats, following))
        if not (pending and following) or len(pending) + len(following) > _MAX_COMMANDS:
            return True
        return self._share_events(pending, following) or self._share_memory(pending, following)

    def _repeats(self, command: int) -> bool:
        """Return whether a command needs nothing that the host has only now."""
        if self._is_kernel[command]:
            return bool(self._first_of_launch[int(self._commands.launch[command])] < command)
        return not self._concerns_host[command]

    def _share_events(self, pending: list[int], following: list[int]) -> bool:
        return any(
            (later, earlier) in self._edges
            for later in following
            if later in self._awaiting
            for earlier in pending
        )

    def _share_memory(self, pending: list[int], following: list[int]) -> bool:
        """Return whether both use a memory object that may change, or an unknown one."""
        used = [
            {each for command in commands for each in self._memory.of(command)}
            for commands in (pending, following)
        ]
        return None in used[0] | used[1] or bool(used[0] & used[1])
