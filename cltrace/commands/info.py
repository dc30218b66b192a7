"""`cltrace info`: show what a trace file contains, and whether it is complete."""

import argparse

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import add_trace_argument, open_trace
from cltrace.report.contents import contents_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `info`."""
    add_trace_argument(parser)
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print the contents of a trace."""
    with open_trace(arguments.trace) as trace:
        document = contents_report(trace)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0
