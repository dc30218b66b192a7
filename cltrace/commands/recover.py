"""`cltrace recover`: finish a trace whose recording was interrupted."""

import argparse
from pathlib import Path

from cltrace.commands.shared.messages import DelayedProgress, say
from cltrace.errors import TraceError
from cltrace.files import check_trace_output
from cltrace.spool.layout import PARTS_SUFFIX, parts_directory, trace_path_of
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.guard import has_trace_header
from cltrace.trace.reader import Trace
from cltrace.trace.recording import discard_parts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `recover`."""
    parser.add_argument(
        "trace", metavar="TRACE", type=Path, help="finish this trace, or this .parts directory"
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", type=Path, help="write to PATH instead of the trace"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--keep-parts", action="store_true", help="keep the parts")


def execute(arguments: argparse.Namespace) -> int:
    """Make the trace from the parts that exist."""
    path: Path = arguments.trace
    if not path.name or (path.is_dir() and not path.name.endswith(PARTS_SUFFIX)):
        raise TraceError(f"{path} is a directory, not a trace")
    parts = path if path.name.endswith(PARTS_SUFFIX) else parts_directory(path)
    if not parts.is_dir() and path.is_file():
        with Trace(path):
            say(f"{path} is finished: there is nothing to recover")
        return 0
    if not parts.is_dir():
        raise TraceError(f"{parts} does not exist: there is nothing to recover")
    target = arguments.output or trace_path_of(parts)
    is_forced = arguments.force or (arguments.output is None and _is_replaceable(target))
    check_trace_output(target, is_forced=is_forced)
    with DelayedProgress(f"writing {target.name}") as progress:
        finalised = finalise(parts, target, progress=progress)
    missing = finalised.missing
    state = "incomplete" if missing.reasons else "complete"
    say(f"wrote {target}: {finalised.commands} commands, {state}")
    for reason in missing.reasons:
        say(reason)
    if finalised.running_pids:
        pids = ", ".join(map(str, finalised.running_pids))
        say(f"process {pids} still runs: recover again when it has ended")
    elif not arguments.keep_parts:
        discard_parts(parts)
    return 0


def _is_replaceable(target: Path) -> bool:
    """Return True for a trace beside its parts, which an earlier `recover` may have written.

    Raises: `TraceError` for a symbolic link: it was not the user who named what it leads to.
    """
    if target.is_symlink():
        raise TraceError(f"{target} is a symbolic link: name the trace to write with -o")
    return not target.is_file() or has_trace_header(target)
