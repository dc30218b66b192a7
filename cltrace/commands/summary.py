"""`cltrace summary`: summarise the kernels, transfers, host calls, builds and memory of a trace."""

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path

from cltrace.commands.shared.argument_types import (
    add_time_range_arguments,
    check_time_range,
    parse_natural,
)
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.errors import UsageError
from cltrace.report.activity import SORT_KEYS
from cltrace.report.document import Document
from cltrace.report.selection import Selection
from cltrace.report.summary import DIMENSIONS, SummaryOptions, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `summary`."""
    add_trace_argument(parser)
    parser.add_argument(
        "--by",
        choices=DIMENSIONS,
        metavar="KEY",
        default="kernel",
        help=f"group by {', '.join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]} (default kernel)",
    )
    parser.add_argument(
        "--sort", choices=SORT_KEYS, default="total", help="sort the rows (default total)"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=parse_natural,
        default=10,
        help="show at most N rows per table; 0 for all (default 10)",
    )
    parser.add_argument(
        "--kernel", metavar="GLOB", help="include only launches of kernels whose names match"
    )
    add_time_range_arguments(parser, "include commands enqueued")
    parser.add_argument(
        "--table", metavar="NAME", help="show only one table, by its name in --format json"
    )
    _add_models(parser)
    parser.add_argument("--failed", action="store_true", help="show only the calls that failed")
    add_format_argument(parser)


def _add_models(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of predicted times and of energies from other traces."""
    parser.add_argument(
        "--predict",
        metavar="PROFILE",
        nargs="?",
        const="",
        help="show predicted times, too, by the devices' own profiles or another one",
    )
    parser.add_argument(
        "--energy-from",
        metavar="TRACE",
        type=Path,
        action="append",
        default=[],
        help="take energies of kernels that are unresolved here from a trace in which they ran "
        "alone (repeatable)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Print the summary of a trace."""
    check_time_range(arguments.from_ns, arguments.to_ns)
    with open_trace(arguments.trace) as trace, contextlib.ExitStack() as others:
        options = SummaryOptions(
            by=arguments.by,
            sort=arguments.sort,
            top=arguments.top or None,
            selection=Selection(arguments.kernel, arguments.from_ns, arguments.to_ns),
            only_failures=arguments.failed,
            calibration_traces=tuple(
                others.enter_context(open_trace(path)) for path in arguments.energy_from
            ),
        )
        document = summary(trace, options)
        if arguments.predict is not None:
            # The import of what counts and predicts takes as long as a summary.
            from cltrace.commands.shared.predicted_summary import add_predictions  # noqa: PLC0415

            document = add_predictions(document, trace, arguments.predict, options.top)
    if arguments.table is not None:
        document = _select_table(document, arguments.table)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0


def _select_table(document: Document, name: str) -> Document:
    tables = [table for table in document.tables if table.key == name]
    if not tables:
        names = ", ".join(table.key for table in document.tables)
        raise UsageError(f"there is no table {name!r} here; there are {names}")
    return replace(document, facts=(), tables=tables, notes=())
