"""A trace as one page for the browser: timeline and reports in a file that needs nothing else."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.events.kinds import StampFault, fault_name
from cltrace.report.formats import json_value
from cltrace.report.page.assembly import page_text
from cltrace.report.page.columns import Packed, packed
from cltrace.report.page.compose import scene_of
from cltrace.report.page.histograms import histograms
from cltrace.report.page.scene import Level, Scene, Track
from cltrace.report.page.sections import Reports, fact_values, reports, section_values
from cltrace.report.quantities import time_text
from cltrace.report.text import plain
from cltrace.report.timeline import span_ns
from cltrace.timeline.activity import Activity
from cltrace.timeline.analysis import Analysis
from cltrace.timeline.intervals import covered_ns, union
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
    path.write_text(page_of(trace, options), encoding="utf-8")


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
        "scene": _scene_values(scene, analysis.activity),
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


def _scene_values(scene: Scene, activity: Activity) -> dict[str, object]:
    """What of a scene are no columns."""
    commands = activity.commands
    took = np.maximum(commands.duration_ns, 0)
    totals = np.bincount(commands.kernel, took, len(activity.names.kernels))
    total_of = dict(zip(activity.names.kernels, totals.tolist(), strict=True))
    return {
        "begin_ns": scene.begin_ns,
        "end_ns": scene.end_ns,
        "tracks": [_track_values(one) for one in scene.tracks],
        "names": [
            {"text": plain(one.text), "kind": one.kind, "total_ns": total_of.get(one.text, 0.0)}
            for one in scene.names
        ],
        "sites": scene.sites,
        "launches": scene.launches,
        "processes": scene.processes,
        "memory": [_level_values(one) for one in scene.memory],
        "merged_below_ns": scene.merged_below_ns,
    }


def _track_values(track: Track) -> dict[str, object]:
    clock = [{**asdict(one), "bound_ns": json_value(one.bound_ns)} for one in track.clock]
    return {**asdict(track), "clock": clock}


def _level_values(level: Level) -> dict[str, object]:
    return {
        "label": level.label,
        "process": level.process,
        "time_ns": level.time_ns.tolist(),
        "value": level.value.tolist(),
    }


def _strip(activity: Activity, begin_ns: int, end_ns: int) -> dict[str, list[float]]:
    """The share of each of many short parts in which some device was busy, and where the parts begin."""
    commands = activity.commands
    placed = commands.is_placed
    busy = union(commands.start_ns[placed], commands.end_ns[placed])
    edges = np.linspace(begin_ns, max(end_ns, begin_ns + 1), _STRIP_PARTS + 1)
    whole = np.round(edges).astype(np.int64)
    shares = covered_ns(busy, whole[:-1], whole[1:]) / np.maximum(np.diff(whole), 1)
    return {"times": edges.tolist(), "shares": np.round([*shares, 0.0], 4).tolist()}


def _notes(scene: Scene, options: PageOptions) -> list[str]:
    notes = []
    if options.from_ns is not None or options.to_ns is not None:
        notes.append(
            f"note: the timeline goes from {time_text(scene.begin_ns)} to {time_text(scene.end_ns)}; "
            "the tables are of the whole trace"
        )
    if scene.merged_below_ns:
        notes.append(
            f"note: so much is in this trace that slices shorter than {time_text(scene.merged_below_ns)} "
            "are drawn together: `cltrace view --from … --to …` shows each of them"
        )
    return notes
