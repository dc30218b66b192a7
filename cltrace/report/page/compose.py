"""Composition of a page's scene from an analysed trace."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from cltrace.report.document import Unit
from cltrace.report.page.launches import DescribedLaunches
from cltrace.report.page.thinning import (
    choose_level_steps,
    choose_resolution_ns,
    clip_levels,
    merge_short_slices,
)
from cltrace.report.tracks.links import TrackRow, index_drawn_commands, link_commands
from cltrace.report.tracks.names import NameTable
from cltrace.report.tracks.power_levels import power_levels
from cltrace.report.tracks.rows import (
    device_rows,
    host_rows,
    path_row,
    region_rows,
)
from cltrace.report.tracks.scene import NONE, CounterLevel, Scene, Track, TrackKind, join_slices
from cltrace.report.tracks.slices import device_slices, host_slices, memory_levels
from cltrace.report.untrusted_text import escape_controls, shorten_place
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.grouping import groups

_J_PER_MW_NS: Final = 1e-12


def build_scene(
    analysis: Analysis,
    launches: DescribedLaunches,
    begin_ns: int,
    end_ns: int,
    *,
    home: str,
    max_slices: int,
) -> Scene:
    """Return the scene between two times, in ns on the trace's axis.

    Places are relative to `home`. Of more than `max_slices` slices, short ones are merged.
    """
    activity = analysis.activity
    names = NameTable(activity)
    sites = sorted(activity.names.sites)
    tracks, rows = _tracks(analysis, names, sites)
    rows = [_clip_row(row, begin_ns, end_ns) for row in rows]
    resolution = choose_resolution_ns([row.slices for row in rows], end_ns - begin_ns, max_slices)
    if resolution:
        rows = [_merge_row(row, resolution) for row in rows]
    slices = join_slices([row.slices for row in rows])
    numbers = index_drawn_commands(len(activity.commands), slices, rows)
    return Scene(
        begin_ns=begin_ns,
        end_ns=end_ns,
        tracks=_with_row_counts(tracks, rows),
        row_sizes=np.array([len(row.slices) for row in rows], np.int64),
        slices=replace(slices, command=numbers[slices.command]),
        links=link_commands(analysis, rows, slices, numbers, launches.of_command),
        names=names.names,
        sites=("", *(_place(activity.names.sites[site], home) for site in sites)),
        launches=launches.descriptions,
        has_arguments=launches.has_arguments,
        processes={
            process: escape_controls(text) for process, text in activity.names.processes.items()
        },
        levels=(*_memory(analysis, begin_ns, end_ns), *_power(analysis, begin_ns, end_ns)),
        merged_below_ns=resolution,
    )


def _tracks(
    analysis: Analysis, names: NameTable, sites: list[int]
) -> tuple[list[Track], list[TrackRow]]:
    """Return the tracks in the order in which they are shown, and their rows."""
    activity = analysis.activity
    tracks = [Track(TrackKind.PATH, "critical path", 0, 0)]
    rows = [path_row(analysis, names)]
    host, device = host_slices(activity), device_slices(activity)
    call_names = names.number_calls(host)
    commands = activity.commands
    queue_process = dict(zip(commands.queue.tolist(), commands.process.tolist(), strict=True))
    thread_process = dict(zip(host.thread.tolist(), host.process.tolist(), strict=True))
    for process in sorted({*queue_process.values(), *thread_process.values()}):
        for thread, positions in groups(host.thread):
            if thread_process[thread] == process:
                label = escape_controls(activity.names.threads.get(thread, "thread"))
                tracks.append(Track(TrackKind.THREAD, label, process, 0))
                rows += region_rows(analysis, names, thread, len(tracks) - 1)
                rows += host_rows(host, call_names, positions, len(tracks) - 1, sites)
        for queue, positions in groups(device.queue):
            if queue_process[queue] == process:
                label = _queue_label(activity, queue)
                tracks.append(Track(TrackKind.QUEUE, label, process, 0))
                rows += device_rows(device, names, positions, len(tracks) - 1, activity)
    return tracks, rows


def _with_row_counts(tracks: Sequence[Track], rows: Sequence[TrackRow]) -> tuple[Track, ...]:
    return tuple(
        replace(track, rows=sum(row.track == number for row in rows))
        for number, track in enumerate(tracks)
    )


def _place(site: str, home: str) -> str:
    return shorten_place(escape_controls(site), home)


def _queue_label(activity: Activity, queue: int) -> str:
    commands, names = activity.commands, activity.names
    device = int(commands.device[np.argmax(commands.queue == queue)])
    name = names.queues.get(queue, f"queue {queue}")
    return escape_controls(f"{name} on {names.devices.get(device, 'a device')}")


def _clip_row(row: TrackRow, begin_ns: int, end_ns: int) -> TrackRow:
    """Return a row with the slices that were open between two times."""
    begin, end = row.slices.begin_ns, row.slices.begin_ns + row.slices.duration_ns
    is_in = np.flatnonzero((begin <= end_ns) & (end >= begin_ns))
    return replace(row, slices=row.slices.at(is_in), calls=row.calls[is_in])


def _merge_row(row: TrackRow, resolution_ns: int) -> TrackRow:
    """Return a row with short slices merged. Only slices that stand for one have their call."""
    slices, first = merge_short_slices(row.slices, resolution_ns)
    calls = np.where(slices.count == 1, row.calls[first], NONE)
    return replace(row, slices=slices, calls=calls)


def _memory(analysis: Analysis, begin_ns: int, end_ns: int) -> tuple[CounterLevel, ...]:
    """Return the live device memory between two times."""
    processes = analysis.activity.names.processes
    has_several = len(processes) > 1
    levels = []
    for level in memory_levels(analysis.trace, analysis.activity):
        name = f", {escape_controls(processes.get(level.process, ''))}" if has_several else ""
        times, values = clip_levels(level.time_ns, level.live_bytes, begin_ns, end_ns)
        kept = choose_level_steps(times, values)
        label = f"device memory{name}"
        levels.append(
            CounterLevel(
                label, Unit.BYTES, level.process, times[kept], values[kept], np.empty(0, np.float64)
            )
        )
    return tuple(levels)


def _power(analysis: Analysis, begin_ns: int, end_ns: int) -> tuple[CounterLevel, ...]:
    """Return the power of the sensors between two times. It belongs to no process."""
    levels = []
    for level in power_levels(analysis.trace, analysis.activity):
        # Readings may overlap, because their times are inexact: each ends where the next begins.
        begins = np.maximum.accumulate(level.time_ns)
        times, powers = clip_levels(begins, level.power_mw, begin_ns, end_ns)
        if len(times) and times[-1] < end_ns:
            times, powers = np.append(times, end_ns), np.append(powers, powers[-1])
        energies = np.concatenate([[0.0], np.cumsum(powers[:-1] * np.diff(times) * _J_PER_MW_NS)])
        kept = choose_level_steps(times, powers)
        levels.append(
            CounterLevel(
                escape_controls(level.label),
                Unit.WATTS,
                0,
                times[kept],
                powers[kept],
                energies[: len(times)][kept],
            )
        )
    return tuple(levels)
