"""Rows of a spool's table by their number, without the whole table in memory."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.tables import RowTable
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.scratch import Scratch, StoredRows
from cltrace.trace.sorted_runs import SortedRuns

Int64s = NDArray[np.int64]

_BLOCK_ROWS: Final = 16
"""Rows per number that is kept in memory."""


class NumberedRows:
    """Rows of a table by the number in their first column. Of rows with one number the last is taken."""

    def __init__(self, spool: ProcessSpool, table: RowTable, scratch: Scratch) -> None:
        self._spool, self._table = spool, table
        self._count = spool.row_count(table)
        self._part_rows = max(min(scratch.part_rows, scratch.run_values // table.width), 1)
        self._copy: StoredRows | None = None
        self._whole: Int64s | None = None
        firsts, self.lowest, self.highest, is_ascending = _survey(self.parts())
        if not is_ascending:
            self._copy = _sorted_copy(self.parts(), scratch, table.width)
            self._count = len(self._copy)
            firsts, *_ = _survey(self._copy.parts())
        self._firsts = firsts
        if self._count <= self._part_rows:
            self._whole = self._read(0, self._count)

    def __len__(self) -> int:
        return self._count

    def parts(self) -> Iterator[Int64s]:
        """Yield all rows as they are in the spool, part by part."""
        return self._spool.row_parts(self._table, self._part_rows, self._count)

    def find(self, numbers: Int64s) -> tuple[NDArray[np.bool_], Int64s]:
        """Return which of some ascending numbers exist, and the row of each; zeros for the others."""
        rows = np.zeros((len(numbers), self._table.width), np.int64)
        exists = np.zeros(len(numbers), np.bool_)
        if not self._count or not len(numbers):
            return exists, rows
        if self._whole is not None:
            _match(self._whole, numbers, exists, rows)
            return exists, rows
        block = np.maximum(np.searchsorted(self._firsts, numbers, "right") - 1, 0)
        span = max(self._part_rows // _BLOCK_ROWS, 1)
        is_begin = (np.diff(block, prepend=-2) > 1) | (np.diff(block // span, prepend=-1) != 0)
        begins = np.flatnonzero(is_begin)
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(numbers)], strict=True):
            near = self._read(
                int(block[begin]) * _BLOCK_ROWS,
                min((int(block[end - 1]) + 1) * _BLOCK_ROWS, self._count),
            )
            _match(near, numbers[begin:end], exists[begin:end], rows[begin:end])
        return exists, rows

    def _read(self, begin: int, end: int) -> Int64s:
        if self._copy is not None:
            return self._copy.read(begin, end)
        return self._spool.read_rows(self._table, begin, end)


def _match(table: Int64s, numbers: Int64s, exists: NDArray[np.bool_], rows: Int64s) -> None:
    """Mark the numbers that `table` has, and copy their rows."""
    at = np.minimum(np.searchsorted(table[:, 0], numbers), len(table) - 1)
    exists[:] = table[at, 0] == numbers
    rows[exists] = table[at[exists]]


def _survey(parts: Iterable[Int64s]) -> tuple[Int64s, int, int, bool]:
    """Return the first number of each block, the lowest and highest number, and if they ascend."""
    firsts, count, is_ascending = [np.empty(0, np.int64)], 0, True
    lowest, highest, last = 0, 0, None
    for part in parts:
        numbers = part[:, 0]
        firsts.append(numbers[-count % _BLOCK_ROWS :: _BLOCK_ROWS].copy())
        count += len(numbers)
        is_ascending &= bool((numbers[1:] > numbers[:-1]).all())
        is_ascending &= last is None or last < int(numbers[0])
        last = int(numbers[-1])
        lowest, highest = min(lowest, int(numbers.min())), max(highest, int(numbers.max()))
    return np.concatenate(firsts), lowest, highest, is_ascending


def _sorted_copy(parts: Iterable[Int64s], scratch: Scratch, width: int) -> StoredRows:
    """Return the rows in order of their numbers, the last of each number."""
    runs, copy = SortedRuns(scratch, width), StoredRows(scratch, width)
    for part in parts:
        runs.add(part)
    last = np.empty((0, width), np.int64)
    for part in runs.parts():
        part = np.concatenate([last, part])
        is_last = np.append(part[1:, 0] != part[:-1, 0], np.False_)
        copy.append(part[is_last])
        last = part[-1:].copy()
    copy.append(last)
    return copy
