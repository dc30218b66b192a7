"""Reader of a trace's activity: its tables on one axis of time."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final

import numpy as np

from cltrace.errors import DamagedTraceError
from cltrace.events.apis import COMMAND_KINDS
from cltrace.events.clocks import CLOCK_METHOD, ClockSegment
from cltrace.events.kinds import FAULT_SHIFT, ClockState, StampFault
from cltrace.timeline.activity import KINDS, Activity, Calls, Commands, Names
from cltrace.timeline.clock_map import ClockMap, clock_maps
from cltrace.timeline.columns import NEVER, Bools, Int64s
from cltrace.timeline.completions import observe_completions
from cltrace.timeline.grouping import find_positions
from cltrace.timeline.hosts import Axis, read_axis, read_child_starts
from cltrace.timeline.stamps import STAGES, has_stamps
from cltrace.timeline.timekeeping import fit_device_clocks
from cltrace.trace.commands import ABSENT, OUT_OF_ORDER, HostCalls, QueueFacts
from cltrace.trace.device_labels import device_labels
from cltrace.trace.reader import Trace
from cltrace.trace.rollup import UNUSABLE_FLAGS, command_times

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
_MAX_NUMBER: Final = 1 << 24
_MAX_ID: Final = 1 << 40
_ID_COLUMNS: Final = frozenset({"id", "api", "thread_id"})
_REQUIRED_COLUMNS: Final = frozenset({"enter_host_ns", "return_host_ns"})
_MAX_VALUE: Final = 1 << 61
"""Limit of clocks and sizes: sums and differences of values within it do not overflow."""
_MAX_DRIFT: Final = 0.5
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
    """Return the commands and other calls of a trace as recorded. Raises: `DamagedTraceError`."""
    raw = _read_columns(trace, "command", _COMMAND_COLUMNS)
    raw["flags"] = np.where(raw["flags"] == ABSENT, 0, raw["flags"])
    raw_calls = _read_columns(trace, "api_call", _CALL_COLUMNS)
    _check(raw)
    _check(raw_calls)
    edges = _read_pairs(trace, "edge", "command_id", "waits_for_command_id", raw["id"], raw["id"])
    waits = _read_pairs(trace, "wait", "api_call_id", "command_id", raw_calls["id"], raw["id"])
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


def _read_columns(trace: Trace, table: str, names: Sequence[str]) -> dict[str, Int64s]:
    """Return columns of a long table."""
    parts = list(trace.column_parts(table, {name: name for name in names}))
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in names}


def _check(columns: Mapping[str, Int64s]) -> None:
    """Check that columns are within the limits of later arithmetic. Raises: `DamagedTraceError`."""
    for name, column in columns.items():
        is_absent = column == ABSENT
        if name in _ID_COLUMNS:
            is_wrong = (column < 0) | (column > _MAX_ID)
        elif name in _REQUIRED_COLUMNS:
            is_wrong = is_absent | _is_beyond(column)
        elif name.endswith("_device_ns"):
            continue  # drivers report any value: each stamp is checked on its own
        else:
            is_wrong = ~is_absent & _is_beyond(column)
        if is_wrong.any():
            raise DamagedTraceError(f"the trace is damaged: a call has an impossible {name}")


def _is_beyond(column: Int64s) -> Bools:
    """Return a mask of the numbers that are larger than any that cltrace writes."""
    beyond: Bools = (column > _MAX_VALUE) | (column < -_MAX_VALUE)
    return beyond


def read_activity(trace: Trace) -> Activity:
    """Return the activity of a trace. Raises: `DamagedTraceError`."""
    trace.check_tables("launch", "launch_arg", "region", "content")
    host_calls, queues = read_commands(trace)
    raw = host_calls.commands
    clocks, raw["flags"] = _read_clocks(trace, host_calls, queues)
    axis = read_axis(trace)
    process_of = _read_map(trace, "v_thread", "thread_id", "process_id")
    kernels, kernel_of_launch = _read_kernels(trace)
    return Activity(
        commands=_make_commands(kernel_of_launch, host_calls, queues, process_of, axis, clocks),
        calls=_make_calls(host_calls.calls, process_of, axis),
        edges=host_calls.edges,
        waits=host_calls.waits,
        in_order=frozenset(queue for queue, keeps in queues.keeps_order.items() if keeps),
        names=_read_names(trace, kernels),
        axis=axis,
        clocks=clocks,
        children=read_child_starts(trace, axis),
    )


def stored_segments(trace: Trace) -> tuple[ClockSegment, ...]:
    """Return the clock segments of a trace; none if another version of the method fitted them."""
    columns = [field.name for field in fields(ClockSegment)]
    rows = trace.rows(f"SELECT {', '.join(columns)} FROM v_clock_segment")
    states = {state.value: state for state in ClockState}
    segments = tuple(
        ClockSegment(
            **{
                **dict(zip(columns, row, strict=True)),
                "state": states.get(str(row[1]), ClockState.UNALIGNED),
                "is_straight": bool(row[2]),
            }
        )
        for row in rows
    )
    is_ours = all(
        segment.method == CLOCK_METHOD
        and abs(segment.drift) <= _MAX_DRIFT
        and min(segment.bound_ns, segment.half_width_ns, segment.observations, segment.rejected)
        >= 0
        for segment in segments
    )
    return segments if is_ours else ()


def _read_clocks(
    trace: Trace, host_calls: HostCalls, queues: QueueFacts
) -> tuple[dict[int, ClockMap], Int64s]:
    """Return the clocks of all devices, and the commands' flags with the faults of their stamps."""
    commands = host_calls.commands
    flags = commands["flags"]
    segments = stored_segments(trace)
    stamped = np.unique(commands["queue_id"][has_stamps(commands)]).tolist()
    devices = {queues.device_ids.get(queue, 0) for queue in stamped}
    # A trace of an older schema lacks segments, and so does one into which such a trace was merged.
    fitted = {segment.device_id for segment in segments}
    if not {device for device in devices if device > 0} <= fitted:
        kept = fit_device_clocks(host_calls, queues)
        segments, flags = kept.segments, flags & ~_FAULTS | (kept.faults << FAULT_SHIFT)
    return clock_maps(segments), flags


def _read_pairs(
    trace: Trace, table: str, first: str, second: str, first_ids: Int64s, second_ids: Int64s
) -> Int64s:
    """Return a table of two ids as pairs of positions in `first_ids` and `second_ids`.

    A pair with an id that is not there is left out.
    """
    columns = trace.columns({"first": first, "second": second}, table)
    places = [
        find_positions(columns[name], ids)
        for name, ids in (("first", first_ids), ("second", second_ids))
    ]
    pairs = np.stack(places, axis=1)
    return pairs[(pairs >= 0).all(axis=1)]


def _read_map(trace: Trace, view: str, key: str, value: str) -> dict[int, int]:
    columns = trace.columns({"key": key, "value": value}, view)
    return dict(zip(columns["key"].tolist(), columns["value"].tolist(), strict=True))


def _look_up(table: Mapping[int, int], numbers: Int64s) -> Int64s:
    """Return the value of each number in `table`; `ABSENT` for a number that is not a key."""
    highest = max(table, default=0)
    if highest > _MAX_NUMBER:
        raise DamagedTraceError(f"the trace is damaged: the number {highest} is too large")
    dense = np.full(highest + 2, ABSENT)
    for number, target in table.items():
        dense[max(number, 0)] = target
    return dense[np.where((numbers > 0) & (numbers <= highest), numbers, highest + 1)]


def _make_commands(
    kernel_of_launch: Mapping[int, int],
    host_calls: HostCalls,
    queues: QueueFacts,
    process_of: Mapping[int, int],
    axis: Axis,
    clocks: Mapping[int, ClockMap],
) -> Commands:
    raw = host_calls.commands
    in_order = [queue for queue, keeps in queues.keeps_order.items() if keeps]
    keeps_order = np.isin(raw["queue_id"], in_order)
    complete_ns = observe_completions(raw, host_calls.calls, host_calls.waits, keeps_order)
    process, origin = _origins(raw, process_of, axis)
    device = _look_up(queues.device_ids, raw["queue_id"])
    times = command_times(raw)
    host_stamps = _place_stamps(raw, device, clocks)
    queued, submit, start, end = (
        np.where(column == ABSENT, ABSENT, column - origin) for column in host_stamps
    )
    bound, proven = _bounds(raw, device, clocks)
    return Commands(
        process=process,
        device=device,
        kind=_look_up(_KIND_OF_API, raw["api"]),
        kernel=np.maximum(_look_up(kernel_of_launch, raw["launch_id"]), 0),
        enter_ns=raw["enter_host_ns"] - origin,
        return_ns=raw["return_host_ns"] - origin,
        queued_ns=queued,
        submit_ns=submit,
        start_ns=start,
        end_ns=end,
        bound_ns=bound,
        is_proven=proven,
        duration_ns=np.where(times.is_timed, times.duration_ns, ABSENT),
        observed_complete_ns=np.where(complete_ns == NEVER, NEVER, complete_ns - origin),
        **{field: raw[column] for field, column in _AS_RECORDED.items()},
    )


def _place_stamps(
    raw: Mapping[str, Int64s], device: Int64s, clocks: Mapping[int, ClockMap]
) -> list[Int64s]:
    """Return QUEUED, SUBMIT, START and END on the host's clock; `ABSENT` where they cannot be placed.

    A command without stamps that was observed to complete ran between its call and its completion.
    """
    count = len(raw["id"])
    is_usable = raw["flags"] & UNUSABLE_FLAGS == 0
    host_stamps = []
    for stage in STAGES:
        stamps = raw[f"{stage}_device_ns"]
        column = np.full(count, ABSENT)
        for number, clock in clocks.items():
            members = np.flatnonzero((device == number) & is_usable & (stamps != ABSENT))
            host = clock.host_ns(stamps[members], raw["enter_host_ns"][members])
            column[members] = np.where(host == NEVER, ABSENT, host)
        host_stamps.append(column)
    complete = raw["complete_host_ns"]
    is_observed = (
        (host_stamps[3] == ABSENT) & (complete != ABSENT) & (complete >= raw["enter_host_ns"])
    )
    for column in host_stamps[:3]:
        column[is_observed] = raw["enter_host_ns"][is_observed]
    host_stamps[3][is_observed] = complete[is_observed]
    if any(_is_beyond(column[column != ABSENT]).any() for column in host_stamps):
        raise DamagedTraceError("the trace is damaged: a clock leads to impossible times")
    return host_stamps


def _bounds(
    raw: Mapping[str, Int64s], device: Int64s, clocks: Mapping[int, ClockMap]
) -> tuple[Int64s, Int64s]:
    """Return the largest error of START and END, and 1 where it is proven."""
    bound, proven = np.full(len(device), ABSENT), np.zeros(len(device), np.int64)
    is_usable = raw["flags"] & UNUSABLE_FLAGS == 0
    for number, clock in clocks.items():
        is_member = (device == number) & is_usable & (raw["end_device_ns"] != ABSENT)
        members = np.flatnonzero(is_member)
        enter = raw["enter_host_ns"][members]
        ends = [raw[f"{stage}_device_ns"][members] for stage in ("start", "end")]
        widest = np.maximum(*(clock.bound_ns(stamps, enter) for stamps in ends))
        is_finite = np.isfinite(widest)
        finite_ns = np.ceil(np.minimum(widest[is_finite], _MAX_VALUE))
        bound[members[is_finite]] = finite_ns.astype(np.int64)
        proven[members] = np.logical_and(*(clock.is_proven(stamps, enter) for stamps in ends))
    return bound, proven


def _make_calls(raw: Mapping[str, Int64s], process_of: Mapping[int, int], axis: Axis) -> Calls:
    process, origin = _origins(raw, process_of, axis)
    return Calls(
        id=raw["id"],
        process=process,
        thread=raw["thread_id"],
        queue=raw["queue_id"],
        api=raw["api"],
        site=raw["site_id"],
        enter_ns=raw["enter_host_ns"] - origin,
        return_ns=raw["return_host_ns"] - origin,
        status=raw["status"],
        size_bytes=raw["size_bytes"],
    )


def _origins(
    raw: Mapping[str, Int64s], process_of: Mapping[int, int], axis: Axis
) -> tuple[Int64s, Int64s]:
    """Return the process of each row, and the axis's origin on the clock of that process."""
    process = _look_up(process_of, raw["thread_id"])
    origin = _look_up(axis.origin_host_ns, process)
    return process, np.where(origin == ABSENT, 0, origin)


def _read_kernels(trace: Trace) -> tuple[tuple[str, ...], dict[int, int]]:
    """Return the names of kernels, the first of which is empty, and each launch's position in them."""
    numbers: dict[str, int] = {"": 0}
    rows = trace.rows("SELECT launch_id, kernel FROM v_launch ORDER BY launch_id")
    of_launch = {
        int(launch): numbers.setdefault(str(name or ""), len(numbers)) for launch, name in rows
    }
    return tuple(numbers), of_launch


def _read_names(trace: Trace, kernels: tuple[str, ...]) -> Names:
    def read(sql: str) -> dict[int, str]:
        return {int(number): str(name) for number, name in trace.rows(sql)}

    queues = trace.rows("SELECT queue_id FROM v_queue")
    return Names(
        kernels,
        read("SELECT site_id, file || ':' || line FROM v_site"),
        {int(queue): f"queue {queue}" for (queue,) in queues},
        device_labels(trace),
        read("SELECT thread_id, coalesce(nullif(name, ''), 'thread') FROM v_thread"),
        read("SELECT process_id, coalesce('rank ' || rank, 'process ' || pid) FROM v_process"),
    )
