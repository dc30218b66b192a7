"""Output files of verbs: written whole or not at all, and over nothing that must not be lost."""

import argparse
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cltrace.errors import OutputError, UsageError
from cltrace.files import OutputPlace, copy_to_stream, find_output, make_parent_directory
from cltrace.spool.layout import DIRECTORY_MODE, FILE_MODE, TRACE_SUFFIX
from cltrace.trace.reader import Trace

_MAX_SUFFIX_LENGTH: Final = 40
_READ_AND_WRITE: Final = 0o666


def add_output_arguments(
    parser: argparse.ArgumentParser, *, ending: str, kept: str = "an existing file"
) -> None:
    """Declare `-o` and `-f`.

    `ending` says in words what the default name ends with, `kept` which file only `-f` overwrites.
    """
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help=f"write to PATH (default: the trace's name with {ending}, here)",
    )
    parser.add_argument("-f", "--force", action="store_true", help=f"overwrite {kept}")


def output_path(trace: Trace, named: Path | None, ending: str) -> Path:
    """Return the path to write to: `named`, or the trace's name with `ending`. Raises: `UsageError`."""
    if named is not None and str(named) == "-":
        raise UsageError("- is no file: name one, or /dev/stdout")
    return named or Path(trace.path.name.removesuffix(TRACE_SUFFIX) + ending)


def write_output_atomically(
    target: Path,
    write: Callable[[Path], None],
    check_replaceable: Callable[[Path], None],
    *,
    is_forced: bool,
    is_own: Callable[[Path], bool] = lambda _: False,
) -> None:
    """Write to a temporary path, then move the whole to `target`, or copy it to a pipe or device.

    A new output has the permissions of a trace, because it reveals as much; an overwritten one keeps its
    own.
    An existing target is replaced if that `is_forced`, or `is_own` recognises an output of the verb, and
    `check_replaceable` raises nothing.
    `target` is a file, unless it is an existing directory. Raises: `OutputError`.
    """
    if target.is_dir() and target.name not in {"", ".."}:
        place = OutputPlace(target.resolve())
    else:
        place = find_output(target)
    if not place.is_stream and place.path.exists():
        if not is_forced and not _is_readable_own(place.path, is_own):
            raise OutputError(f"{target} exists already: -f overwrites it, or name another with -o")
        check_replaceable(place.path)
    # Writers may look at the suffix; the whole name could be too long to be made longer.
    suffix = "".join(target.suffixes[-2:])[-_MAX_SUFFIX_LENGTH:]
    if not place.is_stream:
        make_parent_directory(place.path)
    try:
        beside = None if place.is_stream else place.path.parent
        with tempfile.TemporaryDirectory(prefix=".cltrace-", dir=beside) as directory:
            written = Path(directory, f"output{suffix}")
            write(written)
            if place.is_stream:
                _copy_file(written, place)
            else:
                _set_mode(written, place.path)
                _replace(place.path, written, Path(directory, "replaced"))
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error


def _is_readable_own(path: Path, is_own: Callable[[Path], bool]) -> bool:
    """Return whether `path` is an output of the verb. One that cannot be read is not."""
    try:
        return is_own(path)
    except OSError:
        return False


def _copy_file(written: Path, place: OutputPlace) -> None:
    """Copy a written file to a pipe or device. Raises: `OutputError` for a directory."""
    if written.is_dir():
        raise OutputError(f"{place.path} is a device or a pipe: name a directory")
    copy_to_stream(written, place)


def _set_mode(written: Path, target: Path) -> None:
    """Give an output the permissions of what it replaces, or those of a trace: it reveals as much."""
    is_directory = written.is_dir()
    mode = DIRECTORY_MODE if is_directory else FILE_MODE
    if target.is_dir() == is_directory and target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
    for path in written.rglob("*") if is_directory else ():
        path.chmod(mode if path.is_dir() else mode & _READ_AND_WRITE)
    written.chmod(mode)


def _replace(target: Path, written: Path, replaced: Path) -> None:
    """Move a written file or directory to `target`, and an earlier directory to `replaced`."""
    if target.is_dir():
        target.rename(replaced)
    try:
        written.replace(target)
    except OSError:
        if replaced.exists():
            replaced.rename(target)
        raise


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
