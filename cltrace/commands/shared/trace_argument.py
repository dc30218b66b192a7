"""The trace argument of the verbs that read a trace."""

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cltrace.commands.shared.messages import DelayedProgress, say
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
        help="read this trace file (default: the newest *.cltrace here)",
    )


@contextlib.contextmanager
def open_trace(path: Path | None) -> Iterator[Trace]:
    """Open the trace at `path`, or the newest one in this directory. Raises: `TraceError`."""
    with as_trace_file(_choose_trace(path)) as file, Trace(file) as trace:
        yield trace


@contextlib.contextmanager
def as_trace_file(path: Path) -> Iterator[Path]:
    """Yield `path`, or a temporary trace file made of the parts of an unfinished recording.

    Raises: `TraceError`.
    """
    if not path.name or (path.is_dir() and not path.name.endswith(PARTS_SUFFIX)):
        raise TraceError(f"{path} is a directory, not a trace")
    parts = path if path.name.endswith(PARTS_SUFFIX) else parts_directory(path)
    if path.is_file() or not parts.is_dir():
        yield path
        return
    from cltrace.timeline.timekeeping import finalise  # noqa: PLC0415 - imports numpy

    say(
        f"{parts} is an unfinished recording: reading its data so far; "
        "`cltrace recover` finishes it"
    )
    with tempfile.TemporaryDirectory(prefix="cltrace-") as directory:
        target = Path(directory) / "unfinished.cltrace"
        with DelayedProgress(f"reading {parts.name}") as progress:
            finalise(parts, target, progress=progress)
        yield target


def _choose_trace(path: Path | None) -> Path:
    """Return `path`, or the newest trace in this directory, which is then named on stderr."""
    if path is not None:
        return path
    paths = [path for path in Path().glob(f"*{TRACE_SUFFIX}") if path.is_file()]
    if not paths:
        raise TraceError(f"there is no *{TRACE_SUFFIX} here: name a trace")
    newest = max(paths, key=lambda path: path.stat().st_mtime_ns)
    say(f"reading {newest}")
    return newest
