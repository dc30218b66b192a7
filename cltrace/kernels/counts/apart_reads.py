"""Reads of a region told apart by when they are made: reads of a block are in flight together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.counts.footprints import count_distinct, extrapolate_distinct
from cltrace.kernels.counts.touched_sectors import DistinctSectors, TouchedSectors
from cltrace.kernels.execute.state import Site

_MAX_APART: Final = 1 << 50
"""Limit on the numbers of sectors that are told apart by access."""


@dataclass(frozen=True, slots=True)
class ApartReads:
    """The sectors that sites read, in which those of each access of a block are others than those before.

    `by_site` are the records of each site, `together` those of all of them.
    """

    by_site: Sequence[TouchedSectors]
    together: TouchedSectors

    @classmethod
    def of(cls, touched: Sequence[TouchedSectors], sites: Sequence[Site]) -> "ApartReads | None":
        """Return the records of sites; None for too many, or where nothing is read."""
        bounds = [each.bounds for each in touched if each.accesses]
        if not bounds:
            return None
        # Both are even, so that sectors of one granule stay neighbours.
        lowest = min(first for first, _ in bounds) // 2 * 2
        span = (max(last for _, last in bounds) - lowest) // 2 * 2 + 2
        most = max(each.accesses for each in touched)
        blocks = list(dict.fromkeys(site.block for site in sites))
        if span * most * len(blocks) > _MAX_APART:
            return None
        by_site = [
            each.by_access(blocks.index(site.block) * most, lowest, span)
            for site, each in zip(sites, touched, strict=True)
        ]
        together = TouchedSectors()
        for each in by_site:
            together.merge(each)
        return cls(by_site, together)

    def returns(self, distinct: DistinctSectors, groups: int, wave_groups: int) -> float:
        """Return how often the work-groups of a wave come back to one of its sectors, at least once.

        The sectors that they touch at the same access count once: those of the rows of a matrix that all
        work-groups read side by side, say. So do those of a block. `distinct` are the different sectors
        of the `groups` that the records are of.
        """
        different = extrapolate_distinct(distinct, wave_groups, math.inf)[0]
        if not different:
            return 1.0
        apart = count_distinct(self.together, groups)
        return max(extrapolate_distinct(apart, wave_groups, math.inf)[0] / different, 1.0)

    def reads_together(self, groups: int) -> float:
        """Return how many sites of a block read a sector at the same access, on average."""
        each = sum(count_distinct(touched, groups).group_mean for touched in self.by_site)
        return max(each / max(count_distinct(self.together, groups).group_mean, 1e-9), 1.0)

    def paired_share(self, groups: int) -> float:
        """Return the share of the sectors that are read together with the other half of their 64 B."""
        return count_distinct(self.together, groups).paired_share
