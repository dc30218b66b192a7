"""Lanes grouped by a key, and what is computed along each group in lane order."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.values import Array, Value


class Segments:
    """Entries grouped by `keys`. Within a group they keep their order."""

    def __init__(self, keys: Array) -> None:
        self.order: NDArray[np.int64] = np.argsort(keys, kind="stable")
        ordered = keys[self.order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = ordered[1:] != ordered[:-1]
        self.begins: NDArray[np.int64] = np.flatnonzero(first)
        self.number: NDArray[np.int64] = np.cumsum(first) - 1
        """The group of each ordered entry."""
        self.rank: NDArray[np.int64] = np.arange(len(keys)) - self.begins[self.number]
        """How many entries of its group are before each ordered entry."""

    @property
    def ends(self) -> NDArray[np.int64]:
        """The last ordered entry of each group."""
        return np.append(self.begins[1:], len(self.order)) - 1

    def ordered(self, value: Value) -> Array:
        """A value's entries in the order of the groups."""
        if type(value) is np.ndarray:
            return value[self.order]
        return np.full(len(self.order), value)

    def restored(self, ordered: Array) -> Array:
        """Entries in the order of the groups, back in lane order."""
        found = np.empty_like(ordered)
        found[self.order] = ordered
        return found

    def scanned(self, operation: Callable[[Value, Value], Value], ordered: Array) -> Array:
        """Each entry with all those before it in its group (an inclusive scan), by doubling."""
        found = ordered.copy()
        most = int(self.rank.max(initial=0))
        distance = 1
        while distance <= most:
            later = np.flatnonzero(self.rank >= distance)
            found[later] = operation(found[later - distance], found[later])
            distance *= 2
        return found

    def shifted(self, scanned: Array, first: Value) -> Array:
        """An inclusive scan made exclusive: each group begins with `first`."""
        found = np.empty_like(scanned)
        found[1:] = scanned[:-1]
        found[self.begins] = first
        return found
