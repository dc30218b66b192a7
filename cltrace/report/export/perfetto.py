"""Export to Perfetto's protobuf, in its own model of GPU work.

Device commands are `GpuRenderStageEvent`s on hardware queues, one per row of a queue; a kernel has its
launch, `event_wait_ids` are the commands in its wait list. Host calls are slices of `TrackEvent`s; the
extension `GpuCorrelation` of Perfetto 55 and later names the command that a call submitted and those that
it waited for. Device memory is a counter. Times are the host's, in nanoseconds.
"""

import gzip
import io
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cltrace.errors import MissingExtraError
from cltrace.report.export.gpu_correlation import (
    OPENCL_API_FIELD,
    correlation_field,
    describe_extension,
)
from cltrace.report.export.perfetto_source import (
    NEEDS_STATE,
    InternedData,
    PerfettoInput,
    descriptor_packets,
    memory_uuid,
    new_packet,
    power_uuid,
    thread_uuid,
)
from cltrace.report.export.protobuf import bytes_field, repeated_varint_field, tag, varint
from cltrace.report.tracks.launches import LaunchShapes, read_annotated_shapes
from cltrace.report.tracks.power_levels import power_levels
from cltrace.report.tracks.slices import (
    command_name,
    device_slices,
    host_slices,
    memory_levels,
    viewer_pids,
)
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.activity import Activity
from cltrace.timeline.dependencies import find_host_waits
from cltrace.timeline.reading import read_activity
from cltrace.trace.commands import ABSENT
from cltrace.trace.reader import Trace

_PACKET, _TIMESTAMP, _TRACK_EVENT, _RENDER_STAGE = 1, 8, 11, 53
_EVENT_ID, _DURATION, _WAIT_IDS = 1, 2, 18


def write(trace: Trace, target: Path) -> None:
    """Write a trace to `target`, compressed if its name ends with `.gz`. Raises: `MissingExtraError`."""
    pb = _import_protos()
    open_file = gzip.open if target.suffix == ".gz" else io.open
    with open_file(target, "wb") as file:
        buffer: list[bytes] = []
        for packet in _packets(pb, _read_input(trace)):
            buffer.append(tag(_PACKET, is_bytes=True) + varint(len(packet)) + packet)
            if len(buffer) >= 10_000:
                file.write(b"".join(buffer))
                buffer.clear()
        file.write(b"".join(buffer))


def _import_protos() -> Any:
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("--to perfetto", "perfetto", error) from error
    return perfetto_trace_pb2


def _read_input(trace: Trace) -> PerfettoInput:
    activity = read_activity(trace)
    pids = viewer_pids(trace)
    origins = activity.axis.origin_host_ns
    return PerfettoInput(
        trace=trace,
        activity=activity,
        launches=read_annotated_shapes(trace),
        host=host_slices(activity),
        device=device_slices(activity),
        memory=memory_levels(trace, activity),
        power=power_levels(trace, activity),
        pids=pids,
        base_ns=max(origins[min(origins)], 0) if origins else 0,
    )


def _packets(pb: Any, source: PerfettoInput) -> Iterator[bytes]:
    interned = InternedData(pb, source)
    extension = new_packet(pb)
    describe_extension(extension)
    yield extension.SerializeToString()
    yield interned.packet().SerializeToString()
    for packet in descriptor_packets(pb, source):
        yield packet.SerializeToString()
    yield from _host_packets(pb, source, interned)
    yield from _device_packets(pb, source, interned)
    yield from _memory_packets(pb, source)
    yield from _power_packets(pb, source)


def _host_packets(pb: Any, source: PerfettoInput, interned: InternedData) -> Iterator[bytes]:
    """Yield a begin and an end for each host call, in the order of time."""
    host, commands = source.host, source.activity.commands
    awaited = _waited_for(source.activity)
    head = _event_head(pb)
    ends: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)
    heads: dict[tuple[int, ...], bytes] = {}
    base_ns = source.base_ns
    ids = commands.id.tolist()
    columns = zip(
        *(
            getattr(host, name).tolist()
            for name in (
                *("thread", "row", "begin_ns", "end_ns", "api", "command", "call", "site"),
                *("status", "size_bytes"),
            )
        ),
        strict=True,
    )
    for thread, row, begin, end, api, command, call, site, status, size in columns:
        open_ends = ends[thread, row]
        while open_ends and open_ends[-1][0] <= begin:
            yield open_ends.pop()[1]
        key = (thread, row, api, site, status, size)
        if key not in heads:
            heads[key] = _slice_begin(pb, interned, key)
        waits = awaited.get((command, call), ())
        submitted = [ids[command]] if command >= 0 else []
        event = heads[key] + correlation_field(submitted, [ids[position] for position in waits])
        stamp = tag(_TIMESTAMP) + varint(max(base_ns + begin, 0))
        yield head + stamp + bytes_field(_TRACK_EVENT, event)
        closing = _slice_end(pb, thread, row)
        stamp = tag(_TIMESTAMP) + varint(max(base_ns + end, 0))
        open_ends.append((end, head + stamp + bytes_field(_TRACK_EVENT, closing)))
    for open_ends in ends.values():
        while open_ends:
            yield open_ends.pop()[1]


def _waited_for(activity: Activity) -> dict[tuple[int, int], list[int]]:
    """Return by position of a command or of a call the commands that the host waited for in it."""
    waits = find_host_waits(activity)
    awaited: dict[tuple[int, int], list[int]] = defaultdict(list)
    for wait, command in waits.awaited_pairs.tolist():
        awaited[-1, int(waits.call[wait])].append(command)
    blocking = activity.commands.is_blocking & activity.commands.is_placed
    for command in blocking.nonzero()[0].tolist():
        awaited[command, -1].append(command)
    return awaited


def _event_head(pb: Any) -> bytes:
    packet = new_packet(pb)
    packet.sequence_flags = NEEDS_STATE
    head: bytes = packet.SerializeToString()
    return head


def _slice_begin(pb: Any, interned: InternedData, key: tuple[int, ...]) -> bytes:
    thread, row, api, site, status, size = key
    event = pb.TrackEvent()
    event.type = pb.TrackEvent.TYPE_SLICE_BEGIN
    event.track_uuid = thread_uuid(thread, row)
    event.category_iids.append(1)
    event.name_iid = interned.apis[api]
    if site in interned.sites:
        event.debug_annotations.add(name_iid=1, string_value_iid=interned.sites[site])
    if size >= 0:
        event.debug_annotations.add(name_iid=2, int_value=size)
    if status:
        event.debug_annotations.add(name_iid=3, int_value=status)
    serialised: bytes = event.SerializeToString()
    return serialised + OPENCL_API_FIELD


def _slice_end(pb: Any, thread: int, row: int) -> bytes:
    event = pb.TrackEvent()
    event.type = pb.TrackEvent.TYPE_SLICE_END
    event.track_uuid = thread_uuid(thread, row)
    serialised: bytes = event.SerializeToString()
    return serialised


def _device_packets(pb: Any, source: PerfettoInput, interned: InternedData) -> Iterator[bytes]:
    """Yield one packet for each placed command, in the order of their starts."""
    activity = source.activity
    commands, device = activity.commands, source.device
    waits: dict[int, list[int]] = defaultdict(list)
    for command, before in activity.edges.tolist():
        waits[command].append(int(commands.id[before]))
    head = _event_head(pb)
    described: dict[tuple[int, ...], bytes] = {}
    keys = zip(
        device.queue.tolist(),
        device.row.tolist(),
        commands.process[device.command].tolist(),
        commands.kind[device.command].tolist(),
        commands.kernel[device.command].tolist(),
        commands.launch[device.command].tolist(),
        commands.site[device.command].tolist(),
        commands.size_bytes[device.command].tolist(),
        strict=True,
    )
    columns = zip(
        device.command.tolist(),
        commands.id[device.command].tolist(),
        device.begin_ns.tolist(),
        device.end_ns.tolist(),
        strict=True,
    )
    for key, (command, number, begin, end) in zip(keys, columns, strict=True):
        if key not in described:
            described[key] = _stage(pb, source, interned, key, command)
        event = b"".join(
            (
                tag(_EVENT_ID) + varint(number),
                tag(_DURATION) + varint(end - begin),
                repeated_varint_field(_WAIT_IDS, waits[command]) if command in waits else b"",
                described[key],
            )
        )
        stamp = tag(_TIMESTAMP) + varint(max(source.base_ns + begin, 0))
        yield head + stamp + bytes_field(_RENDER_STAGE, event)


def _stage(
    pb: Any, source: PerfettoInput, interned: InternedData, key: tuple[int, ...], command: int
) -> bytes:
    """Return the part of a packet that all commands with a key share."""
    queue, row, process, _, kernel, launch, site, size = key
    name = command_name(source.activity, command)
    event = pb.GpuRenderStageEvent()
    event.hw_queue_iid = interned.queues[queue, row]
    event.stage_iid = interned.stages[name, kernel > 0]
    event.context = max(process, 0)
    event.gpu_id = interned.gpus.get(int(source.activity.commands.device[command]), 0)
    event.name = escape_controls(name)
    if launch in source.launches and kernel:
        _set_launch(event, source.launches, launch)
    if site in source.activity.names.sites:
        event.extra_data.add(name="site", value=escape_controls(source.activity.names.sites[site]))
    if size != ABSENT:
        event.extra_data.add(name="size_bytes", value=str(size))
    serialised: bytes = event.SerializeToString()
    return serialised


def _set_launch(event: Any, launches: LaunchShapes, launch: int) -> None:
    shape = launches[launch]
    for sizes, field in (
        (shape.groups, event.launch.grid_size),
        (shape.local_size, event.launch.workgroup_size),
    ):
        for axis, size in zip("xyz", sizes or (), strict=False):
            setattr(field, axis, min(size, 2**32 - 1))
    for name, text in shape.as_args().items():
        event.launch.args.add(name=name, string_value=text)


def _memory_packets(pb: Any, source: PerfettoInput) -> Iterator[bytes]:
    head = _event_head(pb)
    for level in source.memory:
        event = pb.TrackEvent()
        event.type = pb.TrackEvent.TYPE_COUNTER
        event.track_uuid = memory_uuid(level.process)
        for time_ns, size in zip(level.time_ns.tolist(), level.live_bytes.tolist(), strict=True):
            event.counter_value = size
            stamp = tag(_TIMESTAMP) + varint(max(source.base_ns + time_ns, 0))
            yield head + stamp + bytes_field(_TRACK_EVENT, event.SerializeToString())


def _power_packets(pb: Any, source: PerfettoInput) -> Iterator[bytes]:
    head = _event_head(pb)
    for number, level in enumerate(source.power):
        event = pb.TrackEvent()
        event.type = pb.TrackEvent.TYPE_COUNTER
        event.track_uuid = power_uuid(number)
        for time_ns, power in zip(level.time_ns.tolist(), level.power_mw.tolist(), strict=True):
            event.double_counter_value = power / 1000
            stamp = tag(_TIMESTAMP) + varint(max(source.base_ns + time_ns, 0))
            yield head + stamp + bytes_field(_TRACK_EVENT, event.SerializeToString())
