"""Dependencies of commands: queue order, wait lists, busy devices, and the host's own waits."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity, Commands
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups

NONE: Final = -1

_WAITING_CALLS: Final = (Api.clFinish, Api.clWaitForEvents)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWaits:
    """Host calls that returned only after a command had ended, ordered by their returns.

    Shape (m,). `command` is the position of the awaited command that ended last. `call` is the position
    of the call among those that made no command, or `NONE` for a blocking command.
    """

    thread: Int64s
    enter_ns: Int64s
    return_ns: Int64s
    command: Int64s
    call: Int64s
    site: Int64s
    awaited_pairs: Int64s
    """Pairs of a wait and a command that it waited for."""

    def __len__(self) -> int:
        return len(self.command)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Commands that each command waits for, as positions among the commands.

    `queue_predecessor` is the command that each one follows by the order of its queue, `NONE` if there is
    none. `edges` are pairs of a command and one in its wait list. `device_predecessor` is the command of
    any queue that kept the device busy until this one could start, `NONE` if there is none. `release_ns`
    is the time by which the last of these had ended and the command was queued: it could have started
    then.
    """

    queue_predecessor: Int64s
    edges: Int64s
    device_predecessor: Int64s
    release_ns: Int64s
    last_predecessor: Int64s
    """The command that ended last of all that each one waits for; `NONE` if it was queued after that."""
    waits: HostWaits


def find_dependencies(activity: Activity) -> Dependencies:
    """Return the dependencies of all commands that are placed."""
    commands = activity.commands
    queue_predecessor = _queue_predecessors(activity)
    placed = commands.is_placed
    edges = activity.edges[placed[activity.edges].all(axis=1)]
    later = np.concatenate([np.flatnonzero(queue_predecessor >= 0), edges[:, 0]])
    earlier = np.concatenate([queue_predecessor[queue_predecessor >= 0], edges[:, 1]])
    release = np.where(placed, commands.queued_ns, commands.enter_ns)
    last = np.full(len(commands), NONE)
    order = np.argsort(commands.end_ns[earlier], kind="stable")
    later, earlier = later[order], earlier[order]
    is_later = commands.end_ns[earlier] > release[later]
    # Of several assignments to one place the last one remains: the command that ended last.
    last[later[is_later]] = earlier[is_later]
    release = np.where(last >= 0, commands.end_ns[last], release)
    device_predecessor = _device_predecessors(commands, release)
    last = np.where(device_predecessor >= 0, device_predecessor, last)
    release = np.where(device_predecessor >= 0, commands.end_ns[device_predecessor], release)
    return Dependencies(
        queue_predecessor, edges, device_predecessor, release, last, find_host_waits(activity)
    )


def _device_predecessors(commands: Commands, release_ns: Int64s) -> Int64s:
    """Return the command that kept the device busy until each one started; `NONE` if there is none.

    Nothing else ran when the command started, and the last one to end before had ended after its release.
    """
    predecessor = np.full(len(commands), NONE)
    placed = np.flatnonzero(commands.is_placed)
    for _, members in groups(commands.device[placed], placed):
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        end = commands.end_ns[members]
        last = _last_to_end(end)[:-1]
        busy_until, following = end[last], members[1:]
        is_freed = (busy_until <= commands.start_ns[following]) & (
            busy_until > release_ns[following]
        )
        predecessor[following[is_freed]] = members[last][is_freed]
    return predecessor


def _queue_predecessors(activity: Activity) -> Int64s:
    """Return the command that each one follows in its queue: the one before, or the last barrier."""
    commands = activity.commands
    predecessor = np.full(len(commands), NONE)
    placed = np.flatnonzero(commands.is_placed)
    for queue, members in groups(commands.queue[placed], placed):
        if queue in activity.in_order:
            predecessor[members[1:]] = members[:-1]
        else:
            _follow_barriers(predecessor, members, activity)
    return predecessor


def _follow_barriers(predecessor: Int64s, members: Int64s, activity: Activity) -> None:
    """Enter the predecessors in an out-of-order queue into `predecessor`.

    A barrier follows the command that ended last before it, and later commands follow the barrier. A
    barrier or marker with a wait list waits for that list only.
    """
    commands = activity.commands
    waits_for_all = commands.is_kind("barrier", "marker")[members]
    waits_for_all &= ~np.isin(members, activity.edges[:, 0])
    is_barrier = commands.is_kind("barrier")[members]
    last = members[_last_to_end(commands.end_ns[members])]
    at = np.arange(len(members))
    barrier_at = np.maximum.accumulate(np.where(is_barrier, at, NONE))
    # Shifted by one place: a command does not follow itself.
    barrier_before = np.concatenate([[NONE], barrier_at[:-1]])
    predecessor[members] = np.where(barrier_before >= 0, members[barrier_before], NONE)
    has_earlier = waits_for_all & (at > 0)
    predecessor[members[has_earlier]] = last[at[has_earlier] - 1]


def _last_to_end(end_ns: Int64s) -> Int64s:
    """Return for each end the position of the latest end up to it."""
    is_latest = end_ns >= np.maximum.accumulate(end_ns)
    positions: Int64s = np.maximum.accumulate(np.where(is_latest, np.arange(len(end_ns)), 0))
    return positions


def find_host_waits(activity: Activity) -> HostWaits:
    """Return the host's waits for commands that are placed."""
    commands, calls = activity.commands, activity.calls
    blocking = np.flatnonzero(commands.is_blocking & commands.is_placed)
    pairs = _awaited_pairs(activity)
    last = np.full(len(calls), NONE)
    last[pairs[:, 0]] = pairs[:, 1]
    waiting = np.flatnonzero(last >= 0)
    command = np.concatenate([blocking, last[waiting]])
    thread = np.concatenate([commands.thread[blocking], calls.thread[waiting]])
    enter = np.concatenate([commands.enter_ns[blocking], calls.enter_ns[waiting]])
    returned = np.concatenate([commands.return_ns[blocking], calls.return_ns[waiting]])
    site = np.concatenate([commands.site[blocking], calls.site[waiting]])
    call = np.concatenate([np.full(len(blocking), NONE), waiting])
    order = np.argsort(returned, kind="stable")
    wait_of_call = np.full(len(calls), NONE)
    wait_of_call[call[order][call[order] >= 0]] = np.flatnonzero(call[order] >= 0)
    return HostWaits(
        thread=thread[order],
        enter_ns=enter[order],
        return_ns=returned[order],
        command=command[order],
        call=call[order],
        site=site[order],
        awaited_pairs=np.stack([wait_of_call[pairs[:, 0]], pairs[:, 1]], axis=1),
    )


def _awaited_pairs(activity: Activity) -> Int64s:
    """Return pairs of a call and a command that it waited for, ordered by the commands' ends.

    The last command of an in-order queue stands for all before it.
    """
    commands, calls = activity.commands, activity.calls
    is_wait = calls.is_api(*_WAITING_CALLS) & (calls.status == 0)
    named = activity.waits
    parts = [named[is_wait[named[:, 0]] & commands.is_placed[named[:, 1]]]]
    finishes = np.flatnonzero(is_wait & calls.is_api(Api.clFinish))
    placed = np.flatnonzero(commands.is_placed)
    of_queue = dict(groups(commands.queue[placed], placed))
    for queue, queue_calls in groups(calls.queue[finishes], finishes):
        members = of_queue.get(queue, np.empty(0, np.int64))
        # The first call that finishes a command is the one that waited for it.
        at = np.searchsorted(calls.enter_ns[queue_calls], commands.return_ns[members])
        finished = at < len(queue_calls)
        at, members = at[finished], members[finished]
        if queue in activity.in_order and len(at):
            is_last = np.append(at[1:] != at[:-1], True)
            at, members = at[is_last], members[is_last]
        parts.append(np.stack([queue_calls[at], members], axis=1))
    pairs = np.concatenate(parts)
    return pairs[np.argsort(commands.end_ns[pairs[:, 1]], kind="stable")]
