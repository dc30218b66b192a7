"""The sections of a page: the tables of the reports that a trace has, by what they are about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.predict.trace_profile import own_predictions
from cltrace.report.activity import TRANSFERS, group_table, stored_lines
from cltrace.report.contents import contents
from cltrace.report.document import Fact, Table, Unit, Value
from cltrace.report.formats.text import json_value
from cltrace.report.host import failure_table
from cltrace.report.prediction import prediction_tables
from cltrace.report.summary import SummaryOptions, summary
from cltrace.report.timeline import TimelineOptions, timeline
from cltrace.report.traced_kernel import understood_kernels
from cltrace.report.untrusted_text import plain, short_place
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
    "path": ("Critical path", ("critical_path", "slack")),
    "devices": ("Devices", ("busy", "idle", "latency")),
    "host": ("Host", ("api_calls", "builds", "regions", "failures")),
    "memory": ("Memory", ("memory", "live_at_exit")),
    "clocks": ("Clocks", ("clocks", "faults")),
    "file": ("File", ("contents", "processes", "reveals", "limits", "diagnostics")),
}
"""By key: the title of a section and the keys of its tables. Tables of no section are in `_REST`."""

_UNDERSTOOD: Final = "understood"
_REST: Final = "host"


@dataclass(frozen=True, slots=True)
class Section:
    """A section: tables under one title."""

    key: str
    title: str
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Reports:
    """What the sections are made of, and what stands above them."""

    facts: tuple[Fact, ...]
    file_facts: tuple[Fact, ...]
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    home: str


def reports(analysis: Analysis) -> Reports:
    """All reports of a trace, with every row of their tables."""
    trace = analysis.trace
    whole = summary(trace, SummaryOptions(top=None))
    course = timeline(analysis, TimelineOptions(top=None))
    file = contents(trace)
    tables = [*whole.tables, *course.tables, *file.tables, failure_table(trace, top=None)]
    tables.append(_transfers_by_place(analysis))
    predicted = own_predictions(trace)
    if predicted is not None:
        tables.extend(prediction_tables(predicted, top=None))
    understood = understood_kernels(trace)
    return Reports(
        facts=tuple(whole.facts),
        file_facts=tuple(file.facts),
        notes=tuple(dict.fromkeys([*whole.notes, *course.notes])),
        sections=tuple(_sections(tables, understood)),
        home=whole.home,
    )


def _sections(tables: Sequence[Table], understood: Sequence[Table]) -> list[Section]:
    section_of = {key: name for name, (_, keys) in _SECTIONS.items() for key in keys}
    found = []
    for name, (title, keys) in _SECTIONS.items():
        own = [one for one in tables if section_of.get(one.key, _REST) == name]
        own.sort(key=lambda one: keys.index(one.key) if one.key in keys else len(keys))
        own = [one for one in own if one.rows or one.why_empty]
        if name == _UNDERSTOOD:
            own.extend(understood)
        if own:
            found.append(Section(name, title, tuple(own)))
    return found


def _transfers_by_place(analysis: Analysis) -> Table:
    lines = stored_lines(analysis.trace, "callsite")
    moved = [line for line in lines if line.activity in TRANSFERS]
    table = group_table(moved, by="callsite", sort="total", top=None)
    return Table("transfers_by_callsite", "By place", table.columns, table.rows)


def section_values(section: Section, home: str) -> dict[str, object]:
    """A section as JSON can hold it."""
    return {
        "key": section.key,
        "title": section.title,
        "tables": [_table_values(one, home) for one in section.tables],
    }


def _table_values(table: Table, home: str) -> dict[str, object]:
    units = [column.unit for column in table.columns]
    return {
        "key": table.key,
        "title": table.title,
        "columns": [
            {"key": one.key, "header": one.header, "unit": one.unit.value} for one in table.columns
        ],
        "rows": [
            [_cell(value, unit, home) for value, unit in zip(row, units, strict=True)]
            for row in table.rows
        ],
        "note": plain(table.note),
        "why_empty": table.why_empty,
    }


def _cell(value: Value, unit: Unit, home: str) -> Value:
    if not isinstance(value, str):
        return json_value(value)
    return plain(short_place(value, home) if unit is Unit.PLACE else value)


def fact_values(facts: Sequence[Fact]) -> list[dict[str, str]]:
    """Facts as JSON can hold them."""
    return [{"label": one.label, "text": plain(one.text)} for one in facts]
