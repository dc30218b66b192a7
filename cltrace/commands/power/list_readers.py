"""`cltrace power list`: list the readers, and why some cannot read here."""

import argparse

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.power.registry import find_readers, probe_reader
from cltrace.report.power_readers import ProbedReader, readers_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power list`."""
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Probe every reader and print the results."""
    readers = [
        ProbedReader(name, *probe_reader(name, entry_point))
        for name, entry_point in find_readers().items()
    ]
    document = readers_report(readers)
    print_document(document, color=arguments.color, output_format=arguments.format)
    return 0
