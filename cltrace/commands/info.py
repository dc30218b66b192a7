"""`cltrace info`: what a trace file contains, and whether it is whole."""

import argparse

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.commands.shared.trace_argument import add_trace_argument, opened
from cltrace.report.contents import contents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `info`."""
    add_trace_argument(parser)
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Print what a trace contains."""
    with opened(arguments.trace) as trace:
        document = contents(trace)
    print_document(document, color=arguments.color, form=arguments.format)
    return 0
