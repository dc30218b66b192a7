"""Input of a Perfetto export, and the data that its packets refer to by number."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from cltrace.report.tracks.launches import LaunchShapes
from cltrace.report.tracks.power_levels import PowerLevel
from cltrace.report.tracks.slices import (
    DeviceSlices,
    HostSlices,
    MemoryLevel,
    api_name,
    command_name,
)
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.activity import Activity
from cltrace.trace.reader import Trace

SEQUENCE: Final = 1
STATE_CLEARED, NEEDS_STATE = 1, 2
_FIRST_QUEUE_IID: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfettoInput:
    """Data of a trace from which the packets are made."""

    trace: Trace
    activity: Activity
    launches: LaunchShapes
    host: HostSlices
    device: DeviceSlices
    memory: list[MemoryLevel]
    power: list[PowerLevel]
    pids: dict[int, int]
    base_ns: int
    """Offset to add to times of the axis: the first host's clock when the trace began."""


class InternedData:
    """Texts and descriptions that packets refer to by number; all are in the first packet."""

    def __init__(self, pb: Any, source: PerfettoInput) -> None:
        self._pb = pb
        self._source = source
        activity = source.activity
        self.apis = {
            int(api): number for number, api in enumerate(set(source.host.api.tolist()), 1)
        }
        self.sites = {site: number for number, site in enumerate(activity.names.sites, 1)}
        self.gpus = {device: number for number, device in enumerate(sorted(activity.names.devices))}
        self.stages: dict[tuple[str, bool], int] = {}
        for command in _sample_commands(activity, source.device):
            kernel = int(activity.commands.kernel[command]) > 0
            key = (command_name(activity, command), kernel)
            self.stages.setdefault(key, len(self.stages) + 1)
        self.queues: dict[tuple[int, int], int] = {}
        for queue_row in zip(source.device.queue.tolist(), source.device.row.tolist(), strict=True):
            self.queues.setdefault(queue_row, _FIRST_QUEUE_IID + len(self.queues))

    def packet(self) -> Any:
        """Return the first packet."""
        packet = self._pb.TracePacket()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = STATE_CLEARED | NEEDS_STATE
        packet.first_packet_on_sequence = True
        packet.timestamp = self._source.base_ns
        data = packet.interned_data
        for api, iid in self.apis.items():
            data.event_names.add(iid=iid, name=api_name(api))
        data.event_categories.add(iid=1, name="opencl")
        for iid, name in enumerate(_ANNOTATIONS, 1):
            data.debug_annotation_names.add(iid=iid, name=name)
        for site, iid in self.sites.items():
            text = escape_controls(self._source.activity.names.sites[site])
            data.debug_annotation_string_values.add(iid=iid, str=text.encode())
        self._add_gpu(data)
        return packet

    def _add_gpu(self, data: Any) -> None:
        """Add contexts, queues, stages and kernels."""
        pb, names = self._pb, self._source.activity.names
        stage = pb.InternedGpuRenderStageSpecification
        for (name, is_kernel), iid in self.stages.items():
            category = stage.COMPUTE if is_kernel else stage.OTHER
            data.gpu_specifications.add(iid=iid, name=escape_controls(name), category=category)
        for (queue, row), iid in self.queues.items():
            name = names.queues.get(queue, f"queue {queue}")
            text = escape_controls(name) + (f", row {row + 1}" if row else "")
            data.gpu_specifications.add(iid=iid, name=text, category=stage.COMPUTE)
        for process, pid in self._source.pids.items():
            data.graphics_contexts.add(iid=process, pid=pid, api=pb.InternedGraphicsContext.OPEN_CL)


def _sample_commands(activity: Activity, device: DeviceSlices) -> list[int]:
    """Return one command of each kind and kernel."""
    kind, kernel = activity.commands.kind, activity.commands.kernel
    keys = kind[device.command] * (len(activity.names.kernels) + 1) + kernel[device.command]
    _, first = np.unique(keys, return_index=True)
    commands: list[int] = device.command[first].tolist()
    return commands


_ANNOTATIONS: Final = ("site", "size_bytes", "status", "command")


def descriptor_packets(pb: Any, source: PerfettoInput) -> Iterator[Any]:
    """Yield the descriptions of clocks, processes, threads, counters and devices."""
    names = source.activity.names
    anchors = source.trace.rows(
        "SELECT host_ns, realtime_ns FROM v_host_clock WHERE realtime_ns IS NOT NULL "
        "AND process_id = :first ORDER BY host_ns LIMIT 1",
        {"first": min(source.activity.axis.origin_host_ns, default=0)},
    )
    for host_ns, realtime_ns in anchors:
        packet = new_packet(pb)
        for clock, time_ns in ((6, host_ns), (3, host_ns), (1, realtime_ns)):
            packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=max(time_ns, 0))
        yield packet
    for process, pid in source.pids.items():
        packet = new_packet(pb)
        packet.track_descriptor.uuid = process_uuid(process)
        packet.track_descriptor.process.pid = pid
        packet.track_descriptor.process.process_name = escape_controls(
            names.processes.get(process, "")
        )
        yield packet
    host = source.host
    thread_rows = set(
        zip(host.process.tolist(), host.thread.tolist(), host.row.tolist(), strict=True)
    )
    for process, thread, row in sorted(thread_rows):
        packet = new_packet(pb)
        track = packet.track_descriptor
        track.uuid, track.parent_uuid = thread_uuid(thread, row), process_uuid(process)
        track.name = escape_controls(names.threads.get(thread, "thread")) + (
            f" ({row + 1})" if row else ""
        )
        yield packet
    yield from _counters(pb, source)
    packet = new_packet(pb)
    for device, name in sorted(names.devices.items()):
        packet.gpu_info.gpus.add(name=escape_controls(name), model=f"device {device}")
    yield packet


def _counters(pb: Any, source: PerfettoInput) -> Iterator[Any]:
    """Yield the descriptions of counters: memory of processes, and power of sensors."""
    for level in source.memory:
        packet = new_packet(pb)
        track = packet.track_descriptor
        track.uuid, track.parent_uuid = memory_uuid(level.process), process_uuid(level.process)
        track.name = "device memory"
        track.counter.unit = pb.CounterDescriptor.UNIT_SIZE_BYTES
        yield packet
    for number, power in enumerate(source.power):
        packet = new_packet(pb)
        packet.track_descriptor.uuid = power_uuid(number)
        packet.track_descriptor.name = escape_controls(power.label)
        packet.track_descriptor.counter.unit_name = "W"
        yield packet


def new_packet(pb: Any) -> Any:
    """Return an empty packet of the only sequence in a trace."""
    packet = pb.TracePacket()
    packet.trusted_packet_sequence_id = SEQUENCE
    return packet


def process_uuid(process: int) -> int:
    """Return the number of the track of a process."""
    return 1_000_000 + process


def memory_uuid(process: int) -> int:
    """Return the number of the track of the memory counter of a process."""
    return 2_000_000 + process


def power_uuid(number: int) -> int:
    """Return the number of the track of a power channel, by its place among them."""
    return 3_000_000 + number


def thread_uuid(thread: int, row: int) -> int:
    """Return the number of the track of a row of a thread."""
    return 1_000_000_000 + 1000 * thread + row
