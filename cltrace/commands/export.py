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
        if target.name in {"", ".."}:
            raise UsageError(f"{target} is a directory: name what is to be written")
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
    target = target.resolve()
    if target.exists():
        if not is_forced:
            raise OutputError(f"{target} exists already: -f overwrites it, or name another with -o")
        _check_replaceable(trace, export, target)
    beside = target.with_name(f".{os.getpid()}-{target.name}")
    aside = target.with_name(f".{os.getpid()}-old-{target.name}")
    try:
        export.write(trace, beside)
        if target.is_dir():
            target.rename(aside)
        beside.replace(target)
    except OSError as error:
        if aside.exists() and not target.exists():
            aside.rename(target)
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        for left in (beside, aside):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def _check_replaceable(trace: Trace, export: Export, target: Path) -> None:
    """See that what is there may be replaced: a file, or an earlier export. Raises: `OutputError`."""
    if target.exists() and trace.path.exists() and target.samefile(trace.path):
        raise OutputError(f"{target} is the trace itself: name another output with -o")
    if not export.is_directory:
        if not target.is_file():
            kind = "a directory" if target.is_dir() else "no ordinary file"
            raise OutputError(f"{target} is {kind}: name another output with -o")
        return
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
