"""Output files of verbs: written whole or not at all, and over nothing that must not be lost."""

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cltrace.errors import OutputError, UsageError
from cltrace.spool.layout import TRACE_SUFFIX
from cltrace.trace.reader import Trace

_MAX_SUFFIX_LENGTH: Final = 40


def add_output_arguments(parser: argparse.ArgumentParser, *, ending: str) -> None:
    """Declare `-o` and `-f`. `ending` says in words what the default name ends with."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help=f"write to PATH (default: the trace's name with {ending}, here)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")


def output_path(trace: Trace, named: Path | None, ending: str) -> Path:
    """Return the path to write to: `named`, or the trace's name with `ending`. Raises: `UsageError`."""
    if named is not None and (str(named) == "-" or _is_special(named)):
        raise UsageError(f"{named} is no ordinary file: name one")
    target = named or Path(trace.path.name.removesuffix(TRACE_SUFFIX) + ending)
    if target.name in {"", ".."}:
        raise UsageError(f"{target} is a directory: name a file")
    return target


def _is_special(path: Path) -> bool:
    """Return True for the path of a device or stream, which no file can replace."""
    return str(path).startswith(("/dev/", "/proc/"))


def write_output_atomically(
    target: Path,
    write: Callable[[Path], None],
    check_replaceable: Callable[[Path], None],
    *,
    is_forced: bool,
) -> None:
    """Write to a temporary path beside `target`, then move the whole to `target`.

    An existing target is replaced if that `is_forced` and `check_replaceable` raises nothing. Raises:
    `OutputError`.
    """
    target = target.resolve()
    if target.exists():
        if not is_forced:
            raise OutputError(f"{target} exists already: -f overwrites it, or name another with -o")
        check_replaceable(target)
    # Writers may look at the suffix; the whole name could be too long to be made longer.
    suffix = "".join(target.suffixes[-2:])[-_MAX_SUFFIX_LENGTH:]
    temporary = target.with_name(f".cltrace-{os.getpid()}{suffix}")
    replaced = target.with_name(f".cltrace-{os.getpid()}-old")
    try:
        write(temporary)
        if target.is_dir():
            target.rename(replaced)
        temporary.replace(target)
    except OSError as error:
        if replaced.exists() and not target.exists():
            replaced.rename(target)
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        for path in (temporary, replaced):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def check_replaceable_file(trace: Trace, target: Path) -> None:
    """Check that `target` is a file, and not the trace. Raises: `OutputError`."""
    check_not_the_trace(trace, target)
    if not target.is_file():
        kind = "a directory" if target.is_dir() else "no ordinary file"
        raise OutputError(f"{target} is {kind}: name another output with -o")


def check_not_the_trace(trace: Trace, target: Path) -> None:
    """Check that `target` is not the trace. Raises: `OutputError`."""
    if target.exists() and trace.path.exists() and target.samefile(trace.path):
        raise OutputError(f"{target} is the trace itself: name another output with -o")
