"""Numbers of known hashes, found for many hashes at once.

A hash table with open addressing, in numpy arrays: 20 bytes per place, at most half of which are taken.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]

UNKNOWN: Final = 0
"""Number of a hash that is not known."""

_MIN_PLACES: Final = 64


class KnownHashes:
    """Numbers, from 1, of hashes of 128 bits, in the order in which they were added."""

    def __init__(self, max_count: int) -> None:
        """Prepare for up to `max_count` hashes. Those that come after them stay unknown."""
        self._max_count = max_count
        self._count = 0
        self._is_full = False
        self._allocate(_MIN_PLACES)

    def __len__(self) -> int:
        return self._count

    def find(self, hashes: Int64s) -> Int64s:
        """Return the number of each hash; `UNKNOWN` for the others. `hashes` has shape (n, 2)."""
        numbers = np.zeros(len(hashes), np.int64)
        rest, place = np.arange(len(hashes)), hashes[:, 0] & self._mask
        while len(rest):
            stored = self._numbers[place]
            is_same = self._is_same(place, hashes[rest])
            numbers[rest] = np.where(is_same, stored, UNKNOWN)
            goes_on = (stored != UNKNOWN) & ~is_same
            rest, place = rest[goes_on], (place[goes_on] + 1) & self._mask
        return numbers

    def add(self, hashes: Int64s) -> tuple[Int64s, Int64s]:
        """Number unknown hashes, which may be equal. Return their numbers and the first of each number.

        If there is no room for all of them, none gets a number, and none ever will.
        """
        if self._is_full or self._count + len(hashes) > self._max_count:
            self._is_full = True
            return np.zeros(len(hashes), np.int64), np.empty(0, np.int64)
        self._reserve(self._count + len(hashes))
        place = self._place(hashes)
        is_first = self._numbers[place] == -1 - np.arange(len(place))
        first = np.flatnonzero(is_first)
        self._numbers[place[first]] = self._count + 1 + np.arange(len(first))
        self._count += len(first)
        return self._numbers[place].astype(np.int64), first

    def _place(self, hashes: Int64s) -> Int64s:
        """Take a place for each hash, and put -1 - i there for the i-th, the first of equal ones."""
        places = np.empty(len(hashes), np.int64)
        rest, place = np.arange(len(hashes)), hashes[:, 0] & self._mask
        while len(rest):
            free = self._numbers[place] == UNKNOWN
            # Of several that want one place the first gets it, which is assigned last.
            wanted, claims = place[free][::-1], -1 - rest[free][::-1]
            self._numbers[wanted] = claims
            won = wanted[self._numbers[wanted] == claims]
            self._hashes[won] = hashes[-1 - self._numbers[won]]
            places[rest] = place
            goes_on = ~self._is_same(place, hashes[rest])
            rest, place = rest[goes_on], (place[goes_on] + 1) & self._mask
        return places

    def _is_same(self, place: Int64s, hashes: Int64s) -> NDArray[np.bool_]:
        stored = self._hashes[place]
        is_same: NDArray[np.bool_] = (stored[:, 0] == hashes[:, 0]) & (stored[:, 1] == hashes[:, 1])
        is_same &= self._numbers[place] != UNKNOWN
        return is_same

    def _reserve(self, count: int) -> None:
        """Make room for a number of hashes."""
        places = len(self._numbers)
        if 2 * count <= places:
            return
        taken = np.flatnonzero(self._numbers)
        hashes, numbers = self._hashes[taken], self._numbers[taken]
        while 2 * count > places:
            places *= 2
        self._allocate(places)
        self._numbers[self._place(hashes)] = numbers

    def _allocate(self, places: int) -> None:
        self._mask = places - 1
        self._hashes = np.zeros((places, 2), np.int64)
        self._numbers = np.zeros(places, np.int32)
