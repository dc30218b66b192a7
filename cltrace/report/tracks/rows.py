"""The rows of a page's timeline: critical path, regions and host calls of threads, commands of queues."""

from collections.abc import Iterator, Sequence

import numpy as np

from cltrace.report.tracks.links import Row
from cltrace.report.tracks.names import Naming
from cltrace.report.tracks.scene import NONE, Name, NameKind, Slices, TrackKind
from cltrace.report.tracks.slices import DeviceSlices, HostSlices, depths, nested_lanes
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.grouping import groups, positions


def path_row(analysis: Analysis, naming: Naming) -> Row:
    """The steps of the critical path."""
    steps = analysis.path
    begin, end, command = (
        np.array([getattr(step, name) for step in steps], np.int64)
        for name in ("begin_ns", "end_ns", "command")
    )
    slices = _slices(begin, end, naming.of_steps(steps), command=command)
    return Row(0, TrackKind.PATH, slices, _no_calls(slices))


def region_rows(analysis: Analysis, naming: Naming, thread: int, track: int) -> Iterator[Row]:
    """The named stretches of a thread: a row for each depth."""
    found = analysis.trace.rows(
        "SELECT process_id, enter_host_ns, leave_host_ns, name FROM v_region "
        "WHERE thread_id = :thread AND enter_host_ns IS NOT NULL AND leave_host_ns >= enter_host_ns "
        "ORDER BY enter_host_ns, leave_host_ns DESC",
        {"thread": thread},
    )
    if not found:
        return
    origins = analysis.activity.axis.origin_host_ns
    times = [
        (enter - origins.get(process, 0), leave - origins.get(process, 0))
        for process, enter, leave, _ in found
    ]
    begin, end = np.array(times, np.int64).T
    number = [naming.number(Name(str(name or ""), NameKind.REGION)) for *_, name in found]
    slices = _slices(begin, end, np.array(number, np.int64))
    yield from _nested(slices, nested_lanes(begin, end), _no_calls(slices), track)


def host_rows(
    host: HostSlices, names: Int64s, here: Int64s, track: int, sites: Sequence[int]
) -> Iterator[Row]:
    """The calls of a thread: a row for each lane and each depth."""
    slices = _slices(
        host.begin_ns[here],
        host.end_ns[here],
        names[here],
        command=host.command[here],
        site=places(sites, host.site[here]),
        status=host.status[here],
        size_bytes=np.maximum(host.size_bytes[here], 0),
    )
    yield from _nested(slices, host.lane[here], host.call[here], track)


def _nested(slices: Slices, lane: Int64s, calls: Int64s, track: int) -> Iterator[Row]:
    """The rows of a thread: for each lane those that are within others below them."""
    end = slices.begin_ns + slices.duration_ns
    for _, here in groups(lane):
        depth = depths(slices.begin_ns[here], end[here])
        for _, members in groups(depth, here):
            yield Row(track, TrackKind.THREAD, slices.at(members), calls[members])


def device_rows(
    device: DeviceSlices, naming: Naming, here: Int64s, track: int, activity: Activity
) -> Iterator[Row]:
    """The commands of a queue: a row for each lane."""
    for _, members in groups(device.lane[here], here):
        command = device.command[members]
        slices = _slices(
            device.begin_ns[members],
            device.end_ns[members],
            naming.of_commands(command),
            command=command,
            size_bytes=np.maximum(activity.commands.size_bytes[command], 0),
        )
        yield Row(track, TrackKind.QUEUE, slices, _no_calls(slices))


def places(numbers: Sequence[int], wanted: Int64s) -> Int64s:
    """Where each wanted number stands among ascending ones, from 1 on; 0 for one that is not there."""
    return positions(wanted, np.array(numbers, np.int64)) + 1


def _slices(begin_ns: Int64s, end_ns: Int64s, name: Int64s, **known: Int64s) -> Slices:
    """Single slices; of what is not `known` they have none."""
    nothing = np.zeros(len(begin_ns), np.int64)
    absent = {
        "command": nothing + NONE,
        "site": nothing,
        "status": nothing,
        "size_bytes": nothing,
        "count": nothing + 1,
    }
    duration = end_ns - begin_ns
    return Slices(
        begin_ns=begin_ns, duration_ns=duration, busy_ns=duration, name=name, **{**absent, **known}
    )


def _no_calls(slices: Slices) -> Int64s:
    return np.full(len(slices), NONE)
