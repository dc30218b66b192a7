"""`cltrace summary`: what a trace says, at a glance."""

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path

from cltrace.commands.shared.argument_types import add_stretch_arguments, check_stretch, natural
from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import add_trace_argument, opened
from cltrace.errors import UsageError
from cltrace.predict.trace_profile import profile_of_trace
from cltrace.predict.traces import predicted_trace
from cltrace.profile import load_profile
from cltrace.report.activity import SORT_KEYS
from cltrace.report.document import Document
from cltrace.report.prediction import prediction_tables
from cltrace.report.selection import Selection
from cltrace.report.summary import DIMENSIONS, SummaryOptions, summary
from cltrace.trace.reader import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `summary`."""
    add_trace_argument(parser)
    parser.add_argument(
        "--by", choices=DIMENSIONS, default="kernel", help="what to group commands by"
    )
    parser.add_argument(
        "--sort", choices=SORT_KEYS, default="total", help="order of the rows (default total)"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=natural,
        default=10,
        help="most rows a table; 0 for all (default 10)",
    )
    parser.add_argument("--kernel", metavar="GLOB", help="only launches of such kernels")
    add_stretch_arguments(
        parser, from_help="only what was enqueued", to_help="only what was enqueued before T"
    )
    parser.add_argument(
        "--table", metavar="NAME", help="only one table, by the name that --format json gives it"
    )
    parser.add_argument(
        "--predict",
        metavar="PROFILE",
        nargs="?",
        const="",
        help="what kernels should take too, by the device's own profile or another",
    )
    parser.add_argument(
        "--energy-from",
        metavar="TRACE",
        type=Path,
        action="append",
        default=[],
        help="kernels whose energy is unresolved here, from a trace in which they ran alone (repeatable)",
    )
    parser.add_argument("--failed", action="store_true", help="only the calls that failed")
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the summary of a trace."""
    check_stretch(arguments.from_ns, arguments.to_ns)
    with opened(arguments.trace) as trace, contextlib.ExitStack() as others:
        options = SummaryOptions(
            by=arguments.by,
            sort=arguments.sort,
            top=arguments.top or None,
            selection=Selection(arguments.kernel, arguments.from_ns, arguments.to_ns),
            only_failures=arguments.failed,
            alone=tuple(others.enter_context(opened(one)) for one in arguments.energy_from),
        )
        document = summary(trace, options)
        if arguments.predict is not None:
            document = _with_predictions(document, trace, arguments.predict, options.top)
    if arguments.table is not None:
        document = _only(document, arguments.table)
    print_document(document, color=arguments.color, form=arguments.format)
    return 0


def _with_predictions(document: Document, trace: Trace, name: str, top: int | None) -> Document:
    """The summary, and what its launches should take. Raises: `ProfileError` without a profile."""
    own = profile_of_trace(trace)
    profile = load_profile(name) if name else own.needed()
    found = predicted_trace(trace, profile)
    is_what_if = profile.device.name not in own.devices
    tables = [one for one in prediction_tables(found, top=top, is_what_if=is_what_if) if one.rows]
    return replace(document, tables=[*document.tables, *tables])


def _only(document: Document, name: str) -> Document:
    tables = [table for table in document.tables if table.key == name]
    if not tables:
        names = ", ".join(table.key for table in document.tables)
        raise UsageError(f"there is no table {name!r} here; there are {names}")
    return replace(document, facts=(), tables=tables, notes=())
