"""Writer of spools: every write goes straight to the file, so that it survives a kill."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cltrace.events.records import Record
from cltrace.events.tables import RowTable
from cltrace.spool.codec import encode
from cltrace.spool.descriptors import PersistentFile
from cltrace.spool.layout import CONTENTS_FILE, RECORDS_FILE, rows_file


class SpoolWriter:
    """Writer that appends to the files of a process's spool.

    Only one thread at a time may use it. Every method raises `OSError` if the bytes cannot be written:
    then none of them are.
    """

    def __init__(self, directory: Path, opened: Iterable[RowTable] = ()) -> None:
        """Open the files of some tables now, because the program may lose the right to open files.

        One that cannot be opened is tried again when rows are appended.
        """
        self.directory = directory
        self._files: dict[Path, PersistentFile] = {}
        self._contents_bytes = 0
        for table in opened:
            with suppress(OSError):
                file = self._file(rows_file(directory, table))
                file.descriptor()
                file.release()

    def records(self, records: Iterable[Record]) -> None:
        """Append records, in order."""
        text = b"".join(map(encode, records))
        if text:
            self._append(self.directory / RECORDS_FILE, text)

    def rows(self, table: RowTable, rows: NDArray[np.int64]) -> None:
        """Append `rows`, of shape (n, `table.width`)."""
        if rows.shape[1] != table.width:
            raise ValueError(f"{table.name} has {table.width} columns, not {rows.shape[1]}")
        if len(rows):
            self._append(rows_file(self.directory, table), np.ascontiguousarray(rows).tobytes())

    def content(self, data: bytes) -> int:
        """Append captured bytes and return the position at which they start."""
        position = self._contents_bytes
        self._append(self.directory / CONTENTS_FILE, data)
        self._contents_bytes += len(data)
        return position

    def close(self) -> None:
        """Close the files. A closed writer reopens them on its next use."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _file(self, path: Path) -> PersistentFile:
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = PersistentFile(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        return file

    def _append(self, path: Path, data: bytes) -> None:
        file = self._file(path)
        descriptor = file.descriptor()
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError:
            # Entries behind a part of one would not begin at an entry's place.
            if written := len(data) - len(view):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise
        finally:
            file.release()
