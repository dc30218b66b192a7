"""A trace as one page for the browser: timeline and reports in a self-contained file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cltrace.events.kinds import StampFault, fault_name
from cltrace.report.page.assembly import assemble_page
from cltrace.report.page.compose import build_scene
from cltrace.report.page.flames import flame_graphs
from cltrace.report.page.histograms import histograms
from cltrace.report.page.launches import describe_launches
from cltrace.report.page.scene_values import busy_strip, pack_scene, scene_values
from cltrace.report.page.sections import PageReports, collect_reports, fact_values, section_values
from cltrace.report.quantities import time_text
from cltrace.report.timeline import span_ns
from cltrace.report.tracks.scene import Scene
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.analysis import Analysis
from cltrace.trace.reader import Trace


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
    save_page(render_page(trace, options), [trace], path)


def save_page(text: str, traces: Sequence[Trace], path: Path) -> None:
    """Write a page, open only to those who may read all of its traces, as it reveals what they reveal.

    Raises: `OSError`.
    """
    mode = 0o666
    for trace in traces:
        mode &= trace.path.stat().st_mode
    path.touch(mode=mode)
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
    columns = pack_scene(scene)
    report = {
        "facts": fact_values(reports.facts),
        "file_facts": fact_values(reports.file_facts),
        "notes": [escape_controls(note) for note in (*reports.notes, *scene_notes(scene, options))],
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
        "overview": busy_strip(analysis.activity, begin_ns, end_ns),
        "fault_names": [fault_name(fault) for fault in StampFault],
        "scene": scene_values(scene),
        "columns": [asdict(layout) for layout in columns.layouts],
    }
    return assemble_page(f"{_title(reports)} – cltrace", report, columns.data)


def _title(reports: PageReports) -> str:
    return escape_controls(
        next((fact.text for fact in reports.facts if fact.key == "command"), "trace")
    )


def scene_notes(scene: Scene, options: PageOptions) -> list[str]:
    """Return the notes on what the timeline leaves out."""
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
