"""The formats that a document can be written in, for machines and for pages."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from typing import Final

from cltrace.report.charts import shares
from cltrace.report.document import Chart, Document, Table, Value
from cltrace.report.quantities import shown
from cltrace.report.untrusted_text import plain

_CHART_PARTS: Final = 100
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def to_json(document: Document) -> str:
    """One object: the facts by key, and each table as a list of objects. Values are in their units.

    A key with several facts has a list of them; a chart is an object. What is not a finite number is
    null.
    """
    tables = {
        table.key: [
            dict(zip((column.key for column in table.columns), map(json_value, row), strict=True))
            for row in table.rows
        ]
        for table in document.tables
    }
    facts: dict[str, Value | list[Value]] = {}
    for fact in document.facts:
        value = fact.text if fact.value is None else fact.value
        if fact.key in facts:
            before = facts[fact.key]
            facts[fact.key] = [*(before if isinstance(before, list) else [before]), value]
        else:
            facts[fact.key] = value
    charts = {chart.key: _chart_value(chart) for chart in document.charts}
    whole = {
        "title": document.title,
        "facts": facts,
        "notes": list(document.notes),
        **charts,
        **tables,
    }
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def to_csv(document: Document) -> str:
    """Each table with a header line; several tables have their names in `#` lines before them.

    Values are in the units that the column names say. Text that a spreadsheet would run as a formula
    starts with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    tables = [table for table in document.tables if table.rows]
    for table in tables:
        if len(tables) > 1:
            out.write(f"# {table.key}\n")
        writer.writerow([column.key for column in table.columns])
        writer.writerows([[csv_value(value) for value in row] for row in table.rows])
        if table is not tables[-1]:
            out.write("\n")
    return out.getvalue()


def to_markdown(document: Document) -> str:
    """Headings and tables as GitHub reads them; values as people read them."""
    lines = [f"## {_markdown_text(document.title)}", ""] if document.title else []
    lines += [f"- **{fact.label}**: {_markdown_text(fact.text)}" for fact in document.facts]
    for table in document.tables:
        if table.rows or table.why_empty:
            lines += ["", f"### {_markdown_text(table.title)}", "", *_markdown_table(table)]
    for note in document.notes:
        lines += ["", f"> {_markdown_text(note)}"]
    return "\n".join(lines) + "\n"


FORMATS: Final[Mapping[str, Callable[[Document], str]]] = {
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
}
"""By the name that `--format` takes; `table` is the terminal's."""


def _chart_value(chart: Chart) -> dict[str, object]:
    """A chart as the share of each hundredth of its time in which something went on, by row."""
    return {
        "begin_ns": chart.begin_ns,
        "end_ns": chart.end_ns,
        "rows": [
            {
                "label": row.label,
                "kind": row.kind.value,
                "depth": row.depth,
                "busy": [round(share, 4) for share in shares(chart, row, _CHART_PARTS)],
            }
            for row in chart.rows
        ],
    }


def _markdown_table(table: Table) -> list[str]:
    if not table.rows:
        return [_markdown_text(table.why_empty)]
    heads = [_markdown_text(column.header) for column in table.columns]
    rules = [":--" if column.unit.is_text else "--:" for column in table.columns]
    rows = [
        [
            _markdown_text(shown(value, column.unit))
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows)]
    return [*lines, "", _markdown_text(table.note)] if table.note else lines


def _markdown_text(text: str) -> str:
    """Text in which nothing is markup."""
    escaped = plain(text)
    for mark in ("\\", "|", "`", "*", "_", "[", "]", "<", ">", "#", "!", "~"):
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped


def json_value(value: Value) -> Value:
    """JSON has no infinity and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_value(value: Value) -> Value:
    """A value as a cell: text that a spreadsheet would run as a formula starts with an apostrophe."""
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
