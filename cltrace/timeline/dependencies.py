"""What had to be done before what: queue order, wait lists, and the host's own waits."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity, Commands
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.grouping import groups

NONE: Final = -1

_WAITING_CALLS: Final = (Api.clFinish, Api.clWaitForEvents)


@dataclass(frozen=True, slots=True)
class HostWaits:
    """Host calls that returned only after a command had ended, ordered by when they returned.

    Shape (m,). `command` is the position of the command that ended last of those it waited for, `call`
    the position of the call among those that made no command, or `NONE` for a blocking command.
    """

    thread: Int64s
    enter_ns: Int64s
    return_ns: Int64s
    command: Int64s
    call: Int64s
    site: Int64s
    also: Int64s
    """Pairs of a wait and any command that it waited for."""

    def __len__(self) -> int:
        return len(self.command)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What commands wait for, as positions among them.

    `queue_before` is the command that each one follows by the order of its queue, `NONE` if there is
    none. `edges` are pairs of a command and one in its wait list. `freed_by` is the command of any queue
    that had kept the device busy until it could start, if one had. `release_ns` is when the last of
    these had ended and the command was queued: from then on it could have started.
    """

    queue_before: Int64s
    edges: Int64s
    freed_by: Int64s
    release_ns: Int64s
    last_before: Int64s
    """Of all that a command waits for, the one that ended last; `NONE` if its own queueing came later."""
    waits: HostWaits


def dependencies(activity: Activity) -> Dependencies:
    """The dependencies of all commands that are placed."""
    commands = activity.commands
    before = _queue_order(activity)
    placed = commands.is_placed
    edges = activity.edges[placed[activity.edges].all(axis=1)]
    later = np.concatenate([np.flatnonzero(before >= 0), edges[:, 0]])
    earlier = np.concatenate([before[before >= 0], edges[:, 1]])
    release = np.where(placed, commands.queued_ns, commands.enter_ns)
    last = np.full(len(commands), NONE)
    order = np.argsort(commands.end_ns[earlier], kind="stable")
    later, earlier = later[order], earlier[order]
    is_later = commands.end_ns[earlier] > release[later]
    # Of several assignments to one place the last stands: that of the command that ended last.
    last[later[is_later]] = earlier[is_later]
    release = np.where(last >= 0, commands.end_ns[last], release)
    freed_by = _freed_by(commands, release)
    last = np.where(freed_by >= 0, freed_by, last)
    release = np.where(freed_by >= 0, commands.end_ns[freed_by], release)
    return Dependencies(before, edges, freed_by, release, last, host_waits(activity))


def _freed_by(commands: Commands, release_ns: Int64s) -> Int64s:
    """The command that had kept the device busy until each one started; `NONE` if none had.

    Nothing else ran when it started, and the last to end before had ended after its release.
    """
    freed_by = np.full(len(commands), NONE)
    placed = np.flatnonzero(commands.is_placed)
    for _, members in groups(commands.device[placed], placed):
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        end = commands.end_ns[members]
        last = _last_to_end(end)[:-1]
        busy_until, following = end[last], members[1:]
        is_freed = (busy_until <= commands.start_ns[following]) & (
            busy_until > release_ns[following]
        )
        freed_by[following[is_freed]] = members[last][is_freed]
    return freed_by


def _queue_order(activity: Activity) -> Int64s:
    """The command that each follows in its queue: the one before, or the last barrier."""
    commands = activity.commands
    before = np.full(len(commands), NONE)
    placed = np.flatnonzero(commands.is_placed)
    for queue, members in groups(commands.queue[placed], placed):
        if queue in activity.in_order:
            before[members[1:]] = members[:-1]
        else:
            _follow_barriers(before, members, activity)
    return before


def _follow_barriers(before: Int64s, members: Int64s, activity: Activity) -> None:
    """In a queue without order a barrier follows what ended last, and what comes later follows it.

    A barrier or marker with a wait list waits for that only.
    """
    commands = activity.commands
    waits_for_all = commands.are("barrier", "marker")[members]
    waits_for_all &= ~np.isin(members, activity.edges[:, 0])
    is_barrier = commands.are("barrier")[members]
    last = members[_last_to_end(commands.end_ns[members])]
    at = np.arange(len(members))
    barrier_at = np.maximum.accumulate(np.where(is_barrier, at, NONE))
    # What is before a command: one place back.
    barrier_before = np.concatenate([[NONE], barrier_at[:-1]])
    before[members] = np.where(barrier_before >= 0, members[barrier_before], NONE)
    has_earlier = waits_for_all & (at > 0)
    before[members[has_earlier]] = last[at[has_earlier] - 1]


def _last_to_end(end_ns: Int64s) -> Int64s:
    """For each of some ends the position of the latest up to it."""
    is_latest = end_ns >= np.maximum.accumulate(end_ns)
    found: Int64s = np.maximum.accumulate(np.where(is_latest, np.arange(len(end_ns)), 0))
    return found


def host_waits(activity: Activity) -> HostWaits:
    """The host's waits for commands that are placed."""
    commands, calls = activity.commands, activity.calls
    blocking = np.flatnonzero(commands.is_blocking & commands.is_placed)
    pairs = _awaited(activity)
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
    of_call = np.full(len(calls), NONE)
    of_call[call[order][call[order] >= 0]] = np.flatnonzero(call[order] >= 0)
    return HostWaits(
        thread[order],
        enter[order],
        returned[order],
        command[order],
        call[order],
        site[order],
        also=np.stack([of_call[pairs[:, 0]], pairs[:, 1]], axis=1),
    )


def _awaited(activity: Activity) -> Int64s:
    """Pairs of a call and a command that it waited for, ordered by when the commands ended.

    Of a queue in order the last command stands for all.
    """
    commands, calls = activity.commands, activity.calls
    is_wait = calls.are(*_WAITING_CALLS) & (calls.status == 0)
    named = activity.waits
    found = [named[is_wait[named[:, 0]] & commands.is_placed[named[:, 1]]]]
    finishes = np.flatnonzero(is_wait & calls.are(Api.clFinish))
    placed = np.flatnonzero(commands.is_placed)
    of_queue = dict(groups(commands.queue[placed], placed))
    for queue, here in groups(calls.queue[finishes], finishes):
        members = of_queue.get(queue, np.empty(0, np.int64))
        # The first call that finishes a command is the one that waited for it.
        at = np.searchsorted(calls.enter_ns[here], commands.return_ns[members])
        finished = at < len(here)
        at, members = at[finished], members[finished]
        if queue in activity.in_order and len(at):
            is_last = np.append(at[1:] != at[:-1], True)
            at, members = at[is_last], members[is_last]
        found.append(np.stack([here[at], members], axis=1))
    pairs = np.concatenate(found)
    return pairs[np.argsort(commands.end_ns[pairs[:, 1]], kind="stable")]
