"""Commands and host calls of a process, assembled from its row tables.

The facts about a launch are in several tables: its own row, the circumstance that the row refers to, the
stamps, which came later, and possibly a wait list and a completion. Here they become columns with one row
per command.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.kinds import CallFlag
from cltrace.events.records import Queue
from cltrace.events.tables import (
    CALLS,
    CIRCUMSTANCES,
    COMPLETIONS,
    EDGES,
    LAUNCHES,
    STAMPS,
)
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.handles import MemoryHandles
from cltrace.trace.launches import LaunchConfigurations

Int64s = NDArray[np.int64]

ABSENT: Final = np.int64(-(2**63))
"""Placeholder for a missing value in a column. It becomes NULL in a trace."""

FIRST_LAUNCH: Final = 1 << 16
"""Bit in `flags` of the first launch of a kernel with a work-group size on a device, because drivers may
compile the kernel only then."""

OUT_OF_ORDER: Final = 1
"""`CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE`."""

_STAMP_COLUMNS: Final = (
    "queued_device_ns",
    "submit_device_ns",
    "start_device_ns",
    "end_device_ns",
)


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The commands, the other host calls and the dependencies of a process.

    `commands` and `calls` are columns by their name in the trace's tables, in the order in which the
    calls were entered. Ids are the process's own. `edges` are pairs of positions in `commands`: the first
    command waits for the second. `waits` are pairs of a position in `calls` and a position in `commands`:
    the call waits for the command. `damaged_rows` counts the calls that were left out because their entry
    point is unknown.
    """

    commands: dict[str, Int64s]
    calls: dict[str, Int64s]
    edges: Int64s
    waits: Int64s
    damaged_rows: int


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Facts about the queues of a process, by id: their devices, and which of them execute in order."""

    device_ids: dict[int, int]
    keeps_order: dict[int, bool]


def queue_facts(spool: ProcessSpool) -> QueueFacts:
    """Return the facts about a process's queues."""
    queues = spool.records(Queue)
    return QueueFacts(
        {queue.id: queue.device_id for queue in queues},
        {queue.id: not queue.properties & OUT_OF_ORDER for queue in queues},
    )


def assemble_host_calls(spool: ProcessSpool) -> tuple[HostCalls, LaunchConfigurations]:
    """Assemble the host calls of a process and the configurations of its launches.

    References to rows that were never written become empty.
    """
    launches, calls = spool.rows(LAUNCHES), spool.rows(CALLS)
    is_command = _enqueued_command(calls)
    handles = MemoryHandles(spool)
    configurations = LaunchConfigurations(spool, handles)
    columns, order = _merge_commands(configurations, launches, calls[is_command], handles)
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    _add_stamps(columns, spool.rows(STAMPS), position, len(launches), is_command)
    _add_completions(columns, spool.rows(COMPLETIONS))
    columns["queue_id"] = _queue_ids(columns, spool.records(Queue))
    columns["flags"] |= np.where(_first_launches(columns, configurations, spool), FIRST_LAUNCH, 0)
    has_known_api = np.isin(calls[:, CALLS.index("api")], [int(api) for api in Api])
    others = _call_columns(calls[~is_command & has_known_api], spool)
    edges, waits = _dependencies(spool.rows(EDGES), columns, others)
    for column in ("queue_handle", "event_handle", "mark"):
        del columns[column]
    del others["mark"], others["queue_handle"]
    damaged = int((~has_known_api).sum())
    return HostCalls(columns, others, edges, waits, damaged), configurations


def _enqueued_command(calls: Int64s) -> NDArray[np.bool_]:
    """Return a mask of the calls that enqueued a command: they enqueue, and they succeeded."""
    enqueues = np.isin(calls[:, CALLS.index("api")], [int(api) for api in COMMAND_KINDS])
    succeeded: NDArray[np.bool_] = calls[:, CALLS.index("status")] == 0
    return enqueues & succeeded


def _merge_commands(
    configurations: LaunchConfigurations, launches: Int64s, calls: Int64s, handles: MemoryHandles
) -> tuple[dict[str, Int64s], Int64s]:
    """Return all commands as columns in order of entry, and each one's row in (launches, calls)."""

    def circumstance(name: str) -> Int64s:
        return configurations.circumstances[:, CIRCUMSTANCES.index(name)]

    def memory(side: str) -> Int64s:
        column = _column(calls, f"{side}_handle")
        return handles.objects(column, _column(calls, "enter_host_ns"))

    zero, unknown = np.zeros(len(launches), np.int64), np.full(len(launches), ABSENT)
    flags = circumstance("flags") & int(CallFlag.EMPTY_RANGE)
    # pyopencl enqueues a marker in place of a launch without work-items.
    api = np.where(flags, int(Api.clEnqueueMarkerWithWaitList), int(Api.clEnqueueNDRangeKernel))
    source_id, target_id = memory("source"), memory("target")
    pairs = {
        "enter_host_ns": (launches[:, 0], _column(calls, "enter_host_ns")),
        "return_host_ns": (launches[:, 1], _column(calls, "return_host_ns")),
        "api": (api, _column(calls, "api")),
        "thread_id": (circumstance("thread_id"), _column(calls, "thread_id")),
        "site_id": (circumstance("site_id"), _column(calls, "site_id")),
        "launch_id": (configurations.ids, np.zeros(len(calls), np.int64)),
        "queue_handle": (circumstance("queue_handle"), _column(calls, "queue_handle")),
        "event_handle": (launches[:, LAUNCHES.index("event_handle")], calls[:, -1]),
        "mark": (launches[:, LAUNCHES.index("mark")], _column(calls, "mark")),
        "size_bytes": (unknown, _sizes(calls)),
        "source_buffer_id": (zero, source_id),
        "target_buffer_id": (zero, target_id),
        "source_offset_bytes": (unknown, _offsets(calls, "source", source_id)),
        "target_offset_bytes": (unknown, _offsets(calls, "target", target_id)),
        "flags": (flags, _column(calls, "flags")),
    }
    enter = np.concatenate(pairs["enter_host_ns"])
    order = np.argsort(enter, kind="stable")
    return {name: np.concatenate(pair)[order] for name, pair in pairs.items()}, order


def _column(calls: Int64s, name: str) -> Int64s:
    return calls[:, CALLS.index(name)]


def _sizes(calls: Int64s) -> Int64s:
    sizes = _column(calls, "size_bytes")
    return np.where(sizes < 0, ABSENT, sizes)


def _offsets(calls: Int64s, side: str, buffer_id: Int64s) -> Int64s:
    """Return the offsets in memory objects; `ABSENT` for calls without a memory object."""
    return np.where(buffer_id > 0, _column(calls, f"{side}_offset_bytes"), ABSENT)


def _add_stamps(
    columns: dict[str, Int64s],
    stamps: Int64s,
    position: Int64s,
    launch_count: int,
    is_command: NDArray[np.bool_],
) -> None:
    """Add the device stamps of each command. `position` maps rows of (launches, calls) to commands."""
    count = len(columns["api"])
    for name in (*_STAMP_COLUMNS, "execution_status"):
        columns[name] = np.full(count, ABSENT)
    if not len(stamps):
        return
    row, is_call = stamps[:, 0] >> 1, (stamps[:, 0] & 1).astype(np.bool_)
    among_commands = np.cumsum(is_command) - 1
    exists = (row >= 0) & np.where(is_call, row < len(is_command), row < launch_count)
    exists[is_call & exists] &= is_command[row[is_call & exists]]
    stamps, row, is_call = stamps[exists], row[exists], is_call[exists]
    source = row.copy()
    source[is_call] = launch_count + among_commands[row[is_call]]
    target = position[source]
    for index, name in enumerate((*_STAMP_COLUMNS, "execution_status"), start=1):
        columns[name][target] = stamps[:, index]


def _add_completions(columns: dict[str, Int64s], completions: Int64s) -> None:
    columns["complete_host_ns"] = np.full(len(columns["api"]), ABSENT)
    if len(completions):
        position = _positions_of_marks(columns["mark"], completions[:, 0])
        exists = position >= 0
        columns["complete_host_ns"][position[exists]] = completions[exists, 1]


def _positions_of_marks(marks: Int64s, wanted: Int64s) -> Int64s:
    """Return the position of each of `wanted` in `marks`; -1 if it is missing. Mark 0 stands for none."""
    marked = np.flatnonzero(marks)
    if not len(marked):
        return np.full(len(wanted), -1, np.int64)
    marked = marked[np.argsort(marks[marked], kind="stable")]
    at = np.minimum(np.searchsorted(marks[marked], wanted), len(marked) - 1)
    return np.where(marks[marked[at]] == wanted, marked[at], -1)


def _queue_ids(columns: dict[str, Int64s], queues: list[Queue]) -> Int64s:
    """Return the queue that each handle denoted when the call was entered."""
    handles, enter = columns["queue_handle"], columns["enter_host_ns"]
    queue_ids = np.zeros(len(handles), np.int64)
    by_handle: dict[int, list[Queue]] = {}
    for queue in queues:
        by_handle.setdefault(queue.handle, []).append(queue)
    for handle, same_handle in by_handle.items():
        here = np.flatnonzero(handles == handle) if len(by_handle) > 1 else slice(None)
        same_handle.sort(key=lambda queue: queue.known_host_ns)
        since_ns = np.array([queue.known_host_ns for queue in same_handle])
        ids = np.array([queue.id for queue in same_handle])
        latest = np.searchsorted(since_ns, enter[here], side="right") - 1
        queue_ids[here] = np.where(
            handles[here] == handle, ids[np.maximum(latest, 0)], queue_ids[here]
        )
    return queue_ids


def _first_launches(
    columns: dict[str, Int64s], configurations: LaunchConfigurations, spool: ProcessSpool
) -> NDArray[np.bool_]:
    """Return a mask of the first launches of a kernel with a work-group size on a device."""
    queues = spool.records(Queue)
    device_of = np.zeros(max((queue.id for queue in queues), default=0) + 1, np.int64)
    for queue in queues:
        device_of[queue.id] = queue.device_id
    candidates = np.flatnonzero(
        (columns["api"] == int(Api.clEnqueueNDRangeKernel)) & (columns["launch_id"] > 0)
    )
    launch_id = columns["launch_id"][candidates]
    variant = np.concatenate(
        [configurations.kernel_ids[1:, None], configurations.work_group_sizes], axis=1
    )
    _, variant_of = np.unique(variant, axis=0, return_inverse=True)
    device = device_of[columns["queue_id"][candidates]]
    group = variant_of.ravel()[launch_id - 1] * (device_of.max(initial=0) + 1) + device
    first = np.zeros(len(columns["api"]), np.bool_)
    _, index = np.unique(group, return_index=True)
    first[candidates[index]] = True
    return first


def _call_columns(calls: Int64s, spool: ProcessSpool) -> dict[str, Int64s]:
    """Return the host calls that enqueued no command, as columns in order of entry."""
    calls = calls[np.argsort(calls[:, 0], kind="stable")]
    names = (
        *("api", "thread_id", "site_id", "enter_host_ns", "return_host_ns"),
        *("status", "mark", "queue_handle"),
    )
    columns = {name: _column(calls, name).copy() for name in names}
    columns["size_bytes"] = _sizes(calls)
    columns["queue_id"] = _queue_ids(columns, spool.records(Queue))
    return columns


def _dependencies(
    edges: Int64s, commands: dict[str, Int64s], calls: dict[str, Int64s]
) -> tuple[Int64s, Int64s]:
    """Return pairs (waiting, awaited) of two commands, and of a call and a command."""
    if not len(edges):
        return np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)
    by_command = _positions_of_marks(commands["mark"], edges[:, 0])
    by_call = _positions_of_marks(calls["mark"], edges[:, 0])
    until = np.full(len(edges), np.iinfo(np.int64).max)
    for position, columns in ((by_command, commands), (by_call, calls)):
        exists = position >= 0
        until[exists] = columns["enter_host_ns"][position[exists]]
    awaited = _latest_with_handle(commands, edges[:, 1], until)
    pairs = []
    for position in (by_command, by_call):
        both = (position >= 0) & (awaited >= 0)
        pairs.append(np.stack([position[both], awaited[both]], axis=1))
    return pairs[0], pairs[1]


def _latest_with_handle(commands: dict[str, Int64s], handles: Int64s, until_ns: Int64s) -> Int64s:
    """Return, per handle, the last command with that event entered before `until_ns`; -1 for none.

    A driver reuses the handle of an event after the event is released.
    """
    unique, dense = np.unique(commands["event_handle"], return_inverse=True)
    if not len(unique):
        return np.full(len(handles), -1, np.int64)
    at = np.minimum(np.searchsorted(unique, handles), len(unique) - 1)
    exists = (unique[at] == handles) & (handles != 0)
    # Commands are in order of entry, so a position among them serves as a time.
    before = np.searchsorted(commands["enter_host_ns"], until_ns, side="left")
    span = len(dense) + 1
    keys = dense * span + np.arange(len(dense))
    order = np.argsort(keys, kind="stable")
    previous = np.searchsorted(keys[order], at * span + before) - 1
    candidate = order[np.maximum(previous, 0)]
    is_same = exists & (previous >= 0) & (dense[candidate] == at)
    return np.where(is_same, candidate, -1)
