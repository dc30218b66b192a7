"""Rows that belong together, and where a number stands."""

from collections.abc import Iterator

import numpy as np

from cltrace.timeline.clock_fit.points import Int64s


def groups(numbers: Int64s, positions: Int64s | None = None) -> Iterator[tuple[int, Int64s]]:
    """For each number that occurs, ascending, the positions at which it does, ascending.

    `numbers` are those of `positions`, or of all positions when none are given.
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


def positions(wanted: Int64s, ids: Int64s) -> Int64s:
    """Where each number stands among `ids`, which ascend; -1 where it does not."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[at] == wanted, at, -1)
