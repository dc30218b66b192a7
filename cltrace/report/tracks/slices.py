"""Rows of slices for timeline viewers: slices of a row never overlap in part.

Device commands that ran concurrently on a queue are in several rows. Host calls of a thread nest; a call
that overlaps another in part, as calls of different greenlets may, is in a row of its own.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.intervals import assign_rows
from cltrace.trace.commands import ABSENT
from cltrace.trace.reader import Trace

NONE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSlices:
    """Host calls ordered by their begin, enclosing calls before those within. Shape (n,) each.

    `row` is the call's row among those of its thread. `command` is the position of the command that a
    call enqueued, `call` that of a call that enqueued nothing; `NONE` for the other. `site` is the number
    of the call site.
    """

    process: Int64s
    thread: Int64s
    row: Int64s
    begin_ns: Int64s
    end_ns: Int64s
    api: Int64s
    command: Int64s
    call: Int64s
    site: Int64s
    status: Int64s
    size_bytes: Int64s


@dataclass(frozen=True, slots=True)
class DeviceSlices:
    """Placed commands ordered by their start. Shape (n,) each.

    `command` is the position of the command, `row` its row among those of its queue.
    """

    command: Int64s
    queue: Int64s
    row: Int64s
    begin_ns: Int64s
    end_ns: Int64s


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """Live device memory of a process from each time on. Ordered by time."""

    process: int
    time_ns: Int64s
    live_bytes: Int64s


def viewer_pids(trace: Trace) -> dict[int, int]:
    """Return the number of each process for viewers: its pid, or its own number where pids occur twice.

    Ranks in containers, and on several machines, have the same pids.
    """
    pids = {
        int(process): int(pid)
        for process, pid in trace.rows("SELECT process_id, pid FROM v_process")
    }
    return pids if len(set(pids.values())) == len(pids) else {process: process for process in pids}


def host_slices(activity: Activity) -> HostSlices:
    """Return the host calls of an activity."""
    commands, calls = activity.commands, activity.calls
    command_positions = np.arange(len(commands))
    other_calls = np.arange(len(calls))
    columns = {
        "process": (commands.process, calls.process),
        "thread": (commands.thread, calls.thread),
        "begin_ns": (commands.enter_ns, calls.enter_ns),
        "end_ns": (commands.return_ns, calls.return_ns),
        "api": (commands.api, calls.api),
        "command": (command_positions, np.full(len(other_calls), NONE)),
        "call": (np.full(len(command_positions), NONE), other_calls),
        "site": (commands.site, calls.site),
        "status": (np.zeros(len(command_positions), np.int64), calls.status),
        "size_bytes": (commands.size_bytes, calls.size_bytes),
    }
    joined = {name: np.concatenate(pair) for name, pair in columns.items()}
    joined["end_ns"] = np.maximum(joined["end_ns"], joined["begin_ns"])
    order = np.lexsort((-joined["end_ns"], joined["begin_ns"]))
    joined = {name: column[order] for name, column in joined.items()}
    row = np.zeros(len(order), np.int64)
    for thread in np.unique(joined["thread"]).tolist():
        positions = np.flatnonzero(joined["thread"] == thread)
        row[positions] = nested_rows(joined["begin_ns"][positions], joined["end_ns"][positions])
    return HostSlices(row=row, **joined)


def nested_rows(begin_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return rows in which slices are disjoint or within each other.

    Slices are ordered by their begin, those that enclose before those within.
    """
    row = np.zeros(len(begin_ns), np.int64)
    if (begin_ns[1:] >= end_ns[:-1]).all():
        return row
    open_until: list[list[int]] = []
    for index, (begin, end) in enumerate(zip(begin_ns.tolist(), end_ns.tolist(), strict=True)):
        for stack in open_until:
            while stack and stack[-1] <= begin:
                stack.pop()
        fitting = (
            number for number, stack in enumerate(open_until) if not stack or end <= stack[-1]
        )
        chosen = next(fitting, len(open_until))
        if chosen == len(open_until):
            open_until.append([])
        open_until[chosen].append(end)
        row[index] = chosen
    return row


def nesting_depths(begin_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return the number of slices that each is within, for slices that are disjoint or nested.

    Slices are ordered by their begin, those that enclose before those within.
    """
    depth = np.zeros(len(begin_ns), np.int64)
    inner = np.arange(len(begin_ns))
    while len(inner) > 1:
        until = np.maximum.accumulate(end_ns[inner])
        inner = inner[1:][begin_ns[inner[1:]] < until[:-1]]
        depth[inner] += 1
    return depth


def device_slices(activity: Activity) -> DeviceSlices:
    """Return the placed commands of an activity."""
    commands = activity.commands
    placed = np.flatnonzero(commands.is_placed)
    placed = placed[np.argsort(commands.start_ns[placed], kind="stable")]
    begin, end, queue = commands.start_ns[placed], commands.end_ns[placed], commands.queue[placed]
    row = np.zeros(len(placed), np.int64)
    for number in np.unique(queue).tolist():
        is_queue = queue == number
        row[is_queue] = assign_rows(begin[is_queue], end[is_queue])
    return DeviceSlices(placed, queue, row, begin, end)


def memory_levels(trace: Trace, activity: Activity) -> list[MemoryLevel]:
    """Return the live device memory of each process, from the lifetimes of its buffers."""
    buffers = trace.columns(
        {
            "process": "process_id",
            "size": "size_bytes",
            "made": "known_host_ns",
            "gone": "released_before_host_ns",
        },
        "v_buffer WHERE parent_buffer_id IS NULL",
    )
    levels = []
    for process in np.unique(buffers["process"]).tolist():
        is_process = buffers["process"] == process
        is_gone = is_process & (buffers["gone"] != ABSENT)
        times = np.concatenate([buffers["made"][is_process], buffers["gone"][is_gone]])
        steps = np.concatenate([buffers["size"][is_process], -buffers["size"][is_gone]])
        order = np.argsort(times, kind="stable")
        origin = activity.axis.origin_host_ns.get(process, 0)
        levels.append(
            MemoryLevel(process, times[order] - origin, np.maximum(np.cumsum(steps[order]), 0))
        )
    return levels


def api_name(api: int) -> str:
    """Return the name of an entry point."""
    try:
        return Api(api).name
    except ValueError:
        return f"entry point {api}"


def command_name(activity: Activity, command: int) -> str:
    """Return the name of a command: its kernel, or its kind."""
    commands = activity.commands
    kind = int(commands.kind[command])
    name = KINDS[kind] if 0 <= kind < len(KINDS) else "command"
    if name != "kernel":
        return name
    return activity.names.kernels[int(commands.kernel[command])] or name
