"""Grouping of lanes by a key, and scans within each group in lane order."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.values import Array, Value


class Segments:
    """Entries sorted by their `keys` into segments of equal keys.

    Within a segment entries keep their order. "Sorted" arrays have their entries in the order of the
    segments.
    """

    def __init__(self, keys: Array) -> None:
        self.order: NDArray[np.int64] = np.argsort(keys, kind="stable")
        sorted_keys = keys[self.order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = sorted_keys[1:] != sorted_keys[:-1]
        self.begins: NDArray[np.int64] = np.flatnonzero(first)
        self.number: NDArray[np.int64] = np.cumsum(first) - 1
        """The segment of each sorted entry."""
        self.rank: NDArray[np.int64] = np.arange(len(keys)) - self.begins[self.number]
        """The position of each sorted entry in its segment, from 0."""

    @property
    def ends(self) -> NDArray[np.int64]:
        """The position of the last sorted entry of each segment."""
        return np.append(self.begins[1:], len(self.order)) - 1

    def sort(self, value: Value) -> Array:
        """Return the entries of a value in sorted order."""
        if type(value) is np.ndarray:
            return value[self.order]
        return np.full(len(self.order), value)

    def unsort(self, sorted_entries: Array) -> Array:
        """Return sorted entries in lane order."""
        entries = np.empty_like(sorted_entries)
        entries[self.order] = sorted_entries
        return entries

    def scan(self, operation: Callable[[Value, Value], Value], sorted_entries: Array) -> Array:
        """Return the inclusive scan of each segment, computed by doubling the distance."""
        scanned = sorted_entries.copy()
        max_rank = int(self.rank.max(initial=0))
        distance = 1
        while distance <= max_rank:
            later = np.flatnonzero(self.rank >= distance)
            scanned[later] = operation(scanned[later - distance], scanned[later])
            distance *= 2
        return scanned

    def shift(self, scanned: Array, first: Value) -> Array:
        """Turn an inclusive scan into an exclusive one, in which each segment begins with `first`."""
        exclusive = np.empty_like(scanned)
        exclusive[1:] = scanned[:-1]
        exclusive[self.begins] = first
        return exclusive
