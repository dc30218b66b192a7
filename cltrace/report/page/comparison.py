"""Two traces as one page: both on one axis, with their differences by kernel."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from cltrace.events.kinds import StampFault, fault_name
from cltrace.predict.trace_profile import predict_on_own_devices
from cltrace.report.document import Document, Fact
from cltrace.report.page.assembly import assemble_page
from cltrace.report.page.compose import build_scene
from cltrace.report.page.differences import difference_tables
from cltrace.report.page.joined_scene import JoinedScene, join_scenes
from cltrace.report.page.launches import describe_launches
from cltrace.report.page.renamed_kernels import find_renames
from cltrace.report.page.scene_values import pack_scene, scene_values
from cltrace.report.page.sections import Section, fact_values, section_values
from cltrace.report.page.trace_page import PageOptions, save_page, scene_notes
from cltrace.report.summary import SummaryOptions, summary
from cltrace.report.timeline import span_ns
from cltrace.report.tracks.scene import Scene
from cltrace.report.untrusted_text import escape_controls
from cltrace.timeline.analysis import Analysis
from cltrace.trace.reader import Trace


def write_comparison(first: Trace, second: Trace, options: PageOptions, path: Path) -> None:
    """Write the page of two traces to `path`. Raises: `UsageError`, `DamagedTraceError`, `OSError`."""
    save_page(render_comparison(first, second, options), [first, second], path)


def render_comparison(first: Trace, second: Trace, options: PageOptions) -> str:
    """Return the page of two traces, A and B. Together they have as many slices as the page of one.

    Raises: `UsageError`, `DamagedTraceError`.
    """
    half = replace(options, max_slices=max(options.max_slices // 2, 1))
    traces = (first, second)
    analyses = [Analysis(trace) for trace in traces]
    summaries = [summary(trace, SummaryOptions(top=None)) for trace in traces]
    labels = [
        f"{letter}: {escape_controls(trace.path.name)}"
        for letter, trace in zip("AB", traces, strict=True)
    ]
    scenes = [
        _scene(analysis, half, document.home)
        for analysis, document in zip(analyses, summaries, strict=True)
    ]
    renames = find_renames(analyses[0], analyses[1])
    joined = join_scenes(scenes[0], scenes[1], (labels[0], labels[1]), renames)
    columns = pack_scene(joined.scene)
    facts = [
        _fact(letter, trace, document)
        for letter, trace, document in zip("AB", traces, summaries, strict=True)
    ]
    section = Section(
        "differences", "Differences", tuple(difference_tables(first, second, renames))
    )
    report = {
        "facts": fact_values(facts),
        "file_facts": [],
        "notes": _notes(scenes, half),
        "sections": [section_values(section, "")],
        "histograms": [],
        "flames": [],
        "fault_names": [fault_name(fault) for fault in StampFault],
        "scene": {**scene_values(joined.scene), "second": _second(joined, scenes)},
        "columns": [asdict(layout) for layout in columns.layouts],
    }
    title = f"{first.path.name} and {second.path.name} – cltrace"
    return assemble_page(escape_controls(title), report, columns.data)


def _scene(analysis: Analysis, options: PageOptions, home: str) -> Scene:
    trace = analysis.trace
    begin_ns, end_ns = span_ns(analysis.activity, options.from_ns, options.to_ns)
    predictions = predict_on_own_devices(trace)
    return build_scene(
        analysis,
        describe_launches(trace, predictions, analysis.activity.commands.launch),
        begin_ns,
        end_ns,
        home=home,
        max_slices=options.max_slices,
    )


def _second(joined: JoinedScene, scenes: Sequence[Scene]) -> dict[str, object]:
    """Return where the second trace begins among the tracks, levels and slices, and both spans in ns."""
    return {
        "track": joined.tracks,
        "level": joined.levels,
        "slice": joined.slices,
        "spans": [[scene.begin_ns, scene.end_ns] for scene in scenes],
    }


def _fact(letter: str, trace: Trace, document: Document) -> Fact:
    """Return the trace's name, with the facts of its summary that name the run."""
    facts = {fact.key: fact.text for fact in document.facts}
    kept = [facts[key] for key in ("command", "ended", "device") if facts.get(key)]
    return Fact(f"name_{letter.lower()}", letter, ", ".join([trace.path.name, *kept]))


def _notes(scenes: Sequence[Scene], options: PageOptions) -> list[str]:
    return [
        f"{letter}: {note.removeprefix('note: ')}"
        for letter, scene in zip("AB", scenes, strict=True)
        for note in scene_notes(scene, options)
    ]
