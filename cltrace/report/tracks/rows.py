"""Rows of a page's timeline: critical path, regions and host calls of threads, commands of queues."""

from collections.abc import Iterator, Sequence

import numpy as np

from cltrace.report.tracks.links import TrackRow
from cltrace.report.tracks.names import NameTable
from cltrace.report.tracks.path_builds import split_at_builds
from cltrace.report.tracks.scene import NONE, NameKind, SliceName, Slices, TrackKind
from cltrace.report.tracks.slices import DeviceSlices, HostSlices, nested_rows, nesting_depths
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import find_positions, groups


def path_row(analysis: Analysis, names: NameTable) -> TrackRow:
    """Return the steps of the critical path, with builds as steps of their own."""
    steps, builds = split_at_builds(analysis.critical_path, analysis.activity.calls)
    begin, end, command = (
        np.array([getattr(step, name) for step in steps], np.int64)
        for name in ("begin_ns", "end_ns", "command")
    )
    name = names.number_steps(steps)
    for step in np.flatnonzero(builds != NONE).tolist():
        name[step] = names.number_build(int(builds[step]))
    slices = _slices(begin, end, name, command=command)
    return TrackRow(0, TrackKind.PATH, slices, _no_calls(slices))


def region_rows(
    analysis: Analysis, names: NameTable, thread: int, track: int
) -> Iterator[TrackRow]:
    """Yield the regions of a thread: a row for each depth."""
    regions = analysis.trace.rows(
        "SELECT process_id, enter_host_ns, leave_host_ns, name FROM v_region "
        "WHERE thread_id = :thread AND enter_host_ns IS NOT NULL AND leave_host_ns >= enter_host_ns "
        "ORDER BY enter_host_ns, leave_host_ns DESC",
        {"thread": thread},
    )
    if not regions:
        return
    origins = analysis.activity.axis.origin_host_ns
    times = [
        (enter - origins.get(process, 0), leave - origins.get(process, 0))
        for process, enter, leave, _ in regions
    ]
    begin, end = np.array(times, np.int64).T
    number = [names.number(SliceName(str(name or ""), NameKind.REGION)) for *_, name in regions]
    slices = _slices(begin, end, np.array(number, np.int64))
    yield from _nested(slices, nested_rows(begin, end), _no_calls(slices), track)


def host_rows(
    host: HostSlices, names: Int64s, positions: Int64s, track: int, sites: Sequence[int]
) -> Iterator[TrackRow]:
    """Yield the calls of a thread: a row for each parallel row and each depth."""
    slices = _slices(
        host.begin_ns[positions],
        host.end_ns[positions],
        names[positions],
        command=host.command[positions],
        site=one_based_positions(sites, host.site[positions]),
        status=host.status[positions],
        size_bytes=np.maximum(host.size_bytes[positions], 0),
    )
    yield from _nested(slices, host.row[positions], host.call[positions], track)


def _nested(slices: Slices, row: Int64s, calls: Int64s, track: int) -> Iterator[TrackRow]:
    """Yield the rows of a thread: for each parallel row those at each depth below it."""
    end = slices.begin_ns + slices.duration_ns
    for _, positions in groups(row):
        depth = nesting_depths(slices.begin_ns[positions], end[positions])
        for _, members in groups(depth, positions):
            yield TrackRow(track, TrackKind.THREAD, slices.at(members), calls[members])


def device_rows(
    device: DeviceSlices, names: NameTable, positions: Int64s, track: int, activity: Activity
) -> Iterator[TrackRow]:
    """Yield the commands of a queue: a row for each set of commands that do not overlap."""
    for _, members in groups(device.row[positions], positions):
        command = device.command[members]
        slices = _slices(
            device.begin_ns[members],
            device.end_ns[members],
            names.number_slice_names(command),
            command=command,
            size_bytes=np.maximum(activity.commands.size_bytes[command], 0),
        )
        yield TrackRow(track, TrackKind.QUEUE, slices, _no_calls(slices))


def one_based_positions(numbers: Sequence[int], wanted: Int64s) -> Int64s:
    """Return the position from 1 on of each wanted number among ascending ones; 0 for an absent one."""
    return find_positions(wanted, np.array(numbers, np.int64)) + 1


def _slices(begin_ns: Int64s, end_ns: Int64s, name: Int64s, **given: Int64s) -> Slices:
    """Return single slices; columns that are not `given` are empty."""
    zeros = np.zeros(len(begin_ns), np.int64)
    defaults = {
        "command": zeros + NONE,
        "site": zeros,
        "status": zeros,
        "size_bytes": zeros,
        "count": zeros + 1,
    }
    duration = end_ns - begin_ns
    return Slices(
        begin_ns=begin_ns,
        duration_ns=duration,
        busy_ns=duration,
        name=name,
        **{**defaults, **given},
    )


def _no_calls(slices: Slices) -> Int64s:
    return np.full(len(slices), NONE)
