"""Making a page's scene of an analysed trace."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cltrace.report.export.launches import Shape, read_launches
from cltrace.report.export.tracks import (
    DeviceSlices,
    HostSlices,
    depths,
    device_slices,
    host_slices,
    memory_levels,
)
from cltrace.report.page.linking import Row, links_of, numbered_commands
from cltrace.report.page.naming import Naming
from cltrace.report.page.scene import (
    NONE,
    ClockPiece,
    Level,
    Scene,
    Slices,
    Track,
    TrackKind,
    joined,
)
from cltrace.report.page.thinning import merged_row, thinned
from cltrace.report.text import plain, short_place
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.grouping import groups
from cltrace.timeline.points import Int64s


def scene_of(
    analysis: Analysis, begin_ns: int, end_ns: int, *, home: str, most_slices: int
) -> Scene:
    """What happened between two times, in ns on the trace's axis.

    Places are relative to `home`. Of more than `most_slices` slices short ones are put together.
    """
    activity = analysis.activity
    naming = Naming(activity)
    sites = sorted(activity.names.sites)
    tracks, rows = _tracks(analysis, naming, sites)
    rows = [_within(row, begin_ns, end_ns) for row in rows]
    resolution = _resolution_ns(rows, end_ns - begin_ns, most_slices)
    if resolution:
        rows = [
            replace(row, slices=merged_row(row.slices, resolution), calls=row.calls[:0])
            for row in rows
        ]
    launches, launch = _launches(analysis)
    slices = joined([row.slices for row in rows])
    place = numbered_commands(len(activity.commands), slices, rows)
    return Scene(
        begin_ns=begin_ns,
        end_ns=end_ns,
        tracks=tuple(
            replace(track, rows=sum(row.track == at for row in rows))
            for at, track in enumerate(tracks)
        ),
        row_sizes=np.array([len(row.slices) for row in rows], np.int64),
        slices=replace(slices, command=place[slices.command]),
        links=links_of(analysis, rows, slices, place, launch),
        names=naming.names,
        sites=("", *(short_place(plain(activity.names.sites[one]), home) for one in sites)),
        launches=launches,
        processes={one: plain(text) for one, text in activity.names.processes.items()},
        memory=_memory(analysis),
        merged_below_ns=resolution,
    )


def _places(numbers: Sequence[int], wanted: Int64s) -> Int64s:
    """Where each wanted number stands among ascending ones, from 1 on; 0 for one that is not there."""
    known = np.array(numbers, np.int64)
    if not len(known):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at + 1, 0)


def _tracks(
    analysis: Analysis, naming: Naming, sites: Sequence[int]
) -> tuple[list[Track], list[Row]]:
    """The tracks in the order in which they are shown, and their rows."""
    activity = analysis.activity
    tracks = [Track(TrackKind.PATH, "critical path", 0, 0)]
    rows = [Row(0, TrackKind.PATH, _path(analysis, naming), np.empty(0, np.int64))]
    host, device = host_slices(activity), device_slices(activity)
    names = naming.of_calls(host)
    queue_process = dict(
        zip(activity.commands.queue.tolist(), activity.commands.process.tolist(), strict=True)
    )
    thread_process = dict(zip(host.thread.tolist(), host.process.tolist(), strict=True))
    for process in sorted({*queue_process.values(), *thread_process.values()}):
        for thread, here in groups(host.thread):
            if thread_process[thread] == process:
                label = plain(activity.names.threads.get(thread, "thread"))
                tracks.append(Track(TrackKind.THREAD, label, process, 0))
                rows += _host_rows(host, names, here, len(tracks) - 1, sites)
        for queue, here in groups(device.queue):
            if queue_process[queue] == process:
                tracks.append(_queue_track(activity, queue, process))
                rows += _device_rows(device, naming, here, len(tracks) - 1, activity)
    return tracks, rows


def _queue_track(activity: Activity, queue: int, process: int) -> Track:
    commands, names = activity.commands, activity.names
    device = int(commands.device[np.argmax(commands.queue == queue)])
    queue_name = names.queues.get(queue, f"queue {queue}")
    label = f"{queue_name} on {names.devices.get(device, 'a device')}"
    clock = activity.clocks.get(device)
    origin = activity.axis.origin_host_ns.get(process, 0)
    pieces = tuple(
        ClockPiece(
            one.state.value,
            one.from_enter_host_ns - origin,
            one.to_enter_host_ns - origin,
            one.bound_ns,
        )
        for one in (clock.segments if clock else ())
    )
    return Track(TrackKind.QUEUE, plain(label), process, 0, pieces)


def _host_rows(
    host: HostSlices, names: Int64s, here: Int64s, track: int, sites: Sequence[int]
) -> Iterator[Row]:
    """The calls of a thread: a row for each lane and each depth."""
    for _, lane in groups(host.lane[here], here):
        depth = depths(host.begin_ns[lane], host.end_ns[lane])
        for _, members in groups(depth, lane):
            yield Row(
                track,
                TrackKind.THREAD,
                Slices(
                    begin_ns=host.begin_ns[members],
                    duration_ns=host.end_ns[members] - host.begin_ns[members],
                    name=names[members],
                    command=host.command[members],
                    site=_places(sites, host.site[members]),
                    status=host.status[members],
                    size_bytes=np.maximum(host.size_bytes[members], 0),
                    count=np.ones(len(members), np.int64),
                ),
                host.call[members],
            )


def _device_rows(
    device: DeviceSlices, naming: Naming, here: Int64s, track: int, activity: Activity
) -> Iterator[Row]:
    """The commands of a queue: a row for each lane."""
    for _, members in groups(device.lane[here], here):
        command, nothing = device.command[members], np.zeros(len(members), np.int64)
        size = np.maximum(activity.commands.size_bytes[command], 0)
        yield Row(
            track,
            TrackKind.QUEUE,
            Slices(
                begin_ns=device.begin_ns[members],
                duration_ns=device.end_ns[members] - device.begin_ns[members],
                name=naming.of_commands(command),
                command=command,
                site=nothing,
                status=nothing,
                size_bytes=size,
                count=nothing + 1,
            ),
            np.full(len(members), NONE),
        )


def _path(analysis: Analysis, naming: Naming) -> Slices:
    """The steps of the critical path."""
    steps = analysis.path
    begin, end, command = (
        np.array([getattr(step, name) for step in steps], np.int64)
        for name in ("begin_ns", "end_ns", "command")
    )
    nothing = np.zeros(len(steps), np.int64)
    names = naming.of_steps(steps)
    return Slices(begin, end - begin, names, command, nothing, nothing, nothing, nothing + 1)


def _within(row: Row, begin_ns: int, end_ns: int) -> Row:
    """The slices of a row that were open at some time between two."""
    begin, end = row.slices.begin_ns, row.slices.begin_ns + row.slices.duration_ns
    is_in = np.flatnonzero((begin <= end_ns) & (end >= begin_ns))
    calls = row.calls[is_in] if len(row.calls) else row.calls
    return replace(row, slices=row.slices.at(is_in), calls=calls)


def _resolution_ns(rows: list[Row], span_ns: int, most_slices: int) -> int:
    """Below which length slices are put together; 0 when there are few enough."""
    if sum(len(row.slices) for row in rows) <= most_slices:
        return 0
    return max(2 * len(rows) * span_ns // most_slices, 1)


def _launches(analysis: Analysis) -> tuple[tuple[str, ...], Int64s]:
    """Launch configurations in words, of which the first is none, and that of each command."""
    found = read_launches(analysis.trace)
    known = sorted(found)
    numbers: dict[str, int] = {"": 0}
    words = [numbers.setdefault(_shape_text(found[one]), len(numbers)) for one in known]
    of_place = np.array([0, *words], np.int64)
    return tuple(numbers), of_place[_places(known, analysis.activity.commands.launch)]


def _shape_text(shape: Shape) -> str:
    args = shape.as_args()
    local = args.get("local_size")
    return args["global_size"] + (f" in groups of {local}" if local else ", groups by the driver")


def _memory(analysis: Analysis) -> tuple[Level, ...]:
    """How much device memory was live."""
    processes = analysis.activity.names.processes
    several = len(processes) > 1
    found = []
    for level in memory_levels(analysis.trace, analysis.activity):
        name = f", {plain(processes.get(level.process, ''))}" if several else ""
        time_ns, value = thinned(level.time_ns, level.live_bytes)
        found.append(Level(f"device memory{name}", level.process, time_ns, value))
    return tuple(found)
