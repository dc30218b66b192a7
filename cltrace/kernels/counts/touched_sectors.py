"""Sectors that access sites touched in a sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.types import GLOBAL, LOCAL, PRIVATE

_MAX_TOUCHED: Final = 4_000_000
"""Limit on the touched sectors that are kept per sample to count the distinct ones."""
_MAX_LOCAL: Final = 1_000_000
"""Limit on those of local memory, of which groups touch few, again and again."""
_MAX_SECTOR: Final = 1 << 62
Part = tuple[NDArray[np.int64], NDArray[np.int64], float]
"""The sectors of an access, the positions of their groups, and the loop trips that it represents."""
_MAX_LATER: Final = 1_000_000
"""Limit on those of them that are touched after skipped trips, which other records represent."""


@dataclass(frozen=True, slots=True)
class DistinctSectors:
    """Numbers of distinct sectors in parts of a sample."""

    by_part: tuple[tuple[float, float], ...]
    """Pairs of a part's size and the distinct sectors that its groups touch together. The size is the sum
    of the sectors that each group touches, divided by the mean per group."""
    group_mean: float
    """Mean number of distinct sectors per group."""
    span: float = math.inf
    """Sectors from the lowest to the highest touched one; infinite if not all trips show it."""
    paired_share: float = 0.0
    """The share of the distinct sectors that are touched together with the other half of their 64 B."""


class TouchedSectors:
    """The sectors that a site touched, in records.

    Each record has sector numbers, the positions of their groups, and a weight, which is the number
    of loop trips that it represents. Records of the last trips, after skipped ones, have the weight 0:
    others represent them, but they show how far the addresses reach. `shows_reach` is False if some of
    them are not kept.
    """

    def __init__(self) -> None:
        self.sectors: list[NDArray[np.int64]] = []
        self.groups: list[NDArray[np.int64]] = []
        self.weights: list[float] = []
        self.lengths: list[list[int]] = []
        """The sectors of each access, by record."""
        self.shows_reach = True
        self.distinct: dict[int, DistinctSectors] = {}
        """The numbers of distinct sectors that have been counted, by the number of groups."""

    def add(self, parts: Sequence[Part]) -> None:
        """Add the sectors of accesses, in their order. Neighbours of one weight become one record."""
        begin = 0
        for end in range(1, len(parts) + 1):
            if end == len(parts) or parts[end][2] != parts[begin][2]:
                self.sectors.append(np.concatenate([part[0] for part in parts[begin:end]]))
                self.groups.append(np.concatenate([part[1] for part in parts[begin:end]]))
                self.weights.append(parts[begin][2])
                self.lengths.append([len(part[0]) for part in parts[begin:end]])
                begin = end

    def merge(self, other: "TouchedSectors") -> None:
        """Add the records of another site."""
        self.sectors += other.sectors
        self.groups += other.groups
        self.weights += other.weights
        self.lengths += other.lengths
        self.shows_reach = self.shows_reach and other.shows_reach

    @property
    def accesses(self) -> int:
        """The number of accesses."""
        return sum(map(len, self.lengths))

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest sector; the first is above the other without any."""
        lowest = min((int(each.min(initial=_MAX_SECTOR)) for each in self.sectors), default=1)
        return lowest, max((int(each.max(initial=0)) for each in self.sectors), default=0)

    def by_access(self, begin: int, lowest: int, span: int) -> "TouchedSectors":
        """Return records in which the sectors of each access are others than those of the ones before.

        Accesses are counted from `begin` on; sectors lie in a `span` from the `lowest` on.
        """
        apart = TouchedSectors()
        for sectors, lengths in zip(self.sectors, self.lengths, strict=True):
            accesses = np.repeat(np.arange(begin, begin + len(lengths)), lengths)
            apart.sectors.append(sectors - lowest + accesses * span)
            begin += len(lengths)
        apart.groups, apart.weights, apart.lengths = self.groups, self.weights, self.lengths
        apart.shows_reach = False
        return apart


class SectorRecords:
    """The touched sectors of all sites, as far as the limits of their address spaces allow."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self.by_site = [TouchedSectors() for _ in sites]
        self.has_dropped = False
        """True if more sectors of global or private memory were touched than are kept."""
        self._spaces = [site.space if site.space in {LOCAL, PRIVATE} else GLOBAL for site in sites]
        self._left = {GLOBAL: _MAX_TOUCHED, LOCAL: _MAX_LOCAL, PRIVATE: _MAX_TOUCHED}
        self._num_later = 0

    def keep(self, parts: Sequence[tuple[int, Part]]) -> None:
        """Keep the sectors of accesses, each with its site, in the order of the accesses."""
        kept: dict[int, list[Part]] = {}
        for site, part in parts:
            if self._has_room(site, part):
                kept.setdefault(site, []).append(part)
        for site, own in kept.items():
            self.by_site[site].add(own)

    def _has_room(self, site: int, part: Part) -> bool:
        """Return True if the sectors of an access are kept, and take their room."""
        length = len(part[0])
        if not part[2]:
            self._num_later += length
            has_room = self._num_later <= _MAX_LATER
            self.by_site[site].shows_reach &= has_room
            return has_room
        space = self._spaces[site]
        if length > self._left[space]:
            self.has_dropped |= space != LOCAL
            return False
        self._left[space] -= length
        return True

    def lengths(self) -> tuple[int, ...]:
        """Return the number of records of each site."""
        return tuple(len(touched.weights) for touched in self.by_site)

    def scale_since(self, lengths: Sequence[int], factor: float) -> None:
        """Multiply the weights of all records beyond the first `lengths` of each site."""
        for touched, begin in zip(self.by_site, lengths, strict=True):
            for position in range(begin, len(touched.weights)):
                touched.weights[position] *= factor
