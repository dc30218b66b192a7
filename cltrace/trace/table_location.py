"""A table of a trace file, as another process is told of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Identity = tuple[int, int, int, int]
"""Device, number, size and time of change of a file: another file under the same name has another."""


@dataclass(frozen=True, slots=True)
class Source:
    """SQL expressions by name over a table with an `id`, of the file that `identity` tells."""

    path: Path
    identity: Identity
    table: str
    expressions: Mapping[str, str]


def identity_of(path: Path) -> Identity:
    """What tells the file at `path` from another one. Raises: `OSError`."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
