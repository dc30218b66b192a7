"""Memory objects that a device uses after another one: the driver may have to move them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.kinds import CallFlag
from cltrace.timeline.activity import Activity
from cltrace.timeline.blocked_enqueues import BlockedEnqueues
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.commands import ABSENT

HOST: Final = 0
"""Place of a memory object after a migration to the host, beside the numbers of devices."""


@dataclass(frozen=True, slots=True)
class MemoryMoves:
    """Uses of memory objects that another device, or the host by a migration, had last. Shape (n,).

    `command` is the position of the command, `origin` and `target` are numbers of devices or `HOST`.
    `call_ns` is the time of the call that enqueued the command, after the commands that it depends on
    had ended; of several objects of a command each has a share by its size.
    """

    command: Int64s
    buffer: Int64s
    origin: Int64s
    target: Int64s
    size_bytes: Int64s
    call_ns: Int64s


def find_memory_moves(
    activity: Activity,
    used_buffers: Mapping[int, frozenset[int]],
    sizes: Mapping[int, int],
    blocked: BlockedEnqueues,
) -> MemoryMoves:
    """Return the moves of memory objects whose `sizes` are given, in the order of the commands.

    `used_buffers` are the objects of each launch.
    """
    commands = activity.commands
    if len(np.unique(commands.device)) < 2:
        sizes = {}
    command, buffer = _uses(activity, used_buffers if sizes else {})
    is_followed = np.isin(buffer, list(sizes))
    command, buffer = command[is_followed], buffer[is_followed]
    order = np.lexsort((commands.enter_ns[command], buffer))
    command, buffer = command[order], buffer[order]
    is_to_host = commands.flags[command] & int(CallFlag.TO_HOST) != 0
    target = np.where(is_to_host, HOST, commands.device[command])
    moved = 1 + np.flatnonzero((buffer[1:] == buffer[:-1]) & (target[1:] != target[:-1]))
    moved = moved[np.argsort(command[moved], kind="stable")]
    size = np.array([sizes[number] for number in buffer[moved].tolist()], np.int64)
    return MemoryMoves(
        command[moved],
        buffer[moved],
        target[moved - 1],
        target[moved],
        size,
        _shares_ns(_call_ns(activity, blocked)[command[moved]], command[moved], size),
    )


def slow_moves(moves: MemoryMoves, min_ns: int) -> Bools:
    """Return a mask of the moves whose calls took at least `min_ns` for all of their memory."""
    of_call = np.zeros(len(moves.command), np.int64)
    for _, members in groups(moves.command):
        of_call[members] = moves.call_ns[members].sum()
    is_slow: Bools = of_call >= min_ns
    return is_slow


def _uses(activity: Activity, used_buffers: Mapping[int, frozenset[int]]) -> tuple[Int64s, Int64s]:
    """Return pairs of a command and a memory object that it uses."""
    commands = activity.commands
    uses = []
    for column in (commands.source_buffer, commands.target_buffer):
        chosen = np.flatnonzero(column != ABSENT)
        uses.append((chosen, column[chosen]))
    kernels = np.flatnonzero(commands.is_kind("kernel"))
    for launch, members in groups(commands.launch[kernels], kernels):
        uses += [
            (members, np.full(len(members), number)) for number in used_buffers.get(launch, ())
        ]
    return np.concatenate([first for first, _ in uses]), np.concatenate([each for _, each in uses])


def _call_ns(activity: Activity, blocked: BlockedEnqueues) -> Int64s:
    """Return the time of each command's call after the commands that it depends on had ended."""
    commands = activity.commands
    begin_ns = commands.enter_ns.copy()
    begin_ns[blocked.command] = commands.end_ns[blocked.awaited]
    # A blocking call also waits for its own command.
    until_ns = np.where(
        commands.is_blocking & commands.is_placed, commands.queued_ns, commands.return_ns
    )
    return np.maximum(until_ns - begin_ns, 0)


def _shares_ns(call_ns: Int64s, command: Int64s, size: Int64s) -> Int64s:
    """Return the share of each move in the time of its call."""
    shares = call_ns.copy()
    for _, members in groups(command):
        if len(members) > 1:
            weights = size[members] / max(int(size[members].sum()), 1)
            shares[members] = (call_ns[members] * weights).astype(np.int64)
    return shares
