"""Distinct values of a column, and hashes of rows."""

from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Number = TypeVar("Number", bound=np.number[Any])

_DENSE_FACTOR: Final = 4
_MULTIPLIERS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_SHIFT: Final = np.uint64(29)


class Distinct(NamedTuple):
    """Distinct values, ascending, the position of the first of each, and each value's index in them."""

    values: Int64s
    first: Int64s
    inverse: Int64s


def find_distinct(values: Int64s) -> Distinct:
    """Return the distinct values of a column. Numbers within a narrow range are found without sorting."""
    count = len(values)
    if not count:
        empty = np.empty(0, np.int64)
        return Distinct(empty, empty, empty)
    low, high = int(values.min()), int(values.max())
    if high - low < _DENSE_FACTOR * count + 64:
        shifted = values - low
        present = np.zeros(high - low + 1, np.int64)
        present[shifted] = 1
        distinct = np.flatnonzero(present)
        present[distinct] = np.arange(len(distinct))
        index = present[shifted]
        distinct = distinct + low
    else:
        distinct, index = np.unique(values, return_inverse=True)
    first = np.empty(len(distinct), np.int64)
    first[index[::-1]] = np.arange(count - 1, -1, -1)
    return Distinct(distinct, first, index)


def sort_distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return the distinct values, ascending.

    `np.unique` does so too, but imports `numpy.ma` at its first call, which takes 10 ms.
    """
    ascending = np.sort(values, axis=None)
    is_first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def combine(*columns: Int64s) -> Int64s:
    """Return one column of numbers that are equal where all columns are equal."""
    result = columns[0]
    for column in columns[1:]:
        low, high = int(column.min(initial=0)), int(column.max(initial=0))
        width = high - low + 1
        if max(-int(result.min(initial=0)), int(result.max(initial=0)) + 1) * width >= 1 << 62:
            result, column = find_distinct(result).inverse, find_distinct(column).inverse
            low, width = 0, int(column.max(initial=0)) + 1
        result = result * width + (column - low)
    return result


def hash_rows(rows: Int64s, seeds: tuple[int, int]) -> Int64s:
    """Return two 64-bit hashes of each row, of shape (n, 2).

    With random seeds nobody can choose rows whose hashes are equal. Of 20 million different rows two are
    equal in both with a probability of 1e-24.
    """
    words = rows.view(np.uint64)
    hashes = []
    for seed, multiplier in zip(seeds, _MULTIPLIERS, strict=True):
        state = np.full(len(rows), np.uint64(seed))
        for column in range(words.shape[1]):
            state = (state ^ words[:, column]) * multiplier
            state ^= state >> _SHIFT
            state += np.uint64(seed)
        hashes.append((state * multiplier).view(np.int64))
    return np.stack(hashes, axis=1)
