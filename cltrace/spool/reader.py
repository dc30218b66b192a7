"""Reader of spools, whole or cut off at any byte."""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import SpoolError
from cltrace.events.records import Content, ContentVersion, ProcessEnded, Record
from cltrace.events.tables import RowTable
from cltrace.spool.codec import decode
from cltrace.spool.guarded_files import open_guarded, read_guarded, size_guarded
from cltrace.spool.layout import (
    CONTENTS_FILE,
    RECORDS_FILE,
    SLOTS_FILE,
    STOP_FILE,
    ProcessIdentity,
    check_process_directories,
    process_directories,
    rows_file,
)
from cltrace.spool.stop_page import PAGE_BYTES, StopReport, decode_stop

RecordT = TypeVar("RecordT", bound=Record)

_MAX_RECORDS_FILE_BYTES = 1 << 30
_MAX_CONTENT_BYTES: Final = 1 << 30
"""Limit on the contents of a buffer, as the layer has it."""


@dataclass(frozen=True, slots=True)
class ProcessSpool:
    """The spool of a traced process.

    `damaged_lines` counts the records that could not be read, without a last one that is cut off.
    `stop` is what the stop page tells; None if the process wrote none.
    """

    directory: Path
    identity: ProcessIdentity
    all_records: tuple[Record, ...]
    damaged_lines: int
    stop: StopReport | None = None

    @property
    def is_complete(self) -> bool:
        """True if the process recorded its end."""
        return any(isinstance(record, ProcessEnded) for record in self.all_records)

    def records(self, kind: type[RecordT]) -> list[RecordT]:
        """Return the records of a class, in the order in which they were written."""
        return [record for record in self.all_records if isinstance(record, kind)]

    def rows(self, table: RowTable) -> NDArray[np.int64]:
        """Return a row table, of shape (n, `table.width`), without a last row that is cut off."""
        return self.read_rows(table, 0, self.row_count(table))

    def row_count(self, table: RowTable) -> int:
        """Return the number of whole rows of a row table. Raises: `SpoolError`."""
        return size_guarded(rows_file(self.directory, table)) // (8 * table.width)

    def read_rows(self, table: RowTable, begin: int, end: int) -> NDArray[np.int64]:
        """Return the rows from `begin` to `end` of a row table. Raises: `SpoolError`."""
        if end <= begin:
            return np.empty((0, table.width), np.int64)
        path = rows_file(self.directory, table)
        try:
            with open_guarded(path) as file:
                count = (end - begin) * table.width
                values = np.fromfile(file, np.int64, count, offset=8 * table.width * begin)
        except OSError as error:
            raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
        return values[: len(values) - len(values) % table.width].reshape(-1, table.width)

    def row_parts(
        self, table: RowTable, rows: int, count: int | None = None
    ) -> Iterator[NDArray[np.int64]]:
        """Yield a row table, or its first `count` rows, in parts of `rows` rows."""
        count = self.row_count(table) if count is None else count
        for begin in range(0, count, rows):
            yield self.read_rows(table, begin, min(begin + rows, count))

    def is_slot_marked(self, buffer_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the memory objects whose slots mark them as destroyed. The ids ascend."""
        is_marked = np.zeros(len(buffer_ids), np.bool_)
        path = self.directory / SLOTS_FILE
        has_id = np.flatnonzero(buffer_ids > 0)
        if not len(has_id):
            return is_marked
        first, last = int(buffer_ids[has_id[0]]), int(buffer_ids[has_id[-1]])
        try:
            count = min(last, size_guarded(path) // 8) - first + 1
            with open_guarded(path) as file:
                slots = np.fromfile(file, np.uint64, max(count, 0), offset=8 * (first - 1))
        except OSError:
            return is_marked
        has_slot = has_id[buffer_ids[has_id] < first + len(slots)]
        is_marked[has_slot] = slots[buffer_ids[has_slot] - first] != 0
        return is_marked

    def stored_content(self, content: Content) -> bytes:
        """Return the deflated bytes of `content`. Raises: `SpoolError` if they are damaged."""
        path = self.directory / CONTENTS_FILE
        try:
            with open_guarded(path) as file:
                file.seek(content.position_bytes)
                stored = file.read(content.stored_bytes)
            data = zlib.decompressobj().decompress(stored, max(content.size_bytes, 1))
        except (OSError, ValueError, OverflowError, zlib.error) as error:
            raise SpoolError(f"{path}: captured contents cannot be read: {error}") from error
        if len(data) != content.size_bytes:
            raise SpoolError(f"{path}: captured contents are cut short")
        return stored

    def plain_content(self, version: ContentVersion) -> bytes:
        """Return the bytes of `version`. Raises: `SpoolError` if they are damaged."""
        path = self.directory / CONTENTS_FILE
        try:
            is_there = (
                version.position_bytes >= 0
                and 0 < version.size_bytes <= _MAX_CONTENT_BYTES
                and version.size_bytes <= size_guarded(path) - version.position_bytes
            )
            with open_guarded(path) as file:
                file.seek(version.position_bytes if is_there else 0)
                data = file.read(version.size_bytes if is_there else 0)
        except OSError as error:
            raise SpoolError(f"{path}: captured contents cannot be read: {error}") from error
        if not is_there or len(data) != version.size_bytes:
            raise SpoolError(f"{path}: captured contents are cut short")
        return data


def read_process(directory: Path, identity: ProcessIdentity) -> ProcessSpool:
    """Read the records in a process's directory. Raises: `SpoolError` if they cannot be read."""
    records: list[Record] = []
    damaged = 0
    for line in _lines(directory / RECORDS_FILE):
        try:
            records.append(decode(line))
        except SpoolError:
            damaged += 1
    return ProcessSpool(directory, identity, tuple(records), damaged, _read_stop(directory))


def read_parts(parts: Path) -> list[ProcessSpool]:
    """Read the spools of all processes in `parts`, oldest first. Raises: `SpoolError`."""
    try:
        check_process_directories(parts)
        return [
            read_process(directory, identity) for directory, identity in process_directories(parts)
        ]
    except OSError as error:
        raise SpoolError(f"{parts} cannot be read: {error.strerror}") from error


def _read_stop(directory: Path) -> StopReport | None:
    try:
        return decode_stop(read_guarded(directory / STOP_FILE, PAGE_BYTES))
    except FileNotFoundError:
        return None


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the whole lines of a file, without what follows the last newline. Raises: `SpoolError`."""
    try:
        with open_guarded(path) as file:
            if os.fstat(file.fileno()).st_size > _MAX_RECORDS_FILE_BYTES:
                raise SpoolError(f"{path} is too large for a file of records")
            for line in file:
                if line.endswith(b"\n"):
                    yield line[:-1]
    except FileNotFoundError:
        return
    except OSError as error:
        raise SpoolError(f"{path} cannot be read: {error.strerror}") from error
