"""`cltrace query`: read-only SQL on the views of a trace."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from cltrace.commands.shared.argument_types import positive, seconds
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import readable
from cltrace.errors import UsageError
from cltrace.report.document import Column, Document, Table, Unit, Value
from cltrace.report.formats.terminal import console_for, hidden_columns, is_ascii_only
from cltrace.report.untrusted_text import plain
from cltrace.trace.query import QueryResult, query
from cltrace.trace.views import VIEWS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `query`."""
    parser.add_argument("trace", metavar="TRACE", nargs="?", type=Path, help="a trace file")
    parser.add_argument("sql", metavar="SQL", nargs="?", help="one SELECT statement; - reads stdin")
    parser.add_argument("--list", action="store_true", help="list the views and their columns")
    parser.add_argument(
        "--limit", metavar="N", type=positive, default=1000, help="most rows (default 1000)"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, default=10.0, help="most seconds (default 10)"
    )
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the result of a query, or the views."""
    if arguments.list:
        print_document(_views(), color=arguments.color, form=arguments.format)
        return 0
    if arguments.trace is None or arguments.sql is None:
        raise UsageError(
            "give a trace and a statement: cltrace query TRACE 'SELECT ...'; --list shows the views"
        )
    if not arguments.trace.exists() and Path(arguments.sql).is_file():
        raise UsageError("the trace comes first: cltrace query TRACE 'SELECT ...'")
    sql = sys.stdin.read() if arguments.sql == "-" else arguments.sql
    with readable(arguments.trace) as path:
        result = query(path, sql, most_rows=arguments.limit, most_seconds=arguments.timeout)
    document = _document(result)
    print_document(document, color=arguments.color, form=arguments.format)
    if arguments.format == "table":
        _say_what_is_hidden(document)
    if result.is_cut:
        sys.stderr.write(f"cltrace: only the first {arguments.limit} rows: --limit raises that\n")
    return 0


def _document(result: QueryResult) -> Document:
    # Where there is no room for all, the first ones stay.
    columns = [
        Column(key, name, _unit(result, position), -position)
        for position, (key, name) in enumerate(_keyed(result.column_names))
    ]
    rows = [[_value(value) for value in row] for row in result.rows]
    return Document("", [], [Table("rows", "", columns, rows, why_empty="no row")])


def _keyed(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names of columns, each with a key that no other has: `a`, `a_2`."""
    used: set[str] = set()
    for name in names:
        key = next(
            one for at in count(1) if (one := f"{name}_{at}" if at > 1 else name) not in used
        )
        used.add(key)
        yield key, name


def _say_what_is_hidden(document: Document) -> None:
    width, is_ascii = console_for(sys.stdout).width, is_ascii_only(sys.stdout.encoding)
    hidden = [
        name
        for table in document.tables
        for name in hidden_columns(table, width, is_ascii=is_ascii)
    ]
    if hidden:
        names = ", ".join(map(plain, hidden))
        sys.stderr.write(
            f"cltrace: no room for {len(hidden)} columns ({names}): select fewer, or --format csv\n"
        )


def _unit(result: QueryResult, position: int) -> Unit:
    """Text is left-aligned and may be shortened; a column of numbers is neither."""
    values = [row[position] for row in result.rows]
    is_text = any(isinstance(value, (str, bytes)) for value in values)
    return Unit.TEXT if is_text else Unit.PLAIN


def _value(value: object) -> Value:
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)


def _views() -> Document:
    tables = [
        Table(
            view.name,
            f"{view.name}: {view.meaning}",
            (Column("column", "column"), Column("meaning", "meaning", Unit.PROSE, 90)),
            [(column.name, column.meaning) for column in view.columns],
        )
        for view in VIEWS
    ]
    return Document("", [], tables)
