"""Documents in text formats: JSON, CSV and Markdown."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cltrace.report.charts import busy_shares
from cltrace.report.document import Chart, Document, Table, Value
from cltrace.report.quantities import value_text
from cltrace.report.untrusted_text import escape_controls

_CHART_PARTS: Final = 100
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def to_json(document: Document) -> str:
    """Return one object: the facts by key, and each table as a list of objects.

    Values are in their units. A key with several facts has a list of them, one with several tables the
    rows of all; a chart is an object. Numbers that are not finite are null.
    """
    return json.dumps(_json_object(document), indent=2, allow_nan=False) + "\n"


def documents_to_json(key: str, documents: Sequence[Document]) -> str:
    """Return one object, whose `key` has a list of the documents' objects."""
    objects = [_json_object(document) for document in documents]
    return json.dumps({key: objects}, indent=2, allow_nan=False) + "\n"


def _json_object(document: Document) -> dict[str, object]:
    tables: dict[str, list[dict[str, Value]]] = {}
    for table in document.tables:
        keys = [column.key for column in table.columns]
        rows = [dict(zip(keys, map(json_value, row), strict=True)) for row in table.rows]
        tables.setdefault(table.key, []).extend(rows)
    facts: dict[str, Value | list[Value]] = {}
    for fact in document.facts:
        value = fact.text if fact.value is None else fact.value
        if fact.key in facts:
            earlier = facts[fact.key]
            facts[fact.key] = [*(earlier if isinstance(earlier, list) else [earlier]), value]
        else:
            facts[fact.key] = value
    charts = {chart.key: _chart_value(chart) for chart in document.charts}
    return {
        "title": document.title,
        "facts": facts,
        "notes": list(document.notes),
        **charts,
        **tables,
    }


def to_csv(document: Document) -> str:
    """Return each table with a header line; several tables have their names in `#` lines before them.

    Values are in the units that the column names state. Text that a spreadsheet would run as a formula
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
    """Return headings and tables as GitHub reads them; values as people read them."""
    lines = [f"## {_escape_markdown(document.title)}", ""] if document.title else []
    lines += [f"- **{fact.label}**: {_escape_markdown(fact.text)}" for fact in document.facts]
    for table in document.tables:
        if table.rows or table.why_empty:
            lines += ["", f"### {_escape_markdown(table.title)}", "", *_markdown_table(table)]
    for note in document.notes:
        lines += ["", f"> {_escape_markdown(note)}"]
    return "\n".join(lines) + "\n"


FORMATS: Final[Mapping[str, Callable[[Document], str]]] = {
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
}
"""Writers by the name that `--format` takes; `table` is the terminal's."""


def _chart_value(chart: Chart) -> dict[str, object]:
    """Return a chart as the busy share of each hundredth of its time, by row."""
    return {
        "begin_ns": chart.begin_ns,
        "end_ns": chart.end_ns,
        "rows": [
            {
                "label": row.label,
                "kind": row.kind.value,
                "depth": row.depth,
                "busy": [round(share, 4) for share in busy_shares(chart, row, _CHART_PARTS)],
            }
            for row in chart.rows
        ],
    }


def _markdown_table(table: Table) -> list[str]:
    if not table.rows:
        return [_escape_markdown(table.why_empty)]
    heads = [_escape_markdown(column.header) for column in table.columns]
    rules = [":--" if column.unit.is_text else "--:" for column in table.columns]
    rows = [
        [
            _escape_markdown(value_text(value, column.unit))
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows)]
    note = table.note_with(table.columns)
    return [*lines, "", _escape_markdown(note)] if note else lines


def _escape_markdown(text: str) -> str:
    """Return text in which nothing is markup."""
    escaped = escape_controls(text)
    for mark in ("\\", "|", "`", "*", "_", "[", "]", "<", ">", "#", "!", "~"):
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped


def json_value(value: Value) -> Value:
    """Return a value that JSON has: null for infinities and NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_value(value: Value) -> Value:
    """Return a cell; text that a spreadsheet would run as a formula starts with an apostrophe."""
    if not isinstance(value, str):
        return value
    text = escape_controls(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
