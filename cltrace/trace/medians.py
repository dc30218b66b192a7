"""Exact medians of groups of values that do not fit into memory.

Values belong to *cells*, and groups are unions of cells. A first pass counts the values of each cell in
buckets, whose width is 1/128 of their values. That tells the bucket of a group's median. A second pass
counts each distinct value in the buckets of the medians.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.distinct_values import combine, find_distinct
from cltrace.trace.scratch import Scratch
from cltrace.trace.sorted_runs import SortedRuns, sort_rows
from cltrace.trace.stored_columns import StoredColumns

Int64s = NDArray[np.int64]

_MANTISSA_BITS: Final = 7
_BUCKET_SHIFT: Final = 52 - _MANTISSA_BITS
_ONE_BUCKET: Final = int(np.float64(1.0).view(np.int64)) >> _BUCKET_SHIFT
_MAX_BUCKET: Final = (int(np.float64(2.0**63).view(np.int64)) >> _BUCKET_SHIFT) - _ONE_BUCKET + 1
_BUCKETS: Final = 2 * _MAX_BUCKET + 3


class Medians:
    """Values of cells, from which the medians of groups of cells are found."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._stored = StoredColumns(scratch)
        # Rows of cell and bucket as one number, and the count of values.
        self._histogram = np.empty((0, 2), np.int64)
        self._histogram_parts: list[Int64s] = []

    def add(self, cells: Int64s, values: Int64s) -> None:
        """Add values, each of a cell."""
        if not len(cells):
            return
        self._stored.append({"cell": cells, "value": values})
        self._histogram_parts.append(_count(cells * _BUCKETS + _buckets(values)))
        if sum(map(len, self._histogram_parts)) > max(
            self._scratch.run_values // 8, len(self._histogram)
        ):
            self._merge_histogram()

    def of_groups(self, group_of_cell: Int64s) -> dict[int, float]:
        """Return the median of each group that has values, by the group of each cell."""
        if not len(self._stored):
            return {}
        self._merge_histogram()
        ranks = _find_buckets(self._histogram, group_of_cell)
        counts = _ValueCounts(self._scratch)
        for part in self._stored.parts():
            groups = group_of_cell[part["cell"]]
            bucket = _buckets(part["value"])
            # Both middle values of an even number of values, and all between their buckets.
            is_near = (bucket >= ranks.low_bucket[groups]) & (bucket <= ranks.high_bucket[groups])
            counts.add(groups[is_near], part["value"][is_near])
        low, high = (counts.at_ranks(rank) for rank in (ranks.low_rank, ranks.high_rank))
        return {group: float(np.mean(np.array([low[group], high[group]]))) for group in sorted(low)}

    def _merge_histogram(self) -> None:
        if self._histogram_parts:
            self._histogram = _sum_counts([self._histogram, *self._histogram_parts])
            self._histogram_parts = []


class _Ranks(NamedTuple):
    """Buckets of the two middle values of each group, and their ranks from the lower bucket's first."""

    low_bucket: Int64s
    high_bucket: Int64s
    low_rank: dict[int, int]
    high_rank: dict[int, int]


def _buckets(values: Int64s) -> Int64s:
    """Return the bucket of each value, in the order of values."""
    magnitude = np.abs(values.astype(np.float64))
    bucket = np.maximum((magnitude.view(np.int64) >> _BUCKET_SHIFT) - _ONE_BUCKET + 1, 0)
    if values.min(initial=0) < 0:
        bucket = np.where(values < 0, -bucket, bucket)
    shifted: Int64s = bucket + _MAX_BUCKET + 1
    return shifted


def _count(numbers: Int64s) -> Int64s:
    """Return rows of each distinct number and its count."""
    distinct = find_distinct(numbers)
    counts = np.bincount(distinct.inverse, minlength=len(distinct.values))
    return np.stack([distinct.values, counts], axis=1)


def _sum_counts(parts: Sequence[Int64s], keys: int = 1) -> Int64s:
    """Return rows with distinct keys and the sums of their counts, which are in the last column."""
    rows = sort_rows(np.concatenate(parts), keys)
    if not len(rows):
        return rows
    is_begin = np.append(np.True_, (rows[1:, :keys] != rows[:-1, :keys]).any(axis=1))
    begin = np.flatnonzero(is_begin)
    sums = np.add.reduceat(rows[:, keys], begin)
    return np.concatenate([rows[begin, :keys], sums[:, None]], axis=1)


def _find_buckets(histogram: Int64s, group_of_cell: Int64s) -> _Ranks:
    """Find the buckets of the two middle values of each group."""
    cell, bucket = np.divmod(histogram[:, 0], _BUCKETS)
    rows = np.stack([group_of_cell[cell], bucket, histogram[:, 1]], axis=1)
    rows = _sum_counts([rows], keys=2)
    until = np.cumsum(rows[:, 2])
    begin = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
    before = until[begin] - rows[begin, 2]
    totals = np.append(until[begin[1:] - 1], until[-1:]) - before
    groups = rows[begin, 0]
    size = int(group_of_cell.max(initial=0)) + 1
    buckets, ranks = [], []
    low_before = None
    for middle in (before + (totals - 1) // 2, before + totals // 2):
        at = np.searchsorted(until, middle, side="right")
        if low_before is None:
            low_before = until[at] - rows[at, 2]
        # Groups without values have no bucket.
        table = np.full(size, -1)
        table[groups] = rows[at, 1]
        buckets.append(table)
        ranks.append(dict(zip(groups.tolist(), (middle - low_before).tolist(), strict=True)))
    return _Ranks(buckets[0], buckets[1], ranks[0], ranks[1])


class _ValueCounts:
    """Counts of distinct values of groups."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._limit = max(scratch.run_values // 3, 3)
        self._rows: list[Int64s] = []
        self._runs: SortedRuns | None = None

    def add(self, groups: Int64s, values: Int64s) -> None:
        """Count values."""
        if not len(groups):
            return
        distinct = find_distinct(combine(groups, values))
        counts = np.bincount(distinct.inverse, minlength=len(distinct.first))
        first = distinct.first
        self._rows.append(np.stack([groups[first], values[first], counts], axis=1))
        if sum(map(len, self._rows)) > self._limit:
            self._rows = [_sum_counts(self._rows, keys=2)]
            if len(self._rows[0]) > self._limit // 2:
                self._store()

    def at_ranks(self, ranks: dict[int, int]) -> dict[int, int]:
        """Return the value of a rank, from 0, among the values of each group, sorted."""
        if self._runs is not None:
            self._store()
        selected: dict[int, int] = {}
        passed: dict[int, int] = dict.fromkeys(ranks, 0)
        for rows in self._parts():
            begin = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
            for at, end in zip(begin.tolist(), [*begin[1:].tolist(), len(rows)], strict=True):
                group = int(rows[at, 0])
                until = np.cumsum(rows[at:end, 2])
                wanted = ranks[group] - passed[group]
                if 0 <= wanted < until[-1]:
                    selected[group] = int(rows[at + np.searchsorted(until, wanted, "right"), 1])
                passed[group] += int(until[-1])
        return selected

    def _parts(self) -> Iterator[Int64s]:
        if self._runs is not None:
            yield from self._runs.parts()
        elif self._rows:
            self._rows = [_sum_counts(self._rows, keys=2)]
            yield self._rows[0]

    def _store(self) -> None:
        if self._runs is None:
            self._runs = SortedRuns(self._scratch, 3, keys=2)
        for rows in self._rows:
            self._runs.add(rows)
        self._rows = []
