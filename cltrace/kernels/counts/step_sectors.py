"""Sectors that the warps of a group touch together at one access."""

from typing import Final

import numpy as np

from cltrace.kernels.counts.similar_accesses import SimilarAccesses
from cltrace.kernels.counts.sorted_numbers import is_first
from cltrace.kernels.counts.transactions import Transactions

_MAX_SECTORS: Final = 1 << 18
"""Number of sectors of a site from which further ones are not compared within a group."""
_MAX_KEY: Final = 1 << 62


class StepSectors:
    """The sectors of a site that its warps touch, and the different ones per access and group."""

    def __init__(self, groups: int) -> None:
        self._groups = groups
        self._different = 0
        self._touched = 0

    @property
    def share(self) -> float:
        """The share of the sectors that differ between the warps of a group at one access."""
        return self._different / self._touched if self._touched else 1.0

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
        self._different += int(is_first(keys).sum())
        self._touched += len(keys)
