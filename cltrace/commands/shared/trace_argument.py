"""Finding the trace that a reading verb is to read."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cltrace.errors import TraceError
from cltrace.spool.layout import PARTS_SUFFIX, TRACE_SUFFIX, parts_directory
from cltrace.trace.reader import Trace


def add_trace_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the trace to read."""
    parser.add_argument(
        "trace",
        metavar="TRACE",
        nargs="?",
        type=Path,
        help="a trace file (default: the newest *.cltrace here)",
    )


@contextlib.contextmanager
def opened(path: Path | None) -> Iterator[Trace]:
    """The trace at `path`, or the newest one in this directory. Raises: `TraceError`."""
    with readable(_chosen(path)) as found, Trace(found) as trace:
        yield trace


@contextlib.contextmanager
def readable(path: Path) -> Iterator[Path]:
    """A trace file for `path`: itself, or one made for the moment of parts that were not finished."""
    if not path.name or (path.is_dir() and not path.name.endswith(PARTS_SUFFIX)):
        raise TraceError(f"{path} is a directory, not a trace")
    parts = path if path.name.endswith(PARTS_SUFFIX) else parts_directory(path)
    if path.is_file() or not parts.is_dir():
        yield path
        return
    from cltrace.timeline.timekeeping import finalise  # noqa: PLC0415 - imports numpy

    sys.stderr.write(
        f"cltrace: {parts} is a recording that is not finished: reading what is there so far; "
        "`cltrace recover` finishes it\n"
    )
    with tempfile.TemporaryDirectory(prefix="cltrace-") as directory:
        target = Path(directory) / "unfinished.cltrace"
        finalise(parts, target)
        yield target


def _chosen(path: Path | None) -> Path:
    """`path`, or the newest trace in this directory, which is then named on stderr."""
    if path is not None:
        return path
    found = [one for one in Path().glob(f"*{TRACE_SUFFIX}") if one.is_file()]
    if not found:
        raise TraceError(f"there is no *{TRACE_SUFFIX} here: name a trace")
    newest = max(found, key=lambda one: one.stat().st_mtime_ns)
    sys.stderr.write(f"cltrace: reading {newest}\n")
    return newest
