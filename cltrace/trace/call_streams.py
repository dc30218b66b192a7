"""Streams of a process's launches and other calls, with their stamps, in the order of entry."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.tables import CALLS, LAUNCHES, STAMPS, RowTable
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.commands import ABSENT
from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import in_order, suffix_minima

Int64s = NDArray[np.int64]
Parts = Callable[[], Iterable[Int64s]]

STAMP_WIDTH: Final = STAMPS.width - 1
LAUNCH_STREAM_WIDTH: Final = LAUNCHES.width + STAMP_WIDTH + 1
CALL_STREAM_WIDTH: Final = CALLS.width + STAMP_WIDTH
_MAX: Final = int(np.iinfo(np.int64).max)


def launch_stream(spool: ProcessSpool, scratch: Scratch) -> Iterator[Int64s]:
    """Yield the rows of `LAUNCHES` in the order of entry, each with its stamps and its row number."""
    count = spool.row_count(LAUNCHES)
    stamps = _stamps(spool, scratch, 0)

    def parts() -> Iterator[Int64s]:
        begin = 0
        for rows in spool.row_parts(LAUNCHES, scratch.part_rows, count):
            end = begin + len(rows)
            yield np.concatenate(
                [rows, stamps.take(begin, end), np.arange(begin, end)[:, None]], axis=1
            )
            begin = end

    return in_order(parts(), _later_entries(spool, LAUNCHES, count, scratch), scratch)


def call_stream(spool: ProcessSpool, scratch: Scratch) -> Iterator[Int64s]:
    """Yield the rows of `CALLS` in the order of entry, each with its stamps."""
    count = spool.row_count(CALLS)
    stamps = _stamps(spool, scratch, 1)

    def parts() -> Iterator[Int64s]:
        begin = 0
        for rows in spool.row_parts(CALLS, scratch.part_rows, count):
            yield np.concatenate([rows, stamps.take(begin, begin + len(rows))], axis=1)
            begin += len(rows)

    return in_order(parts(), _later_entries(spool, CALLS, count, scratch), scratch)


def _later_entries(spool: ProcessSpool, table: RowTable, count: int, scratch: Scratch) -> list[int]:
    """Return the earliest entry of all parts of a table after each part."""
    parts = spool.row_parts(table, scratch.part_rows, count)
    return suffix_minima([int(part[:, 0].min()) for part in parts])


def _stamps(spool: ProcessSpool, scratch: Scratch, parity: int) -> "SparseRows":
    """Return the stamps of the launches (`parity` 0) or the other calls (1) by row."""
    count = spool.row_count(STAMPS)

    def parts() -> Iterator[Int64s]:
        for rows in spool.row_parts(STAMPS, scratch.part_rows, count):
            chosen = rows[rows[:, 0] & 1 == parity]
            chosen[:, 0] >>= 1
            yield chosen[chosen[:, 0] >= 0]

    minima = suffix_minima([int(part[:, 0].min(initial=_MAX)) for part in parts()])
    return SparseRows(in_order(parts(), minima, scratch), STAMP_WIDTH)


class SparseRows:
    """Values for some of many rows, from a stream of row numbers and values that ascends."""

    def __init__(self, parts: Iterable[Int64s], width: int) -> None:
        self._parts = iter(parts)
        self._width = width
        self._rows = np.empty((0, 1 + width), np.int64)

    def take(self, begin: int, end: int) -> Int64s:
        """Return the values of the rows from `begin` to `end`, `ABSENT` where there are none.

        Ranges must ascend. Of several values for a row the last is taken.
        """
        values = np.full((end - begin, self._width), ABSENT)
        while True:
            count = int(np.searchsorted(self._rows[:, 0], end))
            head, self._rows = self._rows[:count], self._rows[count:]
            head = head[np.searchsorted(head[:, 0], begin) :]
            values[head[:, 0] - begin] = head[:, 1:]
            if len(self._rows):
                return values
            rows = next(self._parts, None)
            if rows is None:
                return values
            self._rows = rows
