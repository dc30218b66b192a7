"""Making a page's scene of an analysed trace."""

from dataclasses import replace

import numpy as np

from cltrace.report.document import Unit
from cltrace.report.page.thinning import cut, merged, resolution_ns, thinned
from cltrace.report.tracks.launches import Shape, read_launches
from cltrace.report.tracks.links import Row, links_of, numbered_commands
from cltrace.report.tracks.names import Naming
from cltrace.report.tracks.power_levels import power_levels
from cltrace.report.tracks.rows import device_rows, host_rows, path_row, places, region_rows
from cltrace.report.tracks.scene import NONE, Level, Scene, Track, TrackKind, joined
from cltrace.report.tracks.slices import device_slices, host_slices, memory_levels
from cltrace.report.untrusted_text import plain, short_place
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.grouping import groups


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
    resolution = resolution_ns([row.slices for row in rows], end_ns - begin_ns, most_slices)
    if resolution:
        rows = [_merged(row, resolution) for row in rows]
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
        levels=(*_memory(analysis, begin_ns, end_ns), *_power(analysis, begin_ns, end_ns)),
        merged_below_ns=resolution,
    )


def _tracks(analysis: Analysis, naming: Naming, sites: list[int]) -> tuple[list[Track], list[Row]]:
    """The tracks in the order in which they are shown, and their rows."""
    activity = analysis.activity
    tracks = [Track(TrackKind.PATH, "critical path", 0, 0)]
    rows = [path_row(analysis, naming)]
    host, device = host_slices(activity), device_slices(activity)
    names = naming.of_calls(host)
    commands = activity.commands
    queue_process = dict(zip(commands.queue.tolist(), commands.process.tolist(), strict=True))
    thread_process = dict(zip(host.thread.tolist(), host.process.tolist(), strict=True))
    for process in sorted({*queue_process.values(), *thread_process.values()}):
        for thread, here in groups(host.thread):
            if thread_process[thread] == process:
                label = plain(activity.names.threads.get(thread, "thread"))
                tracks.append(Track(TrackKind.THREAD, label, process, 0))
                rows += region_rows(analysis, naming, thread, len(tracks) - 1)
                rows += host_rows(host, names, here, len(tracks) - 1, sites)
        for queue, here in groups(device.queue):
            if queue_process[queue] == process:
                label = _queue_label(activity, queue)
                tracks.append(Track(TrackKind.QUEUE, label, process, 0))
                rows += device_rows(device, naming, here, len(tracks) - 1, activity)
    return tracks, rows


def _queue_label(activity: Activity, queue: int) -> str:
    commands, names = activity.commands, activity.names
    device = int(commands.device[np.argmax(commands.queue == queue)])
    name = names.queues.get(queue, f"queue {queue}")
    return plain(f"{name} on {names.devices.get(device, 'a device')}")


def _within(row: Row, begin_ns: int, end_ns: int) -> Row:
    """The slices of a row that were open at some time between two."""
    begin, end = row.slices.begin_ns, row.slices.begin_ns + row.slices.duration_ns
    is_in = np.flatnonzero((begin <= end_ns) & (end >= begin_ns))
    return replace(row, slices=row.slices.at(is_in), calls=row.calls[is_in])


def _merged(row: Row, resolution_ns: int) -> Row:
    """A row with short slices put together. A call is known of those that stand for one alone."""
    slices, first = merged(row.slices, resolution_ns)
    calls = np.where(slices.count == 1, row.calls[first], NONE)
    return replace(row, slices=slices, calls=calls)


def _launches(analysis: Analysis) -> tuple[tuple[str, ...], Int64s]:
    """Launch configurations in words, of which the first is none, and that of each command."""
    found = read_launches(analysis.trace)
    known = sorted(found)
    numbers: dict[str, int] = {"": 0}
    words = [numbers.setdefault(_shape_text(found[one]), len(numbers)) for one in known]
    of_place = np.array([0, *words], np.int64)
    return tuple(numbers), of_place[places(known, analysis.activity.commands.launch)]


def _shape_text(shape: Shape) -> str:
    args = shape.as_args()
    local = args.get("local_size")
    return args["global_size"] + (f" in groups of {local}" if local else ", groups by the driver")


def _memory(analysis: Analysis, begin_ns: int, end_ns: int) -> tuple[Level, ...]:
    """How much device memory was live, between two times."""
    processes = analysis.activity.names.processes
    several = len(processes) > 1
    found = []
    for level in memory_levels(analysis.trace, analysis.activity):
        name = f", {plain(processes.get(level.process, ''))}" if several else ""
        part = cut(level.time_ns, level.live_bytes, begin_ns, end_ns)
        found.append(Level(f"device memory{name}", Unit.BYTES, level.process, *thinned(*part)))
    return tuple(found)


def _power(analysis: Analysis, begin_ns: int, end_ns: int) -> tuple[Level, ...]:
    """What power sensors read, between two times. They are of no process."""
    found = []
    for level in power_levels(analysis.trace, analysis.activity):
        part = cut(level.time_ns, level.power_mw, begin_ns, end_ns)
        found.append(Level(plain(level.label), Unit.WATTS, 0, *thinned(*part)))
    return tuple(found)
