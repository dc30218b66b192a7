"""`cltrace view`: a trace as a page for the browser, in one file that needs nothing else."""

import argparse
import sys
import webbrowser
from typing import Final

from cltrace.commands.shared.argument_types import add_stretch_arguments, check_stretch
from cltrace.commands.shared.outputs import (
    add_output_arguments,
    check_replaceable_file,
    output_path,
    put_in_place,
)
from cltrace.commands.shared.trace_argument import add_trace_argument, opened
from cltrace.report.page import PageOptions, write_page

ENDING: Final = ".html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `view`."""
    add_trace_argument(parser)
    add_output_arguments(parser, ending=ENDING)
    add_stretch_arguments(parser, from_help="draw what went on from", to_help="and until T")
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def execute(arguments: argparse.Namespace) -> int:
    """Write a trace as a page."""
    check_stretch(arguments.from_ns, arguments.to_ns)
    options = PageOptions(from_ns=arguments.from_ns, to_ns=arguments.to_ns)
    with opened(arguments.trace) as trace:
        target = output_path(trace, arguments.output, ENDING)
        put_in_place(
            target,
            lambda path: write_page(trace, options, path),
            lambda path: check_replaceable_file(trace, path),
            is_forced=arguments.force,
        )
    sys.stderr.write(f"cltrace: wrote {target}\n")
    if arguments.open and not webbrowser.open(target.resolve().as_uri()):
        sys.stderr.write("cltrace: there is no browser here: open the file where there is one\n")
    return 0
