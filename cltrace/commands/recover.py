"""`cltrace recover`: finish a trace whose recording was interrupted."""

import argparse
import sys
from pathlib import Path

from cltrace.errors import OutputError, TraceError
from cltrace.spool.layout import PARTS_SUFFIX, parts_directory, trace_path_of
from cltrace.timeline.timekeeping import finalise
from cltrace.trace.reader import Trace
from cltrace.trace.recording import discard_parts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `recover`."""
    parser.add_argument(
        "trace", metavar="TRACE", type=Path, help="the trace, or its .parts directory"
    )
    parser.add_argument("-o", "--output", metavar="PATH", type=Path, help="another file to write")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--keep-parts", action="store_true", help="leave the parts where they are")


def execute(arguments: argparse.Namespace) -> int:
    """Make the trace of the parts that are there."""
    given: Path = arguments.trace
    if not given.name or (given.is_dir() and not given.name.endswith(PARTS_SUFFIX)):
        raise TraceError(f"{given} is a directory, not a trace")
    is_parts = given.name.endswith(PARTS_SUFFIX)
    parts = given if is_parts else parts_directory(given)
    if not parts.is_dir() and given.is_file():
        with Trace(given):
            sys.stderr.write(f"cltrace: {given} is finished: there is nothing to recover\n")
        return 0
    if not parts.is_dir():
        raise TraceError(f"{parts} does not exist: there is nothing to recover")
    target = arguments.output or trace_path_of(parts)
    if arguments.output is not None and target.exists() and not arguments.force:
        raise OutputError(f"{target} exists already: -f overwrites it")
    done = finalise(parts, target)
    state = "complete" if done.is_complete else "incomplete: `cltrace info` says why"
    sys.stderr.write(f"cltrace: wrote {target}: {done.commands} commands, {state}\n")
    if done.running_pids:
        pids = ", ".join(map(str, done.running_pids))
        sys.stderr.write(f"cltrace: process {pids} still runs: recover again when it has ended\n")
    elif not arguments.keep_parts:
        discard_parts(parts)
    return 0
