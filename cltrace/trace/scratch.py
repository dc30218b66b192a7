"""Scratch files: columns and rows that do not fit into memory, on the disk while they are needed.

The files have no name, so the system removes them however the process ends.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import OutputError

Int64s = NDArray[np.int64]

PART_ROWS: Final = 1 << 16
"""Rows that are processed at once: enough that numpy's overhead is small, and some ten megabytes."""
_RUN_VALUES: Final = 40
"""Values that a sort keeps in memory, per row of a part."""


class Scratch:
    """Maker of scratch files in one directory. `part_rows` is the number of rows to process at once."""

    def __init__(self, directory: Path, *, part_rows: int = PART_ROWS) -> None:
        self._directory = directory
        self.part_rows: Final = part_rows

    @property
    def run_values(self) -> int:
        """The number of values that a sort may keep in memory."""
        return self.part_rows * _RUN_VALUES

    def create_file(self) -> "ScratchFile":
        """Return a new, empty file. Raises: `OutputError`."""
        try:
            with tempfile.TemporaryFile(dir=self._directory) as file:
                return ScratchFile(os.dup(file.fileno()), self._directory)
        except OSError as error:
            raise _scratch_error(self._directory, error) from error


class MemoryScratch(Scratch):
    """Maker of scratch files in memory, for tables that are in memory themselves."""

    def __init__(self, *, part_rows: int = PART_ROWS) -> None:
        super().__init__(Path(tempfile.gettempdir()), part_rows=part_rows)

    def create_file(self) -> "ScratchFile":
        """Return a new, empty file."""
        if not hasattr(os, "memfd_create"):
            return super().create_file()
        return ScratchFile(os.memfd_create("cltrace"), Path("memory"))


class ScratchFile:
    """Append-only file of 64-bit values without a name. Closed, and gone, when it is no longer used."""

    def __init__(self, descriptor: int, directory: Path) -> None:
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self._directory = directory
        self._end = 0

    def append(self, values: NDArray[Any]) -> int:
        """Append the values of an array and return their offset in bytes. Raises: `OutputError`."""
        begin = self._end
        view = _bytes_of(np.ascontiguousarray(values))
        try:
            while view:
                written = os.pwrite(self._descriptor, view, self._end)
                self._end += written
                view = view[written:]
        except OSError as error:
            raise _scratch_error(self._directory, error) from error
        return begin

    def read(self, offset: int, count: int, dtype: type = np.int64) -> NDArray[Any]:
        """Return `count` values from `offset` in bytes. Raises: `OutputError`."""
        values: NDArray[Any] = np.empty(count, dtype)
        view = _bytes_of(values)
        try:
            while view:
                size = os.preadv(self._descriptor, [view], offset)
                if not size:
                    raise ValueError("the scratch file is shorter than what was written")
                offset += size
                view = view[size:]
        except OSError as error:
            raise _scratch_error(self._directory, error) from error
        return values


def _bytes_of(values: NDArray[Any]) -> memoryview:
    """Return the bytes of an array. Changes of them change the array."""
    return memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type] # an array is a buffer


def _scratch_error(directory: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{directory} cannot take scratch files ({error.strerror}): free some space there, or write "
        "the trace to another directory"
    )


class StoredRows:
    """Rows of 64-bit integers of one width, in a scratch file."""

    def __init__(self, scratch: Scratch, width: int) -> None:
        self._file = scratch.create_file()
        self.part_rows: Final = scratch.part_rows
        self._width = width
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Int64s) -> None:
        """Append rows, of shape (n, width)."""
        self._file.append(rows)
        self._count += len(rows)

    def read(self, begin: int, end: int) -> Int64s:
        """Return the rows from `begin` to `end`."""
        values = self._file.read(8 * self._width * begin, self._width * (end - begin))
        return values.reshape(-1, self._width)

    def parts(self) -> Iterator[Int64s]:
        """Yield the rows, part by part."""
        for begin in range(0, self._count, self.part_rows):
            yield self.read(begin, min(begin + self.part_rows, self._count))
