"""Writing what a verb makes of a trace: whole or not at all, and over nothing that is not to be lost."""

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cltrace.errors import OutputError, UsageError
from cltrace.spool.layout import TRACE_SUFFIX
from cltrace.trace.reader import Trace

_LONGEST_ENDING: Final = 40


def add_output_arguments(parser: argparse.ArgumentParser, *, ending: str) -> None:
    """Declare where to write. `ending` says in words what the default name ends with."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help=f"where to write (default: the trace's name with {ending}, here)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite what is there")


def output_path(trace: Trace, named: Path | None, ending: str) -> Path:
    """Where to write: what was named, or the trace's name with `ending`. Raises: `UsageError`."""
    if named is not None and (str(named) == "-" or _is_of_the_system(named)):
        raise UsageError(f"{named} is no ordinary file: name one")
    target = named or Path(trace.path.name.removesuffix(TRACE_SUFFIX) + ending)
    if target.name in {"", ".."}:
        raise UsageError(f"{target} is a directory: name what is to be written")
    return target


def _is_of_the_system(path: Path) -> bool:
    """Whether a path leads to a device or a stream, which can not be replaced by a file."""
    return any(str(path).startswith(one) for one in ("/dev/", "/proc/"))


def put_in_place(
    target: Path,
    write: Callable[[Path], None],
    check_replaceable: Callable[[Path], None],
    *,
    is_forced: bool,
) -> None:
    """Write to a place beside `target`, then put it there whole.

    What is there is replaced if that `is_forced` and `check_replaceable` raises nothing. Raises:
    `OutputError`.
    """
    target = target.resolve()
    if target.exists():
        if not is_forced:
            raise OutputError(f"{target} exists already: -f overwrites it, or name another with -o")
        check_replaceable(target)
    # Writers may look at the ending; the name itself could be too long to be made longer.
    ending = "".join(target.suffixes[-2:])[-_LONGEST_ENDING:]
    beside = target.with_name(f".cltrace-{os.getpid()}{ending}")
    aside = target.with_name(f".cltrace-{os.getpid()}-old")
    try:
        write(beside)
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


def check_replaceable_file(trace: Trace, target: Path) -> None:
    """See that what is at `target` is a file, and not the trace. Raises: `OutputError`."""
    check_not_the_trace(trace, target)
    if not target.is_file():
        kind = "a directory" if target.is_dir() else "no ordinary file"
        raise OutputError(f"{target} is {kind}: name another output with -o")


def check_not_the_trace(trace: Trace, target: Path) -> None:
    """See that `target` is not the trace itself. Raises: `OutputError`."""
    if target.exists() and trace.path.exists() and target.samefile(trace.path):
        raise OutputError(f"{target} is the trace itself: name another output with -o")
