"""`cltrace merge`: merge the traces of several ranks or runs into one file."""

import argparse
from pathlib import Path

from cltrace.commands.shared.messages import DelayedProgress, say
from cltrace.errors import UsageError
from cltrace.files import check_trace_output
from cltrace.trace.merge import merge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `merge`."""
    parser.add_argument(
        "traces", metavar="TRACE", nargs="+", type=Path, help="merge these trace files"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        required=True,
        help="write the merged trace to PATH",
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing trace")


def execute(arguments: argparse.Namespace) -> int:
    """Merge traces."""
    output: Path = arguments.output
    traces: list[Path] = arguments.traces
    check_trace_output(output, is_forced=arguments.force)
    resolved = [path.resolve() for path in traces]
    if output.resolve() in resolved:
        raise UsageError(f"{output} is one of the traces to merge: name another output")
    if len(set(resolved)) < len(resolved):
        raise UsageError("a trace is given twice: its commands would count twice")
    with DelayedProgress(f"merging into {output.name}") as progress:
        commands = merge(traces, output, progress=progress)
    say(f"wrote {output}: {len(traces)} traces, {commands} commands")
    return 0
