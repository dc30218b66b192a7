"""Reading a trace's activity: its tables put on one axis of time."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from cltrace.errors import DamagedTraceError
from cltrace.events.apis import COMMAND_KINDS
from cltrace.events.clocks import CLOCK_METHOD, ClockSegment
from cltrace.events.kinds import FAULT_SHIFT, ClockState, StampFault
from cltrace.timeline.activity import KINDS, Activity, Calls, Commands, Names
from cltrace.timeline.clock_fit.points import NEVER, Bools, Int64s
from cltrace.timeline.clocks import ClockMap, clock_maps
from cltrace.timeline.completions import observed_complete_ns
from cltrace.timeline.grouping import positions
from cltrace.timeline.hosts import Axis, axis_of
from cltrace.timeline.stamps import STAGES
from cltrace.timeline.timekeeping import has_stamps, keep_time
from cltrace.trace.commands import ABSENT, OUT_OF_ORDER, HostCalls, QueueFacts
from cltrace.trace.reader import Trace
from cltrace.trace.rollup import UNUSABLE, durations

_KIND_OF_API: Final = {int(api): KINDS.index(kind.value) for api, kind in COMMAND_KINDS.items()}
_AS_RECORDED: Final = {
    "id": "id",
    "thread": "thread_id",
    "queue": "queue_id",
    "api": "api",
    "launch": "launch_id",
    "site": "site_id",
    "size_bytes": "size_bytes",
    "source_buffer": "source_buffer_id",
    "target_buffer": "target_buffer_id",
    "source_offset_bytes": "source_offset_bytes",
    "target_offset_bytes": "target_offset_bytes",
    "flags": "flags",
}
_FAULTS: Final = int(~StampFault(0)) << FAULT_SHIFT
_HIGHEST_NUMBER: Final = 1 << 24
_HIGHEST_ID: Final = 1 << 40
_NUMBERS: Final = frozenset({"id", "api", "thread_id"})
_ALWAYS_THERE: Final = frozenset({"enter_host_ns", "return_host_ns"})
_LARGEST: Final = 1 << 61
"""No clock, no size is beyond: sums and differences of such numbers are whole."""
_LARGEST_DRIFT: Final = 0.5
_COMMAND_COLUMNS: Final = (
    *("id", "api", "thread_id", "queue_id", "site_id", "launch_id"),
    *("enter_host_ns", "return_host_ns", "complete_host_ns", "execution_status"),
    *(f"{stage}_device_ns" for stage in STAGES),
    *("size_bytes", "source_buffer_id", "target_buffer_id"),
    *("source_offset_bytes", "target_offset_bytes", "flags"),
)
_CALL_COLUMNS: Final = (
    *("id", "api", "thread_id", "queue_id", "site_id", "enter_host_ns", "return_host_ns"),
    *("status", "size_bytes"),
)


def read_commands(trace: Trace) -> tuple[HostCalls, QueueFacts]:
    """The commands and other calls of a trace as they were recorded. Raises: `DamagedTraceError`."""
    raw = _whole(trace, "command", _COMMAND_COLUMNS)
    raw["flags"] = np.where(raw["flags"] == ABSENT, 0, raw["flags"])
    raw_calls = _whole(trace, "api_call", _CALL_COLUMNS)
    _check(raw)
    _check(raw_calls)
    edges = _pairs(trace, "edge", "command_id", "waits_for_command_id", raw["id"], raw["id"])
    waits = _pairs(trace, "wait", "api_call_id", "command_id", raw_calls["id"], raw["id"])
    queues = trace.columns(
        {"queue": "queue_id", "device": "device_id", "properties": "properties"}, "v_queue"
    )
    numbers = queues["queue"].tolist()
    keeps_order = (queues["properties"] & OUT_OF_ORDER == 0).tolist()
    facts = QueueFacts(
        dict(zip(numbers, queues["device"].tolist(), strict=True)),
        dict(zip(numbers, keeps_order, strict=True)),
    )
    return HostCalls(raw, raw_calls, edges, waits, 0), facts


def _whole(trace: Trace, table: str, names: Sequence[str]) -> dict[str, Int64s]:
    """Columns of a long table."""
    parts = list(trace.parts(table, {name: name for name in names}))
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in names}


def _check(columns: Mapping[str, Int64s]) -> None:
    """See that rows are such as arithmetic can rely on. Raises: `DamagedTraceError`."""
    for name, column in columns.items():
        is_absent = column == ABSENT
        if name in _NUMBERS:
            is_wrong = (column < 0) | (column > _HIGHEST_ID)
        elif name in _ALWAYS_THERE:
            is_wrong = is_absent | _is_beyond(column)
        elif name.endswith("_device_ns"):
            continue  # what drivers say may be anything: stamps are judged one by one
        else:
            is_wrong = ~is_absent & _is_beyond(column)
        if is_wrong.any():
            raise DamagedTraceError(f"the trace is damaged: {name} of a call cannot be as it is")


def _is_beyond(column: Int64s) -> Bools:
    """Which numbers are larger than any that cltrace writes."""
    beyond: Bools = (column > _LARGEST) | (column < -_LARGEST)
    return beyond


def read_activity(trace: Trace) -> Activity:
    """The activity in a trace. Raises: `DamagedTraceError`."""
    trace.check_tables("launch", "launch_arg", "region", "content")
    found, facts = read_commands(trace)
    raw = found.commands
    clocks, raw["flags"] = _clocks(trace, found, facts)
    axis = axis_of(trace)
    process_of = _leading(trace, "v_thread", "thread_id", "process_id")
    kernels, kernel_of_launch = _kernels(trace)
    return Activity(
        _commands(kernel_of_launch, found, facts, process_of, axis, clocks),
        _calls(found.calls, process_of, axis),
        found.edges,
        found.waits,
        frozenset(queue for queue, keeps in facts.keeps_order.items() if keeps),
        _names(trace, kernels),
        axis,
        clocks,
    )


def stored_segments(trace: Trace) -> tuple[ClockSegment, ...]:
    """The clock segments that a trace has; none if they are not of this method."""
    rows = trace.rows(
        "SELECT device_id, state, is_straight, from_enter_host_ns, to_enter_host_ns, from_device_ns, "
        "to_device_ns, anchor_device_ns, anchor_host_ns, drift, drift_within, half_width_ns, bound_ns, "
        "observations, rejected, reason, quantum_ns, method, input_hash FROM v_clock_segment"
    )
    known = {state.value: state for state in ClockState}
    segments = tuple(
        ClockSegment(row[0], known.get(str(row[1]), ClockState.UNALIGNED), bool(row[2]), *row[3:])
        for row in rows
    )
    is_ours = all(
        one.method == CLOCK_METHOD
        and abs(one.drift) <= _LARGEST_DRIFT
        and min(one.bound_ns, one.half_width_ns, one.observations, one.rejected) >= 0
        for one in segments
    )
    return segments if is_ours else ()


def _clocks(
    trace: Trace, found: HostCalls, queues: QueueFacts
) -> tuple[dict[int, ClockMap], Int64s]:
    """The clocks of all devices, and the commands' flags with the faults of their stamps."""
    flags = found.commands["flags"]
    segments = stored_segments(trace)
    stamped = np.unique(found.commands["queue_id"][has_stamps(found.commands)]).tolist()
    devices = {queues.device_ids.get(queue, 0) for queue in stamped}
    # A trace of an older schema, or one that such a trace was merged into, lacks some.
    if not {device for device in devices if device > 0} <= {one.device_id for one in segments}:
        kept = keep_time(found, queues)
        segments, flags = kept.segments, flags & ~_FAULTS | (kept.faults << FAULT_SHIFT)
    return clock_maps(segments), flags


def _pairs(
    trace: Trace, table: str, first: str, second: str, first_ids: Int64s, second_ids: Int64s
) -> Int64s:
    """A table of two numbers, as pairs of positions among those; pairs that lead nowhere are left out."""
    columns = trace.columns({"first": first, "second": second}, table)
    places = [
        positions(columns[name], ids)
        for name, ids in (("first", first_ids), ("second", second_ids))
    ]
    pairs = np.stack(places, axis=1)
    return pairs[(pairs >= 0).all(axis=1)]


def _leading(trace: Trace, view: str, key: str, value: str) -> dict[int, int]:
    columns = trace.columns({"key": key, "value": value}, view)
    return dict(zip(columns["key"].tolist(), columns["value"].tolist(), strict=True))


def _led(table: Mapping[int, int], numbers: Int64s) -> Int64s:
    """Where `table` leads from each number; `ABSENT` for one that it does not have."""
    highest = max(table, default=0)
    if highest > _HIGHEST_NUMBER:
        raise DamagedTraceError(f"the trace is damaged: something has the number {highest}")
    dense = np.full(highest + 2, ABSENT)
    for number, target in table.items():
        dense[max(number, 0)] = target
    return dense[np.where((numbers > 0) & (numbers <= highest), numbers, highest + 1)]


def _commands(
    kernel_of_launch: Mapping[int, int],
    found: HostCalls,
    queues: QueueFacts,
    process_of: Mapping[int, int],
    axis: Axis,
    clocks: Mapping[int, ClockMap],
) -> Commands:
    raw = found.commands
    keeps_order = np.isin(
        raw["queue_id"], [one for one, keeps in queues.keeps_order.items() if keeps]
    )
    known_ns = observed_complete_ns(raw, found.calls, found.waits, keeps_order)
    process, origin = _origins(raw, process_of, axis)
    device = _led(queues.device_ids, raw["queue_id"])
    times = durations(raw)
    placed = _placed(raw, device, clocks)
    queued, submit, start, end = (
        np.where(column == ABSENT, ABSENT, column - origin) for column in placed
    )
    bound, proven = _bounds(raw, device, clocks)
    return Commands(
        process=process,
        device=device,
        kind=_led(_KIND_OF_API, raw["api"]),
        kernel=np.maximum(_led(kernel_of_launch, raw["launch_id"]), 0),
        enter_ns=raw["enter_host_ns"] - origin,
        return_ns=raw["return_host_ns"] - origin,
        queued_ns=queued,
        submit_ns=submit,
        start_ns=start,
        end_ns=end,
        bound_ns=bound,
        is_proven=proven,
        duration_ns=np.where(times.is_timed, times.duration_ns, ABSENT),
        known_ns=np.where(known_ns == NEVER, NEVER, known_ns - origin),
        **{field: raw[column] for field, column in _AS_RECORDED.items()},
    )


def _placed(
    raw: Mapping[str, Int64s], device: Int64s, clocks: Mapping[int, ClockMap]
) -> list[Int64s]:
    """QUEUED, SUBMIT, START and END on the host's clock; `ABSENT` where that is not known.

    Without stamps, a command that was seen to complete ran some time between its call and then.
    """
    count = len(raw["id"])
    is_usable = raw["flags"] & UNUSABLE == 0
    found = []
    for stage in STAGES:
        stamps = raw[f"{stage}_device_ns"]
        column = np.full(count, ABSENT)
        for number, clock in clocks.items():
            here = np.flatnonzero((device == number) & is_usable & (stamps != ABSENT))
            host = clock.host_ns(stamps[here], raw["enter_host_ns"][here])
            column[here] = np.where(host == NEVER, ABSENT, host)
        found.append(column)
    complete = raw["complete_host_ns"]
    is_seen = (found[3] == ABSENT) & (complete != ABSENT) & (complete >= raw["enter_host_ns"])
    for column in found[:3]:
        column[is_seen] = raw["enter_host_ns"][is_seen]
    found[3][is_seen] = complete[is_seen]
    if any(_is_beyond(column[column != ABSENT]).any() for column in found):
        raise DamagedTraceError("the trace is damaged: a clock leads nowhere")
    return found


def _bounds(
    raw: Mapping[str, Int64s], device: Int64s, clocks: Mapping[int, ClockMap]
) -> tuple[Int64s, Int64s]:
    """How far off START and END may be, and whether that is proven."""
    bound, proven = np.full(len(device), ABSENT), np.zeros(len(device), np.int64)
    is_usable = raw["flags"] & UNUSABLE == 0
    for number, clock in clocks.items():
        here = np.flatnonzero((device == number) & is_usable & (raw["end_device_ns"] != ABSENT))
        enter = raw["enter_host_ns"][here]
        ends = [raw[f"{stage}_device_ns"][here] for stage in ("start", "end")]
        widest = np.maximum(*(clock.bound_ns(stamps, enter) for stamps in ends))
        is_known = np.isfinite(widest)
        bound[here[is_known]] = np.ceil(np.minimum(widest[is_known], _LARGEST)).astype(np.int64)
        proven[here] = np.logical_and(*(clock.is_proven(stamps, enter) for stamps in ends))
    return bound, proven


def _calls(raw: Mapping[str, Int64s], process_of: Mapping[int, int], axis: Axis) -> Calls:
    process, origin = _origins(raw, process_of, axis)
    return Calls(
        raw["id"],
        process,
        raw["thread_id"],
        raw["queue_id"],
        raw["api"],
        raw["site_id"],
        raw["enter_host_ns"] - origin,
        raw["return_host_ns"] - origin,
        raw["status"],
        raw["size_bytes"],
    )


def _origins(
    raw: Mapping[str, Int64s], process_of: Mapping[int, int], axis: Axis
) -> tuple[Int64s, Int64s]:
    """The process of each row, and where the axis begins on its clock."""
    process = _led(process_of, raw["thread_id"])
    origin = _led(axis.origin_host_ns, process)
    return process, np.where(origin == ABSENT, 0, origin)


def _kernels(trace: Trace) -> tuple[tuple[str, ...], dict[int, int]]:
    """The names of kernels, of which the first is none, and the number of each launch's name."""
    numbers: dict[str, int] = {"": 0}
    rows = trace.rows("SELECT launch_id, kernel FROM v_launch ORDER BY launch_id")
    of_launch = {int(one): numbers.setdefault(str(name or ""), len(numbers)) for one, name in rows}
    return tuple(numbers), of_launch


def _names(trace: Trace, kernels: tuple[str, ...]) -> Names:
    def called(sql: str) -> dict[int, str]:
        return {int(number): str(name) for number, name in trace.rows(sql)}

    devices = called("SELECT device_id, name FROM v_device")
    queues = trace.rows("SELECT queue_id FROM v_queue")
    return Names(
        kernels,
        called("SELECT site_id, file || ':' || line FROM v_site"),
        {int(one): f"queue {one}" for (one,) in queues},
        devices,
        called("SELECT thread_id, coalesce(nullif(name, ''), 'thread') FROM v_thread"),
        called("SELECT process_id, coalesce('rank ' || rank, 'process ' || pid) FROM v_process"),
    )
