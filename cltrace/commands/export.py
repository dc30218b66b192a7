"""`cltrace export`: a trace in the format of another tool."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from cltrace.commands.traces import add_trace_argument, opened
from cltrace.errors import OutputError, UsageError
from cltrace.report.export import EXPORTS, Export
from cltrace.trace.reader import Trace
from cltrace.trace.spool.layout import TRACE_SUFFIX


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
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help="where to write (default: the trace's name with the format's ending, here)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is there")


def execute(arguments: argparse.Namespace) -> int:
    """Write a trace in another format."""
    name = arguments.to or _by_ending(arguments.output)
    with opened(arguments.trace) as trace:
        target = arguments.output or _default(trace, EXPORTS[name])
        _write(trace, EXPORTS[name], target, is_forced=arguments.force)
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


def _default(trace: Trace, export: Export) -> Path:
    return Path(trace.path.name.removesuffix(TRACE_SUFFIX) + export.endings[0])


def _write(trace: Trace, export: Export, target: Path, *, is_forced: bool) -> None:
    """Write to a place beside `target`, then put it there whole. Raises: `OutputError`."""
    if target.exists() and not is_forced:
        raise OutputError(f"{target} exists already: -f overwrites it, or name another with -o")
    if target.is_dir() != export.is_directory and target.exists():
        kind = "a directory" if target.is_dir() else "a file"
        raise OutputError(f"{target} is {kind}: name another output with -o")
    beside = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        export.write(trace, beside)
        if target.is_dir():
            shutil.rmtree(target)
        beside.replace(target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        if beside.is_dir():
            shutil.rmtree(beside, ignore_errors=True)
        else:
            beside.unlink(missing_ok=True)
