"""Paths of a spool's files and directories."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from cltrace.spool.guarded_files import read_guarded
from cltrace.tracing_errors import SpoolError

if TYPE_CHECKING:
    from cltrace.events.tables import RowTable

TRACE_SUFFIX: Final = ".cltrace"
EVENTS_SUFFIX: Final = ".events"
"""Suffix of files of the events inside a launch."""
PARTS_SUFFIX: Final = ".parts"
FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700

SESSION_FILE: Final = "session.json"
OUTCOME_FILE: Final = "outcome.json"
RECORDS_FILE: Final = "records.jsonl"
CONTENTS_FILE: Final = "contents.bin"
SLOTS_FILE: Final = "released.slots"
STOP_FILE: Final = "stopped.page"

_MAX_REASONS_BYTES: Final = 16 << 20
_POWER_DIRECTORY: Final = "power"
_PROCESSES_FILE: Final = "processes.txt"
"""Names of all directories of processes, one per line: a program may remove them."""
_PROCESS_DIRECTORY = re.compile(r"(\d+)-(\d+)(?:-\d+)?")
NOT_STARTED: Final = "tracing did not start"
"""Begin of the reason that a process gives where cltrace failed, not where it was not to trace."""

_UNTRACED = re.compile(r"untraced-(\d+)\.txt")


def parts_directory(trace_path: Path) -> Path:
    """Return the directory that holds the spools of the trace at `trace_path`."""
    return trace_path.with_name(trace_path.name + PARTS_SUFFIX)


def trace_path_of(parts: Path) -> Path:
    """Return the path of the trace that is made of the spools in `parts`. Raises: `SpoolError`."""
    if parts.name == PARTS_SUFFIX:
        raise SpoolError(f"{parts} has no name but {PARTS_SUFFIX}: rename it")
    return parts.with_name(parts.name.removesuffix(PARTS_SUFFIX))


def rows_file(spool: Path, table: "RowTable") -> Path:
    """Return the path of a row table's file."""
    return spool / f"{table.name}.rows"


class ProcessIdentity(NamedTuple):
    """A process of this machine, distinct from later processes with the same number.

    `start_ticks` is field 22 of `/proc/PID/stat`; 0 if there is no such file.
    """

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """Return the identity of the process that has the number `pid` now."""
        return cls(pid, _start_ticks(pid))

    @property
    def is_alive(self) -> bool:
        """True if this process still runs. A zombie does not."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _state(self.pid) not in {"Z", "X"} and _start_ticks(self.pid) == self.start_ticks


def create_process_directory(parts: Path, identity: ProcessIdentity) -> Path:
    """Make and return a new directory for a process image.

    A process that replaces its image (`exec`) keeps its number and start time, so the name gets a suffix.
    """
    stem = f"{identity.pid}-{identity.start_ticks}"
    for attempt in range(1000):
        directory = parts / (stem if attempt == 0 else f"{stem}-{attempt}")
        try:
            directory.mkdir(mode=DIRECTORY_MODE)
        except FileExistsError:
            continue
        _enter_process(parts, directory.name)
        return directory
    raise FileExistsError(f"{parts / stem} and 999 more exist already")


def _enter_process(parts: Path, name: str) -> None:
    """Append a process to the list that tells which directories there were, if that can be written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    with suppress(OSError):
        descriptor = os.open(parts / _PROCESSES_FILE, flags, FILE_MODE)
        try:
            os.write(descriptor, f"{name}\n".encode())
        finally:
            os.close(descriptor)


def removed_processes(parts: Path) -> list[int]:
    """Return the numbers of the processes whose directories were removed from `parts`, sorted.

    Raises: `SpoolError` if that cannot be read.
    """
    try:
        text = read_guarded(parts / _PROCESSES_FILE, _MAX_REASONS_BYTES).decode("ascii", "replace")
    except FileNotFoundError:
        return []  # a recording of an earlier version
    names = filter(_PROCESS_DIRECTORY.fullmatch, text.splitlines())
    return sorted(int(name.partition("-")[0]) for name in names if not (parts / name).is_dir())


def process_directories(parts: Path) -> list[tuple[Path, ProcessIdentity]]:
    """Return the directories of traced processes in `parts` with the processes, oldest first."""
    directories = []
    for entry in parts.iterdir():
        match = _PROCESS_DIRECTORY.fullmatch(entry.name)
        if match and entry.is_dir() and not entry.is_symlink():
            directories.append((entry, ProcessIdentity(int(match[1]), int(match[2]))))
    return sorted(directories, key=lambda item: (item[1].start_ticks, item[1].pid, item[0].name))


def check_process_directories(parts: Path) -> None:
    """Check that what is named as the directory of a process is one. Raises: `SpoolError`.

    A symbolic link leads elsewhere, and without the process the trace would seem complete.
    """
    for entry in sorted(parts.iterdir()):
        is_directory = entry.is_dir() and not entry.is_symlink()
        if _PROCESS_DIRECTORY.fullmatch(entry.name) and not is_directory:
            kind = "a symbolic link" if entry.is_symlink() else "no directory"
            raise SpoolError(f"{entry} is {kind}: these parts are damaged or forged")


def power_directory(parts: Path) -> Path:
    """Return the directory of the power sensors' readings."""
    return parts / _POWER_DIRECTORY


def untraced_file(parts: Path, pid: int) -> Path:
    """Return the file in which process `pid` explains why it, or a child of it, is not traced."""
    return parts / f"untraced-{pid}.txt"


def untraced_reasons(parts: Path) -> dict[int, list[str]]:
    """Read why processes are not traced, by the number of the process that reports it.

    Raises: `SpoolError` if that cannot be read.
    """
    reasons = {}
    for entry in parts.iterdir():
        match = _UNTRACED.fullmatch(entry.name)
        if match:
            text = read_guarded(entry, _MAX_REASONS_BYTES).decode("utf-8", "replace")
            reasons[int(match[1])] = text.splitlines()[:100]
    return reasons


def _stat_fields(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _start_ticks(pid: int) -> int:
    fields = _stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def _state(pid: int) -> str:
    fields = _stat_fields(pid)
    return fields[0] if fields else ""
