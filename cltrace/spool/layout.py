"""Where the files of a spool are, and how its directories are named."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.events.tables import RowTable

TRACE_SUFFIX: Final = ".cltrace"
PARTS_SUFFIX: Final = ".parts"
FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700

SESSION_FILE: Final = "session.json"
OUTCOME_FILE: Final = "outcome.json"
RECORDS_FILE: Final = "records.jsonl"
CONTENTS_FILE: Final = "contents.bin"
SLOTS_FILE: Final = "released.slots"

_POWER_DIRECTORY: Final = "power"
_PROCESS_DIRECTORY = re.compile(r"(\d+)-(\d+)(?:-\d+)?")
_UNTRACED = re.compile(r"untraced-(\d+)\.txt")


def parts_directory(trace_path: Path) -> Path:
    """The directory that holds the spools of the trace at `trace_path`."""
    return trace_path.with_name(trace_path.name + PARTS_SUFFIX)


def trace_path_of(parts: Path) -> Path:
    """The trace that the spools in `parts` become."""
    return parts.with_name(parts.name.removesuffix(PARTS_SUFFIX))


def rows_file(spool: Path, table: RowTable) -> Path:
    """The file of one row table."""
    return spool / f"{table.name}.rows"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process of this machine, told apart from a later one with the same number.

    `start_ticks` is field 22 of `/proc/PID/stat`; 0 where there is no such file.
    """

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """The identity of the process `pid` as it is now."""
        return cls(pid, _start_ticks(pid))

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs. A zombie does not."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _state(self.pid) not in {"Z", "X"} and _start_ticks(self.pid) == self.start_ticks


def create_process_directory(parts: Path, identity: ProcessIdentity) -> Path:
    """Make and return a new directory for one process image.

    A process that replaces its image (`exec`) keeps number and start time: it gets a suffix.
    """
    stem = f"{identity.pid}-{identity.start_ticks}"
    for attempt in range(1000):
        directory = parts / (stem if attempt == 0 else f"{stem}-{attempt}")
        try:
            directory.mkdir(mode=DIRECTORY_MODE)
        except FileExistsError:
            continue
        return directory
    raise FileExistsError(f"{parts / stem} and 999 more exist already")


def process_directories(parts: Path) -> list[tuple[Path, ProcessIdentity]]:
    """The directories of traced processes in `parts`, oldest first, with whose they are."""
    found = []
    for entry in parts.iterdir():
        match = _PROCESS_DIRECTORY.fullmatch(entry.name)
        if match and entry.is_dir() and not entry.is_symlink():
            found.append((entry, ProcessIdentity(int(match[1]), int(match[2]))))
    return sorted(found, key=lambda item: (item[1].start_ticks, item[1].pid, item[0].name))


def power_directory(parts: Path) -> Path:
    """Where what power sensors read is, while and after the program runs."""
    return parts / _POWER_DIRECTORY


def untraced_file(parts: Path, pid: int) -> Path:
    """Where the process `pid` says that it, or a child of it, is not traced, and why."""
    return parts / f"untraced-{pid}.txt"


def untraced_reasons(parts: Path) -> dict[int, list[str]]:
    """Why processes are not traced, by the number of the process that says so."""
    said = {}
    for entry in parts.iterdir():
        match = _UNTRACED.fullmatch(entry.name)
        if match:
            said[int(match[1])] = entry.read_text("utf-8", "replace").splitlines()[:100]
    return said


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
