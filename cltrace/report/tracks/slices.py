"""Tracks of slices for timeline viewers: nothing on a track overlaps in part.

Device commands that ran at once on a queue are on several lanes. Host calls of a thread nest; one that
neither nests nor is apart, as calls of different greenlets may be, is on a lane of its own.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.intervals import lanes
from cltrace.trace.commands import ABSENT
from cltrace.trace.reader import Trace

NONE: Final = -1


@dataclass(frozen=True, slots=True)
class HostSlices:
    """Host calls ordered by their begin, those that enclose before those within. Shape (n,) each.

    `command` is the position of the command that a call enqueued, `call` that of a call that made none;
    `NONE` for the other. `site` is the number of the place.
    """

    process: Int64s
    thread: Int64s
    lane: Int64s
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
    """Commands that are placed, ordered by their start. Shape (n,) each; `command` is the position."""

    command: Int64s
    queue: Int64s
    lane: Int64s
    begin_ns: Int64s
    end_ns: Int64s


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """How much device memory of a process was live, from each time on. Ordered by time."""

    process: int
    time_ns: Int64s
    live_bytes: Int64s


def viewer_pids(trace: Trace) -> dict[int, int]:
    """The number of each process for viewers: its pid, or its own number where pids occur twice.

    Ranks in containers, and on several machines, have the same pids.
    """
    pids = {int(one): int(pid) for one, pid in trace.rows("SELECT process_id, pid FROM v_process")}
    return pids if len(set(pids.values())) == len(pids) else {one: one for one in pids}


def host_slices(activity: Activity) -> HostSlices:
    """The host calls of an activity."""
    commands, calls = activity.commands, activity.calls
    made = np.arange(len(commands))
    other = np.arange(len(calls))
    columns = {
        "process": (commands.process, calls.process),
        "thread": (commands.thread, calls.thread),
        "begin_ns": (commands.enter_ns, calls.enter_ns),
        "end_ns": (commands.return_ns, calls.return_ns),
        "api": (commands.api, calls.api),
        "command": (made, np.full(len(other), NONE)),
        "call": (np.full(len(made), NONE), other),
        "site": (commands.site, calls.site),
        "status": (np.zeros(len(made), np.int64), calls.status),
        "size_bytes": (commands.size_bytes, calls.size_bytes),
    }
    joined = {name: np.concatenate(pair) for name, pair in columns.items()}
    joined["end_ns"] = np.maximum(joined["end_ns"], joined["begin_ns"])
    order = np.lexsort((-joined["end_ns"], joined["begin_ns"]))
    joined = {name: column[order] for name, column in joined.items()}
    lane = np.zeros(len(order), np.int64)
    for thread in np.unique(joined["thread"]).tolist():
        here = np.flatnonzero(joined["thread"] == thread)
        lane[here] = nested_lanes(joined["begin_ns"][here], joined["end_ns"][here])
    return HostSlices(lane=lane, **joined)


def nested_lanes(begin_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Lanes on which slices are apart or within each other.

    Slices are ordered by their begin, those that enclose before those within.
    """
    lane = np.zeros(len(begin_ns), np.int64)
    if (begin_ns[1:] >= end_ns[:-1]).all():
        return lane
    open_until: list[list[int]] = []
    for at, (begin, end) in enumerate(zip(begin_ns.tolist(), end_ns.tolist(), strict=True)):
        for stack in open_until:
            while stack and stack[-1] <= begin:
                stack.pop()
        fitting = (one for one, stack in enumerate(open_until) if not stack or end <= stack[-1])
        chosen = next(fitting, len(open_until))
        if chosen == len(open_until):
            open_until.append([])
        open_until[chosen].append(end)
        lane[at] = chosen
    return lane


def depths(begin_ns: Int64s, end_ns: Int64s) -> Int64s:
    """How many slices each one is within, of slices that are apart or within each other.

    Slices are ordered by their begin, those that enclose before those within.
    """
    depth = np.zeros(len(begin_ns), np.int64)
    here = np.arange(len(begin_ns))
    while len(here) > 1:
        until = np.maximum.accumulate(end_ns[here])
        here = here[1:][begin_ns[here[1:]] < until[:-1]]
        depth[here] += 1
    return depth


def device_slices(activity: Activity) -> DeviceSlices:
    """The commands of an activity that are placed."""
    commands = activity.commands
    placed = np.flatnonzero(commands.is_placed)
    placed = placed[np.argsort(commands.start_ns[placed], kind="stable")]
    begin, end, queue = commands.start_ns[placed], commands.end_ns[placed], commands.queue[placed]
    lane = np.zeros(len(placed), np.int64)
    for one in np.unique(queue).tolist():
        here = queue == one
        lane[here] = lanes(begin[here], end[here])
    return DeviceSlices(placed, queue, lane, begin, end)


def memory_levels(trace: Trace, activity: Activity) -> list[MemoryLevel]:
    """How much device memory was live in each process, as its buffers tell."""
    found = trace.columns(
        {
            "process": "process_id",
            "size": "size_bytes",
            "made": "known_host_ns",
            "gone": "released_before_host_ns",
        },
        "v_buffer WHERE parent_buffer_id IS NULL",
    )
    levels = []
    for process in np.unique(found["process"]).tolist():
        here = found["process"] == process
        is_gone = here & (found["gone"] != ABSENT)
        times = np.concatenate([found["made"][here], found["gone"][is_gone]])
        steps = np.concatenate([found["size"][here], -found["size"][is_gone]])
        order = np.argsort(times, kind="stable")
        origin = activity.axis.origin_host_ns.get(process, 0)
        levels.append(
            MemoryLevel(process, times[order] - origin, np.maximum(np.cumsum(steps[order]), 0))
        )
    return levels


def api_name(api: int) -> str:
    """The name of an entry point."""
    try:
        return Api(api).name
    except ValueError:
        return f"entry point {api}"


def command_name(activity: Activity, command: int) -> str:
    """What a command is called: its kernel, or what it did."""
    commands = activity.commands
    kind = int(commands.kind[command])
    name = KINDS[kind] if 0 <= kind < len(KINDS) else "command"
    if name != "kernel":
        return name
    return activity.names.kernels[int(commands.kernel[command])] or name
