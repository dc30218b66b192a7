"""Location of a table in a trace file, for a process that did not open the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FileIdentity = tuple[int, int, int, int]
"""Device, inode, size and modification time of a file. A file that replaces it has another identity."""


@dataclass(frozen=True, slots=True)
class TableLocation:
    """SQL expressions, by name, over a table with an `id` column in the file with this identity."""

    path: Path
    identity: FileIdentity
    table: str
    expressions: Mapping[str, str]


def file_identity(path: Path) -> FileIdentity:
    """Return the identity of the file at `path`. Raises: `OSError`."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
