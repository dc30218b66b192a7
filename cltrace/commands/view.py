"""`cltrace view`: write a trace, two side by side, or events inside a kernel, as an offline page."""

import argparse
import contextlib
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cltrace.commands.shared.argument_types import add_time_range_arguments, check_time_range
from cltrace.commands.shared.event_recording import write_event_page
from cltrace.commands.shared.messages import say
from cltrace.commands.shared.outputs import (
    add_output_arguments,
    check_replaceable_file,
    output_path,
    write_output_atomically,
)
from cltrace.commands.shared.trace_argument import open_trace
from cltrace.errors import UsageError
from cltrace.kernels.events.files import read_events
from cltrace.report.kernel_events import analyse_events
from cltrace.report.page.comparison import write_comparison
from cltrace.report.page.ownership import is_own_page
from cltrace.report.page.trace_page import PageOptions, write_page
from cltrace.spool.layout import EVENTS_SUFFIX, TRACE_SUFFIX
from cltrace.trace.reader import Trace

SUFFIX: Final = ".html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `view`."""
    parser.add_argument(
        "traces",
        metavar="TRACE",
        nargs="*",
        type=Path,
        help="read this trace, two to compare, or a file of events (default: the newest *.cltrace here)",
    )
    add_output_arguments(parser, ending=SUFFIX, kept="a file that is no page of cltrace")
    add_time_range_arguments(parser, "draw activity")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def execute(arguments: argparse.Namespace) -> int:
    """Write a trace as a page, or two traces side by side. Raises: `CltraceError`."""
    check_time_range(arguments.from_ns, arguments.to_ns)
    paths: list[Path | None] = arguments.traces or [None]
    if len(paths) > 2:
        raise UsageError(f"{len(paths)} traces: a page shows one, or two side by side")
    if len(paths) == 1 and paths[0] is not None and paths[0].suffix == EVENTS_SUFFIX:
        return _view_events(paths[0], arguments)
    options = PageOptions(from_ns=arguments.from_ns, to_ns=arguments.to_ns)
    with contextlib.ExitStack() as stack:
        traces = [stack.enter_context(open_trace(path)) for path in paths]
        target = _target(traces, arguments.output)
        write_output_atomically(
            target,
            lambda path: _write(traces, options, path),
            lambda path: _check_replaceable(traces, path),
            is_forced=arguments.force,
            is_own=is_own_page,
        )
    say(f"wrote {target}")
    say(
        f"it reveals what the {'traces do' if len(traces) > 1 else 'trace does'}: `cltrace info` lists it"
    )
    _open_page(target, is_wanted=arguments.open)
    return 0


def _view_events(path: Path, arguments: argparse.Namespace) -> int:
    """Write the events inside a launch as a page. Raises: `CltraceError`."""
    analysis = analyse_events(read_events(path))
    target: Path = arguments.output or Path(path.name.removesuffix(EVENTS_SUFFIX) + SUFFIX)
    write_event_page(analysis, None, target, is_forced=arguments.force)
    say(f"wrote {target}: it has the kernel's source")
    _open_page(target, is_wanted=arguments.open)
    return 0


def _open_page(target: Path, *, is_wanted: bool) -> None:
    if is_wanted and not webbrowser.open(target.resolve().as_uri()):
        say("there is no browser here: open the file on a machine with one")


def _target(traces: Sequence[Trace], named: Path | None) -> Path:
    """Return the path to write to. The default name of two traces has both names."""
    first, *others = traces
    names = [trace.path.name.removesuffix(TRACE_SUFFIX) for trace in others]
    return output_path(first, named, "".join(f"-{name}" for name in names) + SUFFIX)


def _write(traces: Sequence[Trace], options: PageOptions, path: Path) -> None:
    if len(traces) > 1:
        write_comparison(traces[0], traces[1], options, path)
    else:
        write_page(traces[0], options, path)


def _check_replaceable(traces: Sequence[Trace], path: Path) -> None:
    for trace in traces:
        check_replaceable_file(trace, path)
