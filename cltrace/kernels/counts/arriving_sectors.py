"""Sectors to which warps come: those that a warp did not touch at its access before."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.access_order import WarpOrder
from cltrace.kernels.counts.similar_accesses import SimilarAccesses
from cltrace.kernels.counts.transactions import Transactions

_MAX_SECTORS: Final = 1 << 15
"""Number of sectors of a site from which further ones are not compared."""
_MAX_KEY: Final = 1 << 62
_NONE: Final = np.zeros(0, np.int64)


class ArrivingSectors:
    """The sectors of a site's warps from their second access on, and those that are new to a warp."""

    def __init__(self) -> None:
        self._further = 0
        self._arriving = 0
        self._last = (_NONE, _NONE)
        """Warps, and the sectors of the last access of each."""

    @property
    def share(self) -> float:
        """The share of the sectors of warps that they did not touch at the access before."""
        return self._arriving / self._further if self._further else 1.0

    def count(self, similar: SimilarAccesses, transactions: Transactions) -> None:
        """Count the sectors of accesses, unless enough have been counted.

        Accesses after skipped trips are left out: what came before them is not known.
        """
        if self._further >= _MAX_SECTORS:
            return
        follows = np.repeat(similar.trips > 0, similar.lengths)[transactions.touched_warp]
        rows, sectors = transactions.touched_warp[follows], transactions.touched[follows]
        if not len(rows):
            self._last = (_NONE, _NONE)
            return
        warps = similar.warps
        self._compare(warps[rows], sectors, _ranks(warps)[rows] + 1)

    def _compare(
        self, warps: NDArray[np.int64], sectors: NDArray[np.int64], ranks: NDArray[np.int64]
    ) -> None:
        """Compare the sectors of warps, by the rank of each access: 0 has the one of the last batch."""
        before, touched = self._last
        all_warps = np.concatenate([before, warps])
        all_sectors = np.concatenate([touched, sectors])
        all_ranks = np.concatenate([np.zeros(len(before), np.int64), ranks])
        lowest, times = int(all_sectors.min()), int(all_ranks.max()) + 1
        span = int(all_sectors.max()) - lowest + 1
        if span * (int(all_warps.max()) + 1) * times >= _MAX_KEY:
            return
        keys = np.sort((all_warps * span + all_sectors - lowest) * times + all_ranks)
        sector, rank = np.divmod(keys, times)
        stays = np.zeros(len(keys), np.bool_)
        stays[1:] = (sector[1:] == sector[:-1]) & (rank[1:] - rank[:-1] == 1)
        known = np.isin(sector // span, before)
        follows = rank > np.where(known, 0, 1)
        self._further += int(follows.sum())
        self._arriving += int((follows & ~stays).sum())
        latest = np.zeros(int(all_warps.max()) + 1, np.int64)
        np.maximum.at(latest, all_warps, all_ranks)
        is_last = all_ranks == latest[all_warps]
        self._last = (all_warps[is_last], all_sectors[is_last])


def _ranks(warps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many accesses of the same warp come before each; `warps` are those of accesses."""
    order = WarpOrder.of(warps)
    numbers = np.arange(len(warps))
    ranks = np.empty(len(warps), np.int64)
    ranks[order.order] = numbers - np.repeat(order.begins, np.diff(order.begins, append=len(warps)))
    return ranks
