"""Sequences of commands that several rules look for, and the waits that belong to commands."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import NEVER, Bools, Int64s
from cltrace.timeline.dependencies import HostWaits
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay import Change, MovedWaits

ANY_TIME_NS: Final = 1 << 40
"""More than a program spends between two calls of a loop."""
MAX_LOOP_NS: Final = 200_000
"""Time of the Python code between two calls of a loop. With more, the program does other work."""

CREATING_CALLS: Final = (
    Api.clCreateProgramWithSource,
    Api.clCreateProgramWithBinary,
    Api.clBuildProgram,
    Api.clCreateKernel,
)


def runs_of(activity: Activity, members: Int64s) -> Iterator[Int64s]:
    """Yield the runs of members that their threads enqueued with no other command between them."""
    commands = activity.commands
    is_member = np.zeros(len(commands), np.bool_)
    is_member[members] = True
    for _, own in groups(commands.thread):
        own = own[np.argsort(commands.enter_ns[own], kind="stable")]
        chosen = np.flatnonzero(is_member[own])
        breaks = np.flatnonzero(np.diff(chosen) != 1) + 1
        yield from (own[part] for part in np.split(chosen, breaks) if len(part))


def waits_for_only(activity: Activity, commands: Int64s) -> Int64s:
    """Return the `clWaitForEvents` calls, as positions, that wait for none but these commands."""
    call, command = activity.waits.T
    is_wait = activity.calls.is_api(Api.clWaitForEvents)
    count = len(activity.calls)
    named = np.bincount(call, minlength=count)
    ours = np.bincount(call[np.isin(command, commands)], minlength=count)
    return np.flatnonzero(is_wait & (named > 0) & (named == ours))


def time_between_ns(activity: Activity, members: Int64s, quantile: float) -> int:
    """Return a quantile of the times between calls at one place, ns.

    A low one is the time of pyopencl and the loop itself: work of the program makes others longer.
    """
    commands = activity.commands
    enter = np.sort(commands.enter_ns[members])
    returned = np.sort(commands.return_ns[members])
    gaps = np.maximum(enter[1:] - returned[:-1], 0)
    return min(int(np.quantile(gaps, quantile)), MAX_LOOP_NS) if len(gaps) else 0


def without(activity: Activity, members: Int64s, saved_ns: int) -> Change:
    """Return the change that leaves out commands, the waits for them, and time before their calls."""
    return Change(
        removed=members,
        removed_calls=waits_for_only(activity, members),
        saved_commands=members,
        saved_ns=np.full(len(members), saved_ns),
    )


def until_next(commands: Int64s) -> tuple[MovedWaits, ...]:
    """Return waits for commands at one place, each moved to the call of the next command there."""
    later = np.append(commands[1:], -1)
    return (MovedWaits(commands, later, np.full(len(commands), -1)),) if len(commands) else ()


def first_proofs(activity: Activity, waits: HostWaits, chosen: Bools) -> Bools:
    """Return a mask of waits that are the first proof of completion of any of the chosen commands."""
    order = np.argsort(waits.return_ns, kind="stable")
    returned = waits.return_ns[order]
    complete_ns = activity.commands.observed_complete_ns[chosen]
    at = np.minimum(np.searchsorted(returned, complete_ns), max(len(returned) - 1, 0))
    is_first_proof = np.zeros(len(waits), np.bool_)
    if len(returned):
        is_first_proof[order[at[returned[at] == complete_ns]]] = True
    return is_first_proof


def were_complete(activity: Activity) -> Bools:
    """Return a mask of waiting calls whose commands were all observed complete before the call."""
    commands, calls = activity.commands, activity.calls
    was_complete = np.zeros(len(calls), np.bool_)
    named = activity.waits
    latest = np.full(len(calls), -NEVER)
    np.maximum.at(latest, named[:, 0], commands.observed_complete_ns[named[:, 1]])
    is_named = calls.is_api(Api.clWaitForEvents) & np.isin(np.arange(len(calls)), named[:, 0])
    was_complete[is_named] = (latest <= calls.enter_ns)[is_named]
    finishes = np.flatnonzero(calls.is_api(Api.clFinish))
    of_queue = dict(groups(commands.queue))
    for queue, queue_calls in groups(calls.queue[finishes], finishes):
        members = of_queue.get(queue)
        if members is not None:
            complete_ns = np.maximum.accumulate(commands.observed_complete_ns[members])
            enter_ns = calls.enter_ns[queue_calls]
            at = np.searchsorted(commands.enter_ns[members], enter_ns) - 1
            was_complete[queue_calls] = (at >= 0) & (complete_ns[np.maximum(at, 0)] <= enter_ns)
    was_complete &= calls.status == 0
    return was_complete
