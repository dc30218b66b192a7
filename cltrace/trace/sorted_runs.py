"""Sorting of rows that do not fit into memory: sorted runs on the disk, merged as they are read."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.scratch import Scratch, ScratchFile

Int64s = NDArray[np.int64]
Key = tuple[int, ...]

_MIN_BUFFER_ROWS: Final = 16


class SortedRuns:
    """Rows of 64-bit integers in the order of their first `keys` columns. Equal rows keep their order.

    The memory is bounded: some ten megabytes, however many rows there are, in whatever order.
    """

    def __init__(self, scratch: Scratch, width: int, *, keys: int = 1) -> None:
        self._scratch = scratch
        self._width = width
        self._keys = keys
        self._run_rows = max(scratch.run_values // width, 1)
        self._pending: list[Int64s] = []
        self._pending_rows = 0
        self._file: ScratchFile | None = None
        self._runs: list[_Run] = []

    def add(self, rows: Int64s) -> None:
        """Add rows, of shape (n, width)."""
        while len(rows):
            head = rows[: self._run_rows - self._pending_rows]
            rows = rows[len(head) :]
            self._pending.append(head)
            self._pending_rows += len(head)
            if self._pending_rows == self._run_rows:
                self._store_run()

    def parts(self) -> Iterator[Int64s]:
        """Yield all rows in order, part by part."""
        if not self._runs:
            merged = iter([sort_rows(_concatenate(self._pending, self._width), self._keys)])
        else:
            self._store_run()
            merged = self._merge()
        for rows in merged:
            for begin in range(0, len(rows), self._scratch.part_rows):
                yield rows[begin : begin + self._scratch.part_rows]

    def _store_run(self) -> None:
        rows = sort_rows(_concatenate(self._pending, self._width), self._keys)
        self._pending, self._pending_rows = [], 0
        if not len(rows):
            return
        if self._file is None:
            self._file = self._scratch.create_file()
        ends = (_key(rows[at], self._keys) for at in (0, -1))
        self._runs.append(_Run(len(self._runs), self._file.append(rows), len(rows), *ends))

    def _merge(self) -> Iterator[Int64s]:
        """Yield the rows of all runs in order. A run is opened when the rows before its first are out."""
        assert self._file is not None
        waiting = deque(sorted(self._runs, key=lambda run: (run.first, run.number)))
        rows = max(self._run_rows // _max_overlap(self._runs), _MIN_BUFFER_ROWS)
        active: list[_OpenRun] = []
        while waiting or active:
            limits = [run.limit for run in active if run.has_more]
            if waiting:
                limits.append((waiting[0].first, waiting[0].number))
            limit = min(limits, default=None)
            part = [run.take(limit) for run in sorted(active, key=lambda run: run.number)]
            part = [rows for rows in part if len(rows)]
            if part:
                whole = part[0] if len(part) == 1 else np.concatenate(part)
                yield whole if len(part) == 1 else sort_rows(whole, self._keys)
            if waiting and limit == (waiting[0].first, waiting[0].number):
                active.append(
                    _OpenRun(waiting.popleft(), self._file, rows, self._width, self._keys)
                )
            active = [run for run in active if run.refill()]


@dataclass(frozen=True, slots=True)
class _Run:
    """A sorted run: its place in the file, and its first and last key."""

    number: int
    offset: int
    count: int
    first: Key
    last: Key


class _OpenRun:
    """A run that is being read, with the next of its rows in memory."""

    def __init__(self, run: _Run, file: ScratchFile, rows: int, width: int, keys: int) -> None:
        self.number = run.number
        self._file = file
        self._offset = run.offset
        self._left = run.count
        self._rows, self._width, self._keys = rows, width, keys
        self._buffer = np.empty((0, width), np.int64)

    @property
    def has_more(self) -> bool:
        """True if some rows are not in memory yet."""
        return self._left > 0

    @property
    def limit(self) -> tuple[Key, int]:
        """The last key in memory and the run's number: no row in the file comes before them."""
        return _key(self._buffer[-1], self._keys), self.number

    def refill(self) -> bool:
        """Read the next rows if none is in memory. Return whether any is left."""
        if not len(self._buffer) and self._left:
            count = min(self._rows, self._left)
            values = self._file.read(self._offset, count * self._width)
            self._buffer = values.reshape(-1, self._width)
            self._offset += values.nbytes
            self._left -= count
        return len(self._buffer) > 0

    def take(self, limit: tuple[Key, int] | None) -> Int64s:
        """Remove and return the rows up to a key, and those with this key if no run before it has any."""
        count = len(self._buffer)
        if limit is not None:
            key, number = limit
            count = count_until(self._buffer, key, is_inclusive=self.number <= number)
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def sort_rows(rows: Int64s, keys: int = 1) -> Int64s:
    """Return rows in the order of their first `keys` columns. Equal rows keep their order."""
    column = rows[:, keys - 1]
    if keys == 1 or (keys == 2 and len(rows) and (rows[:, 0] == rows[0, 0]).all()):
        if (column[1:] >= column[:-1]).all():
            return rows
        return rows[np.argsort(column, kind="stable")]
    return rows[np.lexsort(tuple(rows[:, key] for key in reversed(range(keys))))]


def count_until(rows: Int64s, key: Key, *, is_inclusive: bool) -> int:
    """Return the number of sorted rows before a key, or up to it."""
    begin, end = 0, len(rows)
    for column, value in enumerate(key):
        values = rows[begin:end, column]
        first, last = (int(np.searchsorted(values, value, side)) for side in ("left", "right"))
        begin, end = begin + first, begin + last
    return end if is_inclusive else begin


def in_order(
    parts: Iterable[Int64s], later_minima: Sequence[int], scratch: Scratch
) -> Iterator[Int64s]:
    """Yield rows in the order of their first column, if they come nearly in this order.

    A row is held back until no later part can have one before it: `later_minima` are the lowest first
    values of all parts after each part. If more rows are held back than fit into memory, they are sorted
    on the disk. Equal rows keep their order.
    """
    source = iter(parts)
    held: Int64s | None = None
    for part, later in zip(source, later_minima, strict=False):
        held = part if held is None or not len(held) else np.concatenate([held, part])
        held = sort_rows(held)
        count = int(np.searchsorted(held[:, 0], later, "right"))
        if count:
            yield held[:count]
        held = held[count:]
        if held.size > scratch.run_values:
            runs = SortedRuns(scratch, held.shape[1])
            for rows in chain([held], source):
                runs.add(rows)
            yield from runs.parts()
            return


def suffix_minima(minima: Sequence[int]) -> list[int]:
    """Return the minimum of all later values, for each value; the greatest integer for the last."""
    later, result = int(np.iinfo(np.int64).max), []
    for value in reversed(minima):
        result.append(later)
        later = min(later, value)
    return result[::-1]


def matched_parts(
    first: Iterable[Int64s], second: Iterable[Int64s], widths: tuple[int, int], *, keys: int = 1
) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield the rows of two sorted streams in steps of equal ranges of their first `keys` columns.

    `widths` are the widths of the rows. Rows with one key may be spread over several steps. Then all of
    the first stream come no later than any of the second.
    """
    sides = _Side(first, keys), _Side(second, keys)
    while sides[0].refill() and sides[1].refill():
        (left, right) = (side.limit for side in sides)
        if left <= right:
            # More rows of the first stream may have the key: those of the second wait for the rest.
            yield sides[0].take(left, is_inclusive=True), sides[1].take(left, is_inclusive=False)
        else:
            yield sides[0].take(right, is_inclusive=True), sides[1].take(right, is_inclusive=True)
    while sides[0].refill():
        yield sides[0].take_all(), np.empty((0, widths[1]), np.int64)
    while sides[1].refill():
        yield np.empty((0, widths[0]), np.int64), sides[1].take_all()


class _Side:
    """A sorted stream with its next rows in memory."""

    def __init__(self, parts: Iterable[Int64s], keys: int) -> None:
        self._parts = iter(parts)
        self._keys = keys
        self._rows: Int64s | None = None

    def refill(self) -> bool:
        while self._rows is None or not len(self._rows):
            self._rows = next(self._parts, None)
            if self._rows is None:
                return False
        return True

    @property
    def limit(self) -> Key:
        assert self._rows is not None
        return _key(self._rows[-1], self._keys)

    def take(self, key: Key, *, is_inclusive: bool) -> Int64s:
        assert self._rows is not None
        count = count_until(self._rows, key, is_inclusive=is_inclusive)
        taken, self._rows = self._rows[:count], self._rows[count:]
        return taken

    def take_all(self) -> Int64s:
        assert self._rows is not None
        taken, self._rows = self._rows, None
        return taken


def _concatenate(parts: Sequence[Int64s], width: int) -> Int64s:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, width), np.int64)


def _key(row: Int64s, keys: int) -> Key:
    return tuple(row[:keys].tolist())


def _max_overlap(runs: Sequence[_Run]) -> int:
    """Return the largest number of runs whose ranges of keys share a key."""
    edges = sorted(chain(((run.first, 0) for run in runs), ((run.last, 1) for run in runs)))
    depth = deepest = 0
    for _, is_end in edges:
        depth += -1 if is_end else 1
        deepest = max(deepest, depth)
    return max(deepest, 1)
