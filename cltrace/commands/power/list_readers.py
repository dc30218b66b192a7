"""`cltrace power list`: each reader, and whether it can read here."""

import argparse

from cltrace.commands.shared.documents import add_format_argument, print_document
from cltrace.power.registry import probed, reader_names
from cltrace.report.power_readers import ProbedReader, readers_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `power list`."""
    add_format_argument(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Ask every reader."""
    found = [ProbedReader(name, *probed(name, point)) for name, point in reader_names().items()]
    print_document(readers_report(found), color=arguments.color, form=arguments.format)
    return 0
