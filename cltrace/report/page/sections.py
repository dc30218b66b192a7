"""Sections of a page: the tables of a trace's reports, by subject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.predict.kernel_advice import MAX_COUNTING_S, RULES, Counting, propose_for_kernels
from cltrace.predict.trace_profile import predict_on_own_devices
from cltrace.predict.traces import PredictedTrace
from cltrace.report.activity import TRANSFERS, group_table, read_rollup_rows
from cltrace.report.call_stacks import place_times_table, stack_table
from cltrace.report.contents import contents_report
from cltrace.report.document import Fact, Table, Unit, Value
from cltrace.report.formats.text import json_value
from cltrace.report.host import failure_table
from cltrace.report.prediction import prediction_tables
from cltrace.report.profile_caveats import prediction_caveats
from cltrace.report.selection import Selection
from cltrace.report.summary import SummaryOptions, summary
from cltrace.report.timeline import TimelineOptions, timeline
from cltrace.report.traced_kernel import traced_kernel_tables
from cltrace.report.untrusted_text import escape_controls, shorten_place
from cltrace.timeline.analysis import Analysis

_SECTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "kernels": ("Kernels", ("kernels", "first_launches")),
    "understood": ("What kernels do", ()),
    "predicted": (
        "Predicted",
        (
            "predicted_launches",
            "predicted_transfers",
            "predicted_parts",
            "predicted_cost_types",
            "not_predicted",
        ),
    ),
    "energy": ("Energy", ("energy", "energy_balance")),
    "transfers": ("Transfers", ("transfers", "transfers_by_callsite")),
    "advice": ("Advice", ("advice",)),
    "stacks": ("Stacks", ("by_stack", "times_by_callsite")),
    "path": ("Critical path", ("critical_path", "slack")),
    "devices": ("Devices", ("busy", "idle", "latency")),
    "host": ("Host", ("api_calls", "builds", "regions", "failures")),
    "memory": ("Memory", ("memory", "live_at_exit")),
    "clocks": ("Clocks", ("clocks", "faults")),
    "file": ("File", ("contents", "processes", "reveals", "limits", "diagnostics")),
}
"""Title and keys of tables by section. Tables without a section are in the section `_REST`."""

_UNDERSTOOD: Final = "understood"
_REST: Final = "host"
_MAX_STACK_ROWS: Final = 1000


@dataclass(frozen=True, slots=True)
class Section:
    """Section of a page: tables under one title."""

    key: str
    title: str
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class PageReports:
    """Reports of a page: the facts and notes above its sections, the sections, and the predictions."""

    facts: tuple[Fact, ...]
    file_facts: tuple[Fact, ...]
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    home: str
    predictions: tuple[PredictedTrace, ...]


def collect_reports(analysis: Analysis) -> PageReports:
    """Return all reports of a trace, with every row of their tables."""
    trace = analysis.trace
    summary_document = summary(trace, SummaryOptions(top=None))
    predictions = predict_on_own_devices(trace)
    kernels = propose_for_kernels(predictions, analysis, RULES, Counting(max_s=MAX_COUNTING_S))
    timeline_document = timeline(analysis, TimelineOptions(top=None), kernels)
    contents = contents_report(trace)
    tables = [
        *summary_document.tables,
        *timeline_document.tables,
        *contents.tables,
        failure_table(trace, top=None),
    ]
    tables.append(_transfers_by_place(analysis))
    tables.append(stack_table(analysis, Selection(), sort="total", top=_MAX_STACK_ROWS))
    tables.append(place_times_table(analysis, Selection(), sort="total", top=None))
    if predictions:
        tables.extend(prediction_tables(predictions, top=None))
    understood = traced_kernel_tables(trace)
    return PageReports(
        facts=(*summary_document.facts, *prediction_caveats(predictions)),
        file_facts=tuple(contents.facts),
        notes=tuple(dict.fromkeys([*summary_document.notes, *timeline_document.notes])),
        sections=tuple(_sections(tables, understood)),
        home=summary_document.home,
        predictions=predictions,
    )


def _sections(tables: Sequence[Table], understood: Sequence[Table]) -> list[Section]:
    section_of = {key: name for name, (_, keys) in _SECTIONS.items() for key in keys}
    sections = []
    for name, (title, keys) in _SECTIONS.items():
        members = [table for table in tables if section_of.get(table.key, _REST) == name]
        members.sort(key=lambda table: keys.index(table.key) if table.key in keys else len(keys))
        members = [table for table in members if table.rows or table.why_empty]
        if name == _UNDERSTOOD:
            members.extend(understood)
        if members:
            sections.append(Section(name, title, tuple(members)))
    return sections


def _transfers_by_place(analysis: Analysis) -> Table:
    lines = read_rollup_rows(analysis.trace, "callsite")
    moved = [line for line in lines if line.activity in TRANSFERS]
    table = group_table(moved, by="callsite", sort="total", top=None)
    return Table(
        key="transfers_by_callsite", title="By place", columns=table.columns, rows=table.rows
    )


def section_values(section: Section, home: str) -> dict[str, object]:
    """Return a section as values for JSON."""
    return {
        "key": section.key,
        "title": section.title,
        "tables": [_table_values(table, home) for table in section.tables],
    }


def _table_values(table: Table, home: str) -> dict[str, object]:
    units = [column.unit for column in table.columns]
    return {
        "key": table.key,
        "title": table.title,
        "columns": [
            {"key": column.key, "header": column.header, "unit": column.unit.value}
            for column in table.columns
        ],
        "rows": [
            [_cell(value, unit, home) for value, unit in zip(row, units, strict=True)]
            for row in table.rows
        ],
        "note": escape_controls(table.note_with(table.columns)),
        "why_empty": table.why_empty,
    }


def _cell(value: Value, unit: Unit, home: str) -> Value:
    if not isinstance(value, str):
        return json_value(value)
    return escape_controls(shorten_place(value, home) if unit is Unit.PLACE else value)


def fact_values(facts: Sequence[Fact]) -> list[dict[str, str]]:
    """Return facts as values for JSON."""
    return [{"label": fact.label, "text": escape_controls(fact.text)} for fact in facts]
