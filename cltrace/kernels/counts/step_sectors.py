"""Sectors that the warps of a group touch together at one access, and those of them that are fresh."""

from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.arriving_sectors import ArrivingSectors
from cltrace.kernels.counts.similar_accesses import SimilarAccesses
from cltrace.kernels.counts.sorted_numbers import is_first
from cltrace.kernels.counts.transactions import Transactions

_MAX_SECTORS: Final = 1 << 18
"""Number of sectors of a site from which further ones are not compared within a group."""
_MAX_KEY: Final = 1 << 62
_NEVER: Final = 1 << 40
FRESH_DISTANCES: Final = (1, 4, 16)
"""Accesses of a site after which its sectors are fresh."""


class StepSectors:
    """The sectors of a site that its warps touch, and the different ones per access and group.

    Of these, the *fresh* ones are those that the group did not touch at the site's accesses before: the
    last one, the last four, the last sixteen.
    """

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._different = 0
        self._touched = 0
        self._following = np.zeros(len(FRESH_DISTANCES), np.int64)
        self._fresh = np.zeros(len(FRESH_DISTANCES), np.int64)
        self._arriving = ArrivingSectors()

    @property
    def share(self) -> float:
        """The share of the sectors that differ between the warps of a group at one access."""
        return self._different / self._touched if self._touched else 1.0

    @property
    def fresh_shares(self) -> tuple[float, ...]:
        """The shares of fresh sectors among a group's different ones, by `FRESH_DISTANCES`."""
        shares = (
            float(fresh / following) if following else 1.0
            for fresh, following in zip(self._fresh, self._following, strict=True)
        )
        return tuple(accumulate(shares, min))

    @property
    def arriving_share(self) -> float:
        """The share of the sectors of warps that they did not touch at the access before."""
        return self._arriving.share

    def count(self, similar: SimilarAccesses, transactions: Transactions) -> None:
        """Count the sectors of accesses, unless enough have been counted."""
        if self._touched >= _MAX_SECTORS:
            return
        lengths = similar.lengths
        steps = np.repeat(np.arange(len(lengths)), lengths) * self._groups + similar.groups
        sectors = transactions.touched - transactions.touched.min()
        span = int(sectors.max()) + 1
        if span * (int(steps.max()) + 1) >= _MAX_KEY:
            return
        keys = np.sort(steps[transactions.touched_warp] * span + sectors)
        different = keys[is_first(keys)]
        self._arriving.count(similar, transactions)
        self._different += len(different)
        self._touched += len(keys)
        self._count_fresh(different, span)

    def _count_fresh(self, different: NDArray[np.int64], span: int) -> None:
        """Count fresh sectors, where all accesses before that could have touched them are here."""
        step, group = np.divmod(different // span, self._groups)
        # The step at which each sector was touched before, by the order of group, sector and step.
        order = np.lexsort((step, different % span, group))
        is_same = (np.diff(group[order]) == 0) & (np.diff(different[order] % span) == 0)
        since = np.full(len(order), _NEVER)
        since[order[1:]] = np.where(is_same, np.diff(step[order]), _NEVER)
        for at, distance in enumerate(FRESH_DISTANCES):
            follows = step >= min(distance, int(step.max()))
            self._following[at] += int(follows.sum())
            self._fresh[at] += int((since[follows] > distance).sum())
