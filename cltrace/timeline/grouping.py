"""Grouping of rows by a number, and look-up of numbers in a sorted column."""

from collections.abc import Iterator

import numpy as np

from cltrace.timeline.columns import Int64s


def groups(numbers: Int64s, positions: Int64s | None = None) -> Iterator[tuple[int, Int64s]]:
    """Yield each distinct number, ascending, with the positions at which it occurs, ascending.

    `numbers` belong to `positions`, or to all positions if none are given.
    """
    if positions is None:
        positions = np.arange(len(numbers))
    if not len(numbers):
        return
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    begin = np.flatnonzero(np.append(np.True_, ordered[1:] != ordered[:-1]))
    parts = np.split(positions[order], begin[1:])
    yield from zip(ordered[begin].tolist(), parts, strict=True)


def find_positions(wanted: Int64s, ids: Int64s) -> Int64s:
    """Return the position of each number in `ids`, which ascend; -1 for a number that is not there."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[at] == wanted, at, -1)
