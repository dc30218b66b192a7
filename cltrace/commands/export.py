"""`cltrace export`: a trace in the format of another tool."""

import argparse
import sys
from pathlib import Path

from cltrace.commands.shared.outputs import (
    add_output_arguments,
    check_not_the_trace,
    check_replaceable_file,
    output_path,
    put_in_place,
)
from cltrace.commands.shared.trace_argument import add_trace_argument, opened
from cltrace.errors import OutputError, UsageError
from cltrace.report.export import EXPORTS, Export
from cltrace.trace.reader import Trace
from cltrace.trace.views import VIEWS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `export`."""
    add_trace_argument(parser)
    parser.epilog = "formats:\n" + "\n".join(
        f"  {name:<10} {one.summary}" for name, one in EXPORTS.items()
    )
    parser.add_argument(
        "--to",
        choices=list(EXPORTS),
        metavar="FORMAT",
        help=f"{', '.join(EXPORTS)} (default: by the ending of the output's name)",
    )
    add_output_arguments(parser, ending="the format's ending")


def execute(arguments: argparse.Namespace) -> int:
    """Write a trace in another format."""
    name = arguments.to or _by_ending(arguments.output)
    export = EXPORTS[name]
    with opened(arguments.trace) as trace:
        target = output_path(trace, arguments.output, export.endings[0])
        put_in_place(
            target,
            lambda path: export.write(trace, path),
            lambda path: _check_replaceable(trace, export, path),
            is_forced=arguments.force,
        )
    sys.stderr.write(f"cltrace: wrote {target}\n")
    return 0


def _by_ending(output: Path | None) -> str:
    """The format that a name asks for. Raises: `UsageError`."""
    endings = [(ending, name) for name, one in EXPORTS.items() for ending in one.endings]
    for ending, name in endings:
        if output is not None and output.name.endswith(ending):
            return name
    known = ", ".join(ending for ending, _ in endings)
    raise UsageError(f"say --to {'|'.join(EXPORTS)}, or name an output that ends with {known}")


def _check_replaceable(trace: Trace, export: Export, target: Path) -> None:
    """See that what is there may be replaced: a file, or an earlier export. Raises: `OutputError`."""
    if not export.is_directory:
        check_replaceable_file(trace, target)
        return
    check_not_the_trace(trace, target)
    if not target.is_dir():
        raise OutputError(f"{target} is a file: name another output with -o")
    others = [one.name for one in target.iterdir() if not _is_of_an_export(one)]
    if others:
        raise OutputError(
            f"{target} holds {others[0]!r}, which no export wrote: name another output with -o"
        )


def _is_of_an_export(entry: Path) -> bool:
    """Whether an entry of a directory is what an export writes."""
    name = entry.name.removesuffix(".csv")
    is_kind = entry.is_file() if entry.name.endswith(".csv") else entry.is_dir()
    return name in {view.name for view in VIEWS} and is_kind and not entry.is_symlink()
