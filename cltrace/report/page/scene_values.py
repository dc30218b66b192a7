"""Contents of a page's timeline as packed columns and as values for JSON."""

from dataclasses import asdict, fields
from typing import Final

import numpy as np

from cltrace.events.statuses import status_name
from cltrace.report.charts import busy_shares
from cltrace.report.document import Chart, ChartRow, RowKind, Unit
from cltrace.report.page.columns import PackedColumns, pack_columns
from cltrace.report.tracks.scene import CounterLevel, Scene, TrackKind
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.activity import Activity
from cltrace.timeline.intervals import union

_STRIP_PARTS: Final = 600


def pack_scene(scene: Scene) -> PackedColumns:
    """Return the numeric columns of a scene. Pairs are one after the other."""
    slices = {
        f"slice.{field.name}": getattr(scene.slices, field.name) for field in fields(scene.slices)
    }
    links = {
        f"link.{field.name}": getattr(scene.links, field.name).reshape(-1)
        for field in fields(scene.links)
    }
    return pack_columns({**slices, **links, "row.size": scene.row_sizes})


def scene_values(scene: Scene) -> dict[str, object]:
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


def busy_strip(activity: Activity, begin_ns: int, end_ns: int) -> dict[str, list[float]]:
    """Return the share of each of many short parts in which a device was busy, and the parts' edges."""
    commands = activity.commands
    placed = commands.is_placed
    busy = union(commands.start_ns[placed], commands.end_ns[placed])
    chart = Chart("busy", "", begin_ns, end_ns, ())
    shares = busy_shares(chart, ChartRow("", RowKind.QUEUE, 0, *busy), _STRIP_PARTS)
    times = np.linspace(begin_ns, max(end_ns, begin_ns + 1), _STRIP_PARTS + 1)
    return {"times": times.tolist(), "shares": [*(round(share, 4) for share in shares), 0.0]}
