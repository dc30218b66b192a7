"""Sectors that access sites touched in a sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_MAX_TOUCHED: Final = 4_000_000
"""Limit on the touched sectors that are kept per sample to count the distinct ones."""
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
                begin = end


class SectorRecords:
    """The touched sectors of all sites, as far as the limit allows."""

    def __init__(self, sites: int) -> None:
        self.by_site = [TouchedSectors() for _ in range(sites)]
        self.has_dropped = False
        """True if more sectors were touched than are kept."""
        self._num_kept = 0
        self._num_later = 0

    def keep(self, parts: Sequence[tuple[int, Part]]) -> None:
        """Keep the sectors of accesses, each with its site, in the order of the accesses."""
        kept: dict[int, list[Part]] = {}
        for site, part in parts:
            if not part[2]:
                self._num_later += len(part[0])
                if self._num_later > _MAX_LATER:
                    self.by_site[site].shows_reach = False
                    continue
            elif self._num_kept + len(part[0]) > _MAX_TOUCHED:
                self.has_dropped = True
                continue
            else:
                self._num_kept += len(part[0])
            kept.setdefault(site, []).append(part)
        for site, own in kept.items():
            self.by_site[site].add(own)

    def lengths(self) -> tuple[int, ...]:
        """Return the number of records of each site."""
        return tuple(len(touched.weights) for touched in self.by_site)

    def scale_since(self, lengths: Sequence[int], factor: float) -> None:
        """Multiply the weights of all records beyond the first `lengths` of each site."""
        for touched, begin in zip(self.by_site, lengths, strict=True):
            for position in range(begin, len(touched.weights)):
                touched.weights[position] *= factor
