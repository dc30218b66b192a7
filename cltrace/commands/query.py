"""`cltrace query`: run read-only SQL on the views of a trace."""

import argparse
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from cltrace.commands.shared.argument_types import parse_positive, parse_seconds
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.messages import say
from cltrace.commands.shared.trace_argument import as_trace_file
from cltrace.errors import UsageError
from cltrace.report.document import Column, Document, Table, Unit, Value
from cltrace.spool.layout import EVENTS_SUFFIX
from cltrace.trace.guard import open_trace
from cltrace.trace.guarded_query import run_guarded_query
from cltrace.trace.query import QueryResult
from cltrace.trace.views import VIEWS

_OPENING_EVENTS_S: Final = 30.0
_MAX_SHOWN: Final = 4096
_MAX_COLUMNS: Final = 100_000
"""More than a statement of SQLite can select."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `query`."""
    parser.add_argument(
        "trace", metavar="TRACE", nargs="?", type=Path, help="query this trace file"
    )
    parser.add_argument(
        "sql", metavar="SQL", nargs="?", help="run this SELECT statement; - reads it from stdin"
    )
    parser.add_argument("--list", action="store_true", help="list the views and their columns")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=parse_positive,
        default=1000,
        help="print at most N rows (default 1000)",
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=parse_seconds,
        default=10.0,
        help="run for at most S seconds (default 10)",
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the result of a query, or the views."""
    if arguments.list:
        print_document(_list_views(), color=arguments.color, output_format=arguments.format)
        return 0
    if arguments.trace is None or arguments.sql is None:
        raise UsageError(
            "give a trace and a statement: cltrace query TRACE 'SELECT ...'; --list shows the views"
        )
    if not arguments.trace.exists() and Path(arguments.sql).is_file():
        raise UsageError("the trace comes first: cltrace query TRACE 'SELECT ...'")
    sql = sys.stdin.read() if arguments.sql == "-" else arguments.sql
    with as_trace_file(arguments.trace) as path:
        is_trace = path.suffix != EVENTS_SUFFIX
        result = run_guarded_query(
            path,
            sql,
            max_rows=arguments.limit,
            max_seconds=arguments.timeout,
            open_file=open_trace if is_trace else _open_events,
            opening_s=0.0 if is_trace else _OPENING_EVENTS_S,
        )
    document = _make_document(_shorten(result) if arguments.format == "table" else result)
    print_document(document, color=arguments.color, output_format=arguments.format)
    if result.is_cut:
        say(f"only the first {arguments.limit} rows: --limit raises that")
    return 0


def _open_events(path: Path) -> sqlite3.Connection:
    """Return a connection to the tables of a file of events."""
    from cltrace.kernels.events.files import read_events  # noqa: PLC0415 - imports numpy
    from cltrace.kernels.events.tables import open_database  # noqa: PLC0415

    return open_database(read_events(path))


def _shorten(result: QueryResult) -> QueryResult:
    """Return a result without the ends of texts that are longer than any terminal is wide."""

    def shorten(value: object) -> object:
        if isinstance(value, (str, bytes)) and len(value) > _MAX_SHOWN:
            return f"{_to_value(value[:_MAX_SHOWN])}…"
        return value

    rows = [tuple(map(shorten, row)) for row in result.rows]
    return QueryResult(result.column_names, rows, result.is_cut)


def _make_document(result: QueryResult) -> Document:
    # Texts are shortened before a column is left out, and the first columns stay.
    columns = [
        Column(key, name, _column_unit(result, index), _MAX_COLUMNS - index)
        for index, (key, name) in enumerate(_unique_keys(result.column_names))
    ]
    rows = [[_to_value(value) for value in row] for row in result.rows]
    table = Table(
        key="rows", title="", columns=columns, rows=rows, why_empty="no row", lists_hidden=True
    )
    return Document("", [], [table])


def _unique_keys(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each column's unique key and its name: two columns `a` have the keys `a` and `a_2`."""
    used: set[str] = set()
    for name in names:
        candidates = (f"{name}_{number}" if number > 1 else name for number in count(1))
        key = next(candidate for candidate in candidates if candidate not in used)
        used.add(key)
        yield key, name


def _column_unit(result: QueryResult, index: int) -> Unit:
    """Return the unit of a column: text is left-aligned and may be shortened, numbers neither."""
    values = [row[index] for row in result.rows]
    is_text = any(isinstance(value, (str, bytes)) for value in values)
    return Unit.TEXT if is_text else Unit.PLAIN


def _to_value(value: object) -> Value:
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)


def _list_views() -> Document:
    tables = [
        Table(
            key=view.name,
            title=f"{view.name}: {view.description}",
            columns=(Column("column", "column"), Column("meaning", "meaning", Unit.PROSE, 90)),
            rows=[(column.name, column.description) for column in view.columns],
        )
        for view in VIEWS
    ]
    return Document("", [], tables)
