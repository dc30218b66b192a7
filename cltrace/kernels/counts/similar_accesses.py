"""Accesses of a site that are counted together, and what their warps have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.touched_sectors import Part
from cltrace.kernels.counts.transactions import (
    Transactions,
    addresses_by_warp,
    lanes_per_address,
)
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.values import Value

_Number = TypeVar("_Number", bound=np.generic)
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)
_HASH_OFFSET: Final = np.uint64(1)


@dataclass(slots=True, eq=False)
class WaitingAccess:
    """An access that is not counted yet.

    `times` is the number of accesses that it represents, `trips` the number of loop trips whose sectors
    it represents.
    """

    site: int
    address: Value
    lanes: Lanes
    times: float = 1.0
    trips: float = 1.0


@dataclass(frozen=True, slots=True)
class LaneRun:
    """Accesses of a site one after another by the same lanes.

    `positions` are those among the accesses. `rows` has the addresses of each warp, access by access.
    """

    positions: range
    rows: NDArray[np.int64]


def runs_of_lanes(accesses: Sequence[WaitingAccess], warp_width: int) -> Sequence[LaneRun]:
    """Return the runs of accesses one after another of the same lanes, with their addresses."""
    runs: list[LaneRun] = []
    begin = 0
    for end in range(1, len(accesses) + 1):
        first = accesses[begin]
        if (
            end == len(accesses)
            or accesses[end].lanes is not first.lanes
            or type(accesses[end].address) is not type(first.address)
        ):
            addresses = [access.address for access in accesses[begin:end]]
            rows = addresses_by_warp(addresses, first.lanes, warp_width)
            runs.append(LaneRun(range(begin, end), rows))
            begin = end
    return runs


class SimilarAccesses:
    """Accesses of a site whose rows of addresses have the same width, one row per warp."""

    def __init__(
        self, accesses: Sequence[WaitingAccess], rows: Sequence[NDArray[np.int64]]
    ) -> None:
        self._accesses = accesses
        self.rows = np.concatenate(rows) if len(rows) > 1 else rows[0]
        self.lengths = [len(access.lanes.warp_begins) for access in accesses]
        self._ends = np.cumsum(self.lengths)
        self.groups, self.times = groups_and_times(accesses)

    def split(self, by_warp: NDArray[_Number]) -> Iterator[NDArray[_Number]]:
        """Yield the entries of each access in an array with one entry per warp."""
        for end, length in zip(self._ends, self.lengths, strict=True):
            yield by_warp[end - length : end]

    def sectors_of(self, transactions: Transactions) -> Iterator[Part]:
        """Yield the sectors that each access touches."""
        owners = self.groups[transactions.touched_warp]
        begin = 0
        bounds = np.searchsorted(transactions.touched_warp, self._ends).tolist()
        for access, end in zip(self._accesses, bounds, strict=True):
            yield transactions.touched[begin:end], owners[begin:end], access.trips
            begin = end


def contention_by_access(
    accesses: Sequence[WaitingAccess], runs: Sequence[LaneRun]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield the groups of the warps of each access, and the lanes per address of each of the warps.

    Sums of these fractions depend on their order.
    """
    for run in runs:
        by_access = run.rows.reshape(len(run.positions), -1, run.rows.shape[1])
        for position, rows in zip(run.positions, by_access, strict=True):
            access = accesses[position]
            active = np.diff(access.lanes.warp_begins, append=access.lanes.count)
            yield access.lanes.warp_groups, lanes_per_address(rows, active) * access.times


def groups_and_times(
    accesses: Sequence[WaitingAccess],
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the group of each warp, and how often it counts; None if each counts once."""
    groups = np.concatenate([access.lanes.warp_groups for access in accesses])
    times = [access.times for access in accesses]
    if all(number == 1.0 for number in times):
        return groups, None
    lengths = [len(access.lanes.warp_groups) for access in accesses]
    return groups, np.repeat(np.asarray(times), lengths)


def hash_rows(transactions: Transactions) -> NDArray[np.uint64]:
    """Return a hash of the sectors that each warp touches."""
    begins = np.cumsum(transactions.sectors) - transactions.sectors
    mixed = (transactions.touched.astype(np.uint64) + _HASH_OFFSET) * _HASH
    hashes: NDArray[np.uint64] = np.add.reduceat(mixed ^ (mixed >> np.uint64(29)), begins)
    return hashes
