"""`cltrace view`: write a trace as an offline page for the browser, in one file."""

import argparse
import webbrowser
from typing import Final

from cltrace.commands.shared.argument_types import add_time_range_arguments, check_time_range
from cltrace.commands.shared.messages import say
from cltrace.commands.shared.outputs import (
    add_output_arguments,
    check_replaceable_file,
    output_path,
    write_output_atomically,
)
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.report.page import PageOptions, write_page
from cltrace.report.page.ownership import is_own_page

SUFFIX: Final = ".html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `view`."""
    add_trace_argument(parser)
    add_output_arguments(parser, ending=SUFFIX, kept="a file that is no page of cltrace")
    add_time_range_arguments(parser, "draw activity")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def execute(arguments: argparse.Namespace) -> int:
    """Write a trace as a page."""
    check_time_range(arguments.from_ns, arguments.to_ns)
    options = PageOptions(from_ns=arguments.from_ns, to_ns=arguments.to_ns)
    with open_trace(arguments.trace) as trace:
        target = output_path(trace, arguments.output, SUFFIX)
        write_output_atomically(
            target,
            lambda path: write_page(trace, options, path),
            lambda path: check_replaceable_file(trace, path),
            is_forced=arguments.force,
            is_own=is_own_page,
        )
    say(f"wrote {target}")
    say("it reveals what the trace does: `cltrace info` lists it")
    if arguments.open and not webbrowser.open(target.resolve().as_uri()):
        say("there is no browser here: open the file on a machine with one")
    return 0
