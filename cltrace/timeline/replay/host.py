"""Host side of a run: what each thread did between its waits, in the order of its calls."""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.blocked_enqueues import BlockedEnqueues, find_blocked_enqueues
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.dependencies import NONE, Dependencies
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay.awaited import awaited_by_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEvents:
    """Events of all threads, those of a thread together and in the order of time. Shape (n,) each.

    An event is a call that enqueued `command`, or a `call` that made none; `NONE` where it is not of that
    kind. An event with neither is a wait without a call of its own: the driver waits before it queues a
    command, or pyopencl waits for a transfer whose event is dropped, whose command `dropped` is. Times
    are disjoint within a thread. `gap_ns` is the time from the return of the event before to the entry of
    this one, 0 for the first of a thread.
    """

    thread: Int64s
    process: Int64s
    enter_ns: Int64s
    return_ns: Int64s
    gap_ns: Int64s
    command: Int64s
    call: Int64s
    dropped: Int64s
    event_of_command: Int64s
    event_of_call: Int64s
    awaited: Int64s
    """Pairs of an event and a command that it waits for. Shape (m, 2)."""

    def __len__(self) -> int:
        return len(self.thread)


def find_host_events(activity: Activity, dependencies: Dependencies, dropped: Int64s) -> HostEvents:
    """Return the events of all threads.

    `dropped` are the commands whose dropped events pyopencl waited for without a recorded call.
    """
    commands, calls = activity.commands, activity.calls
    blocked = find_blocked_enqueues(activity, dependencies)
    columns = _unordered_events(activity, blocked, dropped)
    order = np.lexsort((columns["rank"], columns["enter_ns"], columns["thread"]))
    columns = {name: column[order] for name, column in columns.items()}
    enter, returned, gap = _disjoint(columns["thread"], columns["enter_ns"], columns["return_ns"])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    count, call_count = len(commands), len(calls)
    blocking = np.flatnonzero(commands.is_blocking & commands.is_placed)
    named = awaited_by_calls(activity)
    extra = count + call_count
    awaited = np.concatenate(
        [
            np.stack([place[blocking], blocking], axis=1),
            np.stack([place[count + named[:, 0]], named[:, 1]], axis=1),
            np.stack([place[extra : extra + len(blocked.command)], blocked.awaited], axis=1),
            np.stack([place[extra + len(blocked.command) :], dropped], axis=1),
        ]
    )
    return HostEvents(
        thread=columns["thread"],
        process=columns["process"],
        enter_ns=enter,
        return_ns=_return_of_drops(enter, returned, columns["dropped"]),
        gap_ns=np.where(_after_drop(columns["dropped"]), 0, gap),
        command=columns["command"],
        call=columns["call"],
        dropped=columns["dropped"],
        event_of_command=place[:count],
        event_of_call=place[count:extra],
        awaited=awaited,
    )


def _unordered_events(
    activity: Activity, blocked: BlockedEnqueues, dropped: Int64s
) -> dict[str, Int64s]:
    """Return columns of all events: commands, calls, the driver's waits, and pyopencl's."""
    commands, calls = activity.commands, activity.calls
    enter = commands.enter_ns.copy()
    # The driver's wait is an event of its own, which ends where the command is queued.
    enter[blocked.command] = commands.queued_ns[blocked.command]
    parts = (len(commands), len(calls), len(blocked.command), len(dropped))
    total = sum(parts)
    begins = np.cumsum((0, *parts))
    command, call, drop = (np.full(total, NONE) for _ in range(3))
    command[: parts[0]] = np.arange(parts[0])
    call[begins[1] : begins[2]] = np.arange(parts[1])
    drop[begins[3] :] = dropped

    def joined(of_commands: Int64s, of_calls: Int64s) -> Int64s:
        return np.concatenate(
            [of_commands, of_calls, of_commands[blocked.command], of_commands[dropped]]
        )

    driver_enter, drop_enter = commands.enter_ns[blocked.command], commands.return_ns[dropped]
    return {
        "thread": joined(commands.thread, calls.thread),
        "process": joined(commands.process, calls.process),
        "enter_ns": np.concatenate([enter, calls.enter_ns, driver_enter, drop_enter]),
        "return_ns": np.concatenate(
            [
                np.maximum(commands.return_ns, enter),
                calls.return_ns,
                commands.queued_ns[blocked.command],
                drop_enter,
            ]
        ),
        # At one instant a driver's wait comes before its call, and a dropped event after all.
        "rank": np.repeat([1, 1, 0, 2], parts),
        "command": command,
        "call": call,
        "dropped": drop,
    }


def _disjoint(thread: Int64s, enter_ns: Int64s, return_ns: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return entries and returns that do not overlap within a thread, and the gaps between them.

    A call inside another one becomes an event without length after it.
    """
    enter, returned = enter_ns.copy(), return_ns.copy()
    gap = np.zeros(len(thread), np.int64)
    for _, members in groups(thread):
        until = np.maximum.accumulate(return_ns[members])
        enter[members[1:]] = np.maximum(enter_ns[members[1:]], until[:-1])
        returned[members] = np.maximum(until, enter[members])
        gap[members[1:]] = enter[members[1:]] - returned[members[:-1]]
    return enter, returned, gap


def _after_drop(dropped: Int64s) -> Bools:
    """Return a mask of the events that follow a wait for a dropped event."""
    return np.append(np.False_, dropped[:-1] != NONE)[: len(dropped)]


def _return_of_drops(enter_ns: Int64s, return_ns: Int64s, dropped: Int64s) -> Int64s:
    """Return the returns, with waits for dropped events lasting until the thread's next event."""
    following = np.append(enter_ns[1:], return_ns[-1:])
    return np.where(dropped != NONE, following, return_ns)
