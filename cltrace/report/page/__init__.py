"""A trace as one page for the browser: timeline and reports in a self-contained file."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.events.kinds import StampFault, fault_name
from cltrace.events.statuses import status_name
from cltrace.report.charts import busy_shares
from cltrace.report.document import Chart, ChartRow, RowKind, Unit
from cltrace.report.page.assembly import assemble_page
from cltrace.report.page.columns import PackedColumns, pack_columns
from cltrace.report.page.compose import build_scene
from cltrace.report.page.flames import flame_graphs
from cltrace.report.page.histograms import histograms
from cltrace.report.page.launches import describe_launches
from cltrace.report.page.sections import PageReports, collect_reports, fact_values, section_values
from cltrace.report.quantities import time_text
from cltrace.report.timeline import span_ns
from cltrace.report.tracks.scene import CounterLevel, Scene, TrackKind
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.intervals import union
from cltrace.trace.reader import Trace

_STRIP_PARTS: Final = 600


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Stretch of time that the timeline shows, in ns since the start; `None` is unlimited.

    Of more than `max_slices` slices, short ones are merged, so that a browser can keep and draw them.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    max_slices: int = 4_000_000


def write_page(trace: Trace, options: PageOptions, path: Path) -> None:
    """Write the page of a trace to `path`. Raises: `UsageError`, `DamagedTraceError`, `OSError`."""
    text = render_page(trace, options)
    # The page reveals what the trace reveals, so it has the permissions of the trace.
    path.touch(mode=trace.path.stat().st_mode & 0o666)
    path.write_text(text, encoding="utf-8")


def render_page(trace: Trace, options: PageOptions) -> str:
    """Return the page of a trace. Raises: `UsageError`, `DamagedTraceError`."""
    analysis = Analysis(trace)
    begin_ns, end_ns = span_ns(analysis.activity, options.from_ns, options.to_ns)
    reports = collect_reports(analysis)
    launches = describe_launches(trace, reports.predictions, analysis.activity.commands.launch)
    scene = build_scene(
        analysis,
        launches,
        begin_ns,
        end_ns,
        home=reports.home,
        max_slices=options.max_slices,
    )
    columns = _columns(scene)
    report = {
        "facts": fact_values(reports.facts),
        "file_facts": fact_values(reports.file_facts),
        "notes": [escape_controls(note) for note in (*reports.notes, *_notes(scene, options))],
        "sections": [section_values(section, reports.home) for section in reports.sections],
        "histograms": [
            {
                **asdict(histogram),
                "name": escape_controls(histogram.name),
                "search": escape_controls(histogram.search),
            }
            for histogram in histograms(analysis.activity)
        ],
        "flames": [asdict(graph) for graph in flame_graphs(analysis, reports.home)],
        "overview": _busy_strip(analysis.activity, begin_ns, end_ns),
        "fault_names": [fault_name(fault) for fault in StampFault],
        "scene": _scene_values(scene),
        "columns": [asdict(layout) for layout in columns.layouts],
    }
    return assemble_page(f"{_title(reports)} – cltrace", report, columns.data)


def _title(reports: PageReports) -> str:
    return escape_controls(
        next((fact.text for fact in reports.facts if fact.key == "command"), "trace")
    )


def _columns(scene: Scene) -> PackedColumns:
    """Return the numeric columns of a scene. Pairs are one after the other."""
    slices = {
        f"slice.{field.name}": getattr(scene.slices, field.name) for field in fields(scene.slices)
    }
    links = {
        f"link.{field.name}": getattr(scene.links, field.name).reshape(-1)
        for field in fields(scene.links)
    }
    return pack_columns({**slices, **links, "row.size": scene.row_sizes})


def _scene_values(scene: Scene) -> dict[str, object]:
    """Return the parts of a scene that are not columns."""
    totals = _totals(scene)
    return {
        "begin_ns": scene.begin_ns,
        "end_ns": scene.end_ns,
        "tracks": [asdict(track) for track in scene.tracks],
        "names": [
            {"text": escape_controls(name.text), "kind": name.kind, "total_ns": total}
            for name, total in zip(scene.names, totals, strict=True)
        ],
        "sites": scene.sites,
        "launches": [asdict(launch) for launch in scene.launches],
        "has_arguments": scene.has_arguments,
        "processes": scene.processes,
        "levels": [_level_values(level) for level in scene.levels],
        "merged_below_ns": scene.merged_below_ns,
        "statuses": {
            status: status_name(status)
            for status in np.unique(scene.slices.status).tolist()
            if status
        },
    }


def _totals(scene: Scene) -> list[float]:
    """Return the sum of the durations of the slices of each name, in the tracks of queues."""
    tracks = [track.kind for track in scene.tracks for _ in range(track.rows)]
    is_queue = np.repeat([kind is TrackKind.QUEUE for kind in tracks], scene.row_sizes)
    shown = scene.slices.at(np.flatnonzero(is_queue))
    totals: list[float] = np.bincount(shown.name, shown.busy_ns, len(scene.names)).tolist()
    return totals


def _level_values(level: CounterLevel) -> dict[str, object]:
    return {
        "label": level.label,
        "unit": level.unit.value,
        "process": level.process,
        "time_ns": level.time_ns.tolist(),
        "energy_j": level.energy_j.tolist(),
        "value": (level.value / 1000 if level.unit is Unit.WATTS else level.value).tolist(),
    }


def _busy_strip(activity: Activity, begin_ns: int, end_ns: int) -> dict[str, list[float]]:
    """Return the share of each of many short parts in which a device was busy, and the parts' edges."""
    commands = activity.commands
    placed = commands.is_placed
    busy = union(commands.start_ns[placed], commands.end_ns[placed])
    chart = Chart("busy", "", begin_ns, end_ns, ())
    shares = busy_shares(chart, ChartRow("", RowKind.QUEUE, 0, *busy), _STRIP_PARTS)
    times = np.linspace(begin_ns, max(end_ns, begin_ns + 1), _STRIP_PARTS + 1)
    return {"times": times.tolist(), "shares": [*(round(share, 4) for share in shares), 0.0]}


def _notes(scene: Scene, options: PageOptions) -> list[str]:
    notes = []
    if not len(scene.slices):
        notes.append("note: there is nothing to draw: no OpenCL call was recorded in this time")
    if options.from_ns is not None or options.to_ns is not None:
        notes.append(
            f"note: the timeline goes from {scene.begin_ns / 1e9:.9f} s to {scene.end_ns / 1e9:.9f} s; "
            "the tables and histograms are of the whole trace"
        )
    if scene.merged_below_ns:
        notes.append(
            f"note: this trace has so many slices that those shorter than "
            f"{time_text(scene.merged_below_ns)} are drawn together, by the name of the longest: "
            "`cltrace view --from … --to …` shows each"
        )
    return notes
