"""The commands and host calls of one process, put together from its row tables.

A launch is spread over a row of its own, the circumstance that the row names, the stamps that came
later, and perhaps a wait list and a completion. Here they become columns, one row a command.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import SpoolError
from cltrace.events.apis import COMMAND_KINDS, Api
from cltrace.events.kinds import CallFlag
from cltrace.events.records import Launch, Queue
from cltrace.events.tables import (
    CALLS,
    CIRCUMSTANCES,
    COMPLETIONS,
    EDGES,
    LAUNCHES,
    STAMPS,
)
from cltrace.spool.reader import ProcessSpool

Int64s = NDArray[np.int64]

ABSENT: Final = np.int64(-(2**63))
"""What stands for no value in a column; it becomes NULL."""

FIRST_LAUNCH: Final = 1 << 16
"""Set in `flags` of the first launch of a kernel with a work-group size on a device: drivers may
compile only then."""

OUT_OF_ORDER: Final = 1
"""`CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE`."""

_MOST_MISSING: Final = 1 << 20
"""How many numbers may be missing where a spool was cut short."""

_STAMP_COLUMNS: Final = (
    "queued_device_ns",
    "submit_device_ns",
    "start_device_ns",
    "end_device_ns",
)


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The commands, the other host calls, and what waits for what, in one process.

    `commands` and `calls` are columns by the name they have in the trace's tables, ordered by when
    the call was entered. Identifiers are the process's own. `edges` are pairs of positions in
    `commands`: the first waits for the second. `waits` are pairs of a position in `calls` and one in
    `commands`. `damaged_rows` is how many calls were left out because no entry point has their number.
    """

    commands: dict[str, Int64s]
    calls: dict[str, Int64s]
    edges: Int64s
    waits: Int64s
    damaged_rows: int


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What the queues of a process are: the device of each, and whether it executes in order."""

    device_ids: dict[int, int]
    keeps_order: dict[int, bool]


def queue_facts(spool: ProcessSpool) -> QueueFacts:
    """The queues of a process."""
    queues = spool.records(Queue)
    return QueueFacts(
        {queue.id: queue.device_id for queue in queues},
        {queue.id: not queue.properties & OUT_OF_ORDER for queue in queues},
    )


def assemble(spool: ProcessSpool) -> HostCalls:
    """The host calls of a process. Rows that name what was never written are kept, with nothing there."""
    launches, calls = spool.rows(LAUNCHES), spool.rows(CALLS)
    is_command = _enqueues(calls)
    columns, order = _merged(spool, launches, calls[is_command])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    _add_stamps(columns, spool.rows(STAMPS), place, len(launches), is_command)
    _add_completions(columns, spool.rows(COMPLETIONS))
    columns["queue_id"] = _queue_ids(columns, spool.records(Queue))
    columns["flags"] |= np.where(_first_launches(columns, spool), FIRST_LAUNCH, 0)
    is_known = np.isin(calls[:, CALLS.index("api")], [int(api) for api in Api])
    others = _call_columns(calls[~is_command & is_known], spool)
    edges, waits = _joined(spool.rows(EDGES), columns, others)
    for column in ("queue_handle", "event_handle", "mark"):
        del columns[column]
    del others["mark"], others["queue_handle"]
    return HostCalls(columns, others, edges, waits, int((~is_known).sum()))


def _enqueues(calls: Int64s) -> NDArray[np.bool_]:
    """Which calls made a command: they enqueue, and succeeded."""
    enqueues = np.isin(calls[:, CALLS.index("api")], [int(api) for api in COMMAND_KINDS])
    succeeded: NDArray[np.bool_] = calls[:, CALLS.index("status")] == 0
    return enqueues & succeeded


def _merged(
    spool: ProcessSpool, launches: Int64s, calls: Int64s
) -> tuple[dict[str, Int64s], Int64s]:
    """All commands as columns ordered by entry, and which of (launches, calls) each one was."""
    circumstance = _circumstances(spool, launches[:, LAUNCHES.index("circumstance_id")])
    zero, unknown = np.zeros(len(launches), np.int64), np.full(len(launches), ABSENT)
    is_launch = calls[:, CALLS.index("api")] == Api.clEnqueueNDRangeKernel
    has_launch = is_launch | (calls[:, CALLS.index("flags")] & int(CallFlag.EMPTY_RANGE) != 0)
    subject = calls[:, CALLS.index("subject_id")]
    pairs = {
        "enter_host_ns": (launches[:, 0], _column(calls, "enter_host_ns")),
        "return_host_ns": (launches[:, 1], _column(calls, "return_host_ns")),
        "api": (zero + int(Api.clEnqueueNDRangeKernel), _column(calls, "api")),
        "thread_id": (circumstance["thread_id"], _column(calls, "thread_id")),
        "site_id": (circumstance["site_id"], _column(calls, "site_id")),
        "launch_id": (circumstance["launch_id"], np.where(has_launch, subject, 0)),
        "queue_handle": (circumstance["queue_handle"], _column(calls, "queue_handle")),
        "event_handle": (launches[:, LAUNCHES.index("event_handle")], calls[:, -1]),
        "mark": (zero, _column(calls, "mark")),
        "size_bytes": (unknown, _known_sizes(calls)),
        "source_buffer_id": (zero, _column(calls, "source_buffer_id")),
        "target_buffer_id": (zero, _column(calls, "target_buffer_id")),
        "source_offset_bytes": (unknown, _offsets(calls, "source")),
        "target_offset_bytes": (unknown, _offsets(calls, "target")),
        "flags": (zero, _column(calls, "flags")),
    }
    enter = np.concatenate(pairs["enter_host_ns"])
    order = np.argsort(enter, kind="stable")
    return {name: np.concatenate(pair)[order] for name, pair in pairs.items()}, order


def _column(calls: Int64s, name: str) -> Int64s:
    return calls[:, CALLS.index(name)]


def _known_sizes(calls: Int64s) -> Int64s:
    sizes = _column(calls, "size_bytes")
    return np.where(sizes < 0, ABSENT, sizes)


def _offsets(calls: Int64s, side: str) -> Int64s:
    """Offsets, where there is a memory object that they are in."""
    has_buffer = _column(calls, f"{side}_buffer_id") > 0
    return np.where(has_buffer, _column(calls, f"{side}_offset_bytes"), ABSENT)


def _circumstances(spool: ProcessSpool, numbers: Int64s) -> dict[str, Int64s]:
    """What each circumstance in `numbers` was; zeros for one that was never written."""
    rows = spool.rows(CIRCUMSTANCES)
    highest = _highest(rows[:, 0], len(rows), "circumstances")
    table = np.zeros((highest + 1, CIRCUMSTANCES.width), np.int64)
    table[rows[:, 0]] = rows
    found = table[np.where((numbers > 0) & (numbers <= highest), numbers, 0)]
    return {name: found[:, index] for index, name in enumerate(CIRCUMSTANCES.columns)}


def _highest(numbers: Int64s, count: int, what: str) -> int:
    """The highest of numbers that a process gave one by one. Raises: `SpoolError` for wild ones."""
    lowest, highest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if lowest < 0 or highest > count + _MOST_MISSING:
        raise SpoolError(f"the spool is damaged: {count} {what} are numbered up to {highest}")
    return highest


def _add_stamps(
    columns: dict[str, Int64s],
    stamps: Int64s,
    place: Int64s,
    launch_count: int,
    is_command: NDArray[np.bool_],
) -> None:
    """Put the device's stamps where the commands are that they belong to."""
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
    target = place[source]
    for index, name in enumerate((*_STAMP_COLUMNS, "execution_status"), start=1):
        columns[name][target] = stamps[:, index]


def _add_completions(columns: dict[str, Int64s], completions: Int64s) -> None:
    columns["complete_host_ns"] = np.full(len(columns["api"]), ABSENT)
    if len(completions):
        position = _positions_of_marks(columns["mark"], completions[:, 0])
        found = position >= 0
        columns["complete_host_ns"][position[found]] = completions[found, 1]


def _positions_of_marks(marks: Int64s, wanted: Int64s) -> Int64s:
    """Where each of `wanted` stands among `marks`; -1 where it does not. Mark 0 is none."""
    marked = np.flatnonzero(marks)
    if not len(marked):
        return np.full(len(wanted), -1, np.int64)
    marked = marked[np.argsort(marks[marked], kind="stable")]
    at = np.minimum(np.searchsorted(marks[marked], wanted), len(marked) - 1)
    return np.where(marks[marked[at]] == wanted, marked[at], -1)


def _queue_ids(columns: dict[str, Int64s], queues: list[Queue]) -> Int64s:
    """Which queue each handle meant when the call was entered: the latest known one with it."""
    handles, enter = columns["queue_handle"], columns["enter_host_ns"]
    found = np.zeros(len(handles), np.int64)
    by_handle: dict[int, list[Queue]] = {}
    for queue in queues:
        by_handle.setdefault(queue.handle, []).append(queue)
    for handle, meanings in by_handle.items():
        here = np.flatnonzero(handles == handle) if len(by_handle) > 1 else slice(None)
        meanings.sort(key=lambda queue: queue.known_host_ns)
        known_ns = np.array([queue.known_host_ns for queue in meanings])
        ids = np.array([queue.id for queue in meanings])
        latest = np.searchsorted(known_ns, enter[here], side="right") - 1
        found[here] = np.where(handles[here] == handle, ids[np.maximum(latest, 0)], found[here])
    return found


def _first_launches(columns: dict[str, Int64s], spool: ProcessSpool) -> NDArray[np.bool_]:
    """Which launches are the first of their kernel with their work-group size on their device."""
    variants: dict[tuple[int, tuple[int, ...]], int] = {}
    launches = spool.records(Launch)
    highest = _highest(np.array([one.id for one in launches], np.int64), len(launches), "launches")
    variant_of = np.full(highest + 1, -1, np.int64)
    for launch in launches:
        key = (launch.kernel_id, launch.local_size)
        variant_of[launch.id] = variants.setdefault(key, len(variants))
    queues = spool.records(Queue)
    device_of = np.zeros(max((queue.id for queue in queues), default=0) + 1, np.int64)
    for queue in queues:
        device_of[queue.id] = queue.device_id
    is_kernel = columns["api"] == int(Api.clEnqueueNDRangeKernel)
    launch_id = columns["launch_id"]
    variant = variant_of[np.where((launch_id > 0) & (launch_id <= highest), launch_id, 0)]
    group = variant * (device_of.max(initial=0) + 1) + device_of[columns["queue_id"]]
    candidates = np.flatnonzero(is_kernel & (variant >= 0))
    first = np.zeros(len(variant), np.bool_)
    _, index = np.unique(group[candidates], return_index=True)
    first[candidates[index]] = True
    return first


def _call_columns(calls: Int64s, spool: ProcessSpool) -> dict[str, Int64s]:
    """The host calls that made no command, as columns ordered by entry."""
    calls = calls[np.argsort(calls[:, 0], kind="stable")]
    names = (
        *("api", "thread_id", "site_id", "enter_host_ns", "return_host_ns"),
        *("status", "mark", "queue_handle"),
    )
    columns = {name: _column(calls, name).copy() for name in names}
    columns["size_bytes"] = _known_sizes(calls)
    columns["queue_id"] = _queue_ids(columns, spool.records(Queue))
    return columns


def _joined(
    edges: Int64s, commands: dict[str, Int64s], calls: dict[str, Int64s]
) -> tuple[Int64s, Int64s]:
    """Who waits for what: pairs of commands, and pairs of a call and a command."""
    if not len(edges):
        return np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)
    by_command = _positions_of_marks(commands["mark"], edges[:, 0])
    by_call = _positions_of_marks(calls["mark"], edges[:, 0])
    until = np.full(len(edges), np.iinfo(np.int64).max)
    for position, columns in ((by_command, commands), (by_call, calls)):
        found = position >= 0
        until[found] = columns["enter_host_ns"][position[found]]
    awaited = _latest_with_handle(commands, edges[:, 1], until)
    pairs = []
    for position in (by_command, by_call):
        both = (position >= 0) & (awaited >= 0)
        pairs.append(np.stack([position[both], awaited[both]], axis=1))
    return pairs[0], pairs[1]


def _latest_with_handle(commands: dict[str, Int64s], handles: Int64s, until_ns: Int64s) -> Int64s:
    """For each handle the last command whose event had it, entered before `until_ns`; -1 for none.

    A driver uses the handle of an event again once nobody holds the event.
    """
    known, dense = np.unique(commands["event_handle"], return_inverse=True)
    if not len(known):
        return np.full(len(handles), -1, np.int64)
    at = np.minimum(np.searchsorted(known, handles), len(known) - 1)
    exists = (known[at] == handles) & (handles != 0)
    # Commands are ordered by entry: a position among them is a time.
    before = np.searchsorted(commands["enter_host_ns"], until_ns, side="left")
    span = len(dense) + 1
    keys = dense * span + np.arange(len(dense))
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys[order], at * span + before) - 1
    candidate = order[np.maximum(found, 0)]
    is_same = exists & (found >= 0) & (dense[candidate] == at)
    return np.where(is_same, candidate, -1)
