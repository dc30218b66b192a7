"""`cltrace merge`: several traces in one file."""

import argparse
import sys
from pathlib import Path

from cltrace.errors import OutputError, UsageError
from cltrace.trace.merge import merge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `merge`."""
    parser.add_argument("traces", metavar="TRACE", nargs="+", type=Path, help="a trace file")
    parser.add_argument(
        "-o", "--output", metavar="PATH", type=Path, required=True, help="the merged trace"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing trace")


def execute(arguments: argparse.Namespace) -> int:
    """Merge traces."""
    if arguments.output.exists() and not arguments.force:
        raise OutputError(f"{arguments.output} exists already: -f overwrites it")
    given = [path.resolve() for path in arguments.traces]
    if arguments.output.resolve() in given:
        raise UsageError(f"{arguments.output} is one of the traces to merge: name another output")
    if len(set(given)) < len(given):
        raise UsageError("a trace is given twice: its commands would count twice")
    commands = merge(arguments.traces, arguments.output)
    sys.stderr.write(
        f"cltrace: wrote {arguments.output}: {len(arguments.traces)} traces, {commands} commands\n"
    )
    return 0
