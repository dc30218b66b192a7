"""A trace as one page for the browser: timeline and reports in a file that needs nothing else."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.events.kinds import StampFault, fault_name
from cltrace.events.statuses import status_name
from cltrace.report.charts import shares
from cltrace.report.document import Chart, ChartRow, RowKind, Unit
from cltrace.report.page.assembly import page_text
from cltrace.report.page.columns import Packed, packed
from cltrace.report.page.compose import scene_of
from cltrace.report.page.histograms import histograms
from cltrace.report.page.sections import Reports, fact_values, reports, section_values
from cltrace.report.quantities import time_text
from cltrace.report.timeline import span_ns
from cltrace.report.tracks.scene import Level, Scene, TrackKind
from cltrace.report.untrusted_text import plain
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.intervals import union
from cltrace.trace.reader import Trace

_STRIP_PARTS: Final = 600


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The stretch of time that the timeline shows, in ns since the start; `None` means all.

    Of more than `most_slices` slices, short ones are drawn together: what a browser draws and keeps
    without strain.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    most_slices: int = 4_000_000


def write_page(trace: Trace, options: PageOptions, path: Path) -> None:
    """Write the page of a trace to `path`. Raises: `UsageError`, `DamagedTraceError`, `OSError`."""
    text = page_of(trace, options)
    # It reveals what the trace reveals: who may not read that may not read this.
    path.touch(mode=trace.path.stat().st_mode & 0o666)
    path.write_text(text, encoding="utf-8")


def page_of(trace: Trace, options: PageOptions) -> str:
    """The page of a trace. Raises: `UsageError`, `DamagedTraceError`."""
    analysis = Analysis(trace)
    begin_ns, end_ns = span_ns(analysis.activity, options.from_ns, options.to_ns)
    found = reports(analysis)
    scene = scene_of(analysis, begin_ns, end_ns, home=found.home, most_slices=options.most_slices)
    columns = _columns(scene)
    report = {
        "facts": fact_values(found.facts),
        "file_facts": fact_values(found.file_facts),
        "notes": [plain(one) for one in (*found.notes, *_notes(scene, options))],
        "sections": [section_values(one, found.home) for one in found.sections],
        "histograms": [
            {**asdict(one), "name": plain(one.name), "search": plain(one.search)}
            for one in histograms(analysis.activity)
        ],
        "overview": _strip(analysis.activity, begin_ns, end_ns),
        "fault_names": [fault_name(one) for one in StampFault],
        "scene": _scene_values(scene),
        "columns": [asdict(one) for one in columns.layouts],
    }
    return page_text(f"{_title(found)} – cltrace", report, columns.data)


def _title(found: Reports) -> str:
    return plain(next((one.text for one in found.facts if one.key == "command"), "trace"))


def _columns(scene: Scene) -> Packed:
    """The numbers of a scene. Pairs are one after the other."""
    slices = {f"slice.{one.name}": getattr(scene.slices, one.name) for one in fields(scene.slices)}
    links = {
        f"link.{one.name}": getattr(scene.links, one.name).reshape(-1)
        for one in fields(scene.links)
    }
    return packed({**slices, **links, "row.size": scene.row_sizes})


def _scene_values(scene: Scene) -> dict[str, object]:
    """What of a scene are no columns."""
    totals = _totals(scene)
    return {
        "begin_ns": scene.begin_ns,
        "end_ns": scene.end_ns,
        "tracks": [asdict(one) for one in scene.tracks],
        "names": [
            {"text": plain(one.text), "kind": one.kind, "total_ns": total}
            for one, total in zip(scene.names, totals, strict=True)
        ],
        "sites": scene.sites,
        "launches": scene.launches,
        "processes": scene.processes,
        "levels": [_level_values(one) for one in scene.levels],
        "merged_below_ns": scene.merged_below_ns,
        "statuses": {
            one: status_name(one) for one in np.unique(scene.slices.status).tolist() if one
        },
    }


def _totals(scene: Scene) -> list[float]:
    """How long the slices of each name are together, in the tracks of queues."""
    tracks = [track.kind for track in scene.tracks for _ in range(track.rows)]
    is_queue = np.repeat([kind is TrackKind.QUEUE for kind in tracks], scene.row_sizes)
    shown = scene.slices.at(np.flatnonzero(is_queue))
    totals: list[float] = np.bincount(shown.name, shown.busy_ns, len(scene.names)).tolist()
    return totals


def _level_values(level: Level) -> dict[str, object]:
    return {
        "label": level.label,
        "unit": level.unit.value,
        "process": level.process,
        "time_ns": level.time_ns.tolist(),
        "value": (level.value / 1000 if level.unit is Unit.WATTS else level.value).tolist(),
    }


def _strip(activity: Activity, begin_ns: int, end_ns: int) -> dict[str, list[float]]:
    """The share of each of many short parts in which some device was busy, and where the parts begin."""
    commands = activity.commands
    placed = commands.is_placed
    busy = union(commands.start_ns[placed], commands.end_ns[placed])
    chart = Chart("busy", "", begin_ns, end_ns, ())
    found = shares(chart, ChartRow("", RowKind.QUEUE, 0, *busy), _STRIP_PARTS)
    times = np.linspace(begin_ns, max(end_ns, begin_ns + 1), _STRIP_PARTS + 1)
    return {"times": times.tolist(), "shares": [*(round(one, 4) for one in found), 0.0]}


def _notes(scene: Scene, options: PageOptions) -> list[str]:
    notes = []
    if not len(scene.slices):
        notes.append("note: there is nothing to draw: no call of OpenCL's was recorded then")
    if options.from_ns is not None or options.to_ns is not None:
        notes.append(
            f"note: the timeline goes from {scene.begin_ns / 1e9:.9f} s to {scene.end_ns / 1e9:.9f} s; "
            "the tables and histograms are of the whole trace"
        )
    if scene.merged_below_ns:
        notes.append(
            f"note: so much is in this trace that slices shorter than {time_text(scene.merged_below_ns)} "
            "are drawn together, by the name of the longest: `cltrace view --from … --to …` shows each"
        )
    return notes
