"""Accesses of a site that are counted together, and what their warps have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.touched_sectors import Part
from cltrace.kernels.counts.transactions import (
    Transactions,
    Width,
    addresses_by_warp,
    count_transactions,
    lanes_per_address,
    pattern_bytes,
)
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.state import Site
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Value

_Number = TypeVar("_Number", bound=np.generic)
_MIN_MOVED: Final = 4
"""Number of accesses of the same lanes from which they are compared with each other."""
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

    `positions` are those among the accesses. `rows` has addresses by warp. The warps of each access, one
    access after another, access those of the row `number` moved by `moved_bytes`, which is a multiple of
    what a pattern of addresses repeats in.
    """

    positions: range
    rows: NDArray[np.int64]
    number: NDArray[np.int64]
    moved_bytes: NDArray[np.int64]

    @property
    def repeats(self) -> bool:
        """True if warps share rows. Otherwise each has its own, in order."""
        return len(self.rows) < len(self.number)

    @property
    def begins(self) -> NDArray[np.int64]:
        """The first address of each warp, access by access."""
        begins: NDArray[np.int64] = self.rows[self.number, 0] + self.moved_bytes
        return begins

    @property
    def rows_by_access(self) -> NDArray[np.int64]:
        """Addresses of each access, moved to those of a row: shape (accesses, warps, width)."""
        return self.rows[self.number].reshape(len(self.positions), -1, self.rows.shape[1])


def runs_of_lanes(accesses: Sequence[WaitingAccess], machine: Machine) -> Sequence[LaneRun]:
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
            runs.append(_run_of(range(begin, end), addresses, first.lanes, machine))
            begin = end
    return runs


def _run_of(
    positions: range, addresses: Sequence[Value], lanes: Lanes, machine: Machine
) -> LaneRun:
    """Return the run of accesses with some addresses.

    In a loop, lanes often access the addresses of the trip before, all moved by the same distance.
    """
    different, access, moved_bytes = addresses, np.arange(len(addresses)), np.zeros(1, np.int64)
    if len(addresses) >= _MIN_MOVED and type(addresses[0]) is np.ndarray:
        by_access = np.stack(addresses)
        begins = by_access[:, 0]
        distances = begins - begins[0]
        if bool((by_access - distances[:, None] == by_access[0]).all()):
            phase = begins & (pattern_bytes(machine) - 1)
            _, index, repeated = np.unique(phase, return_index=True, return_inverse=True)
            if len(index) < len(addresses):
                different, access = [addresses[number] for number in index.tolist()], repeated
                moved_bytes = begins - begins[index][access]
    rows = addresses_by_warp(different, lanes, machine.warp_width)
    warps = len(lanes.warp_begins)
    number = (access[:, None] * warps + np.arange(warps)).ravel()
    per_warp = np.repeat(np.broadcast_to(moved_bytes, len(addresses)), warps)
    return LaneRun(positions, rows, number, per_warp)


class SimilarAccesses:
    """Accesses of a site whose rows of addresses have the same width."""

    def __init__(self, accesses: Sequence[WaitingAccess], runs: Sequence[LaneRun]) -> None:
        self._accesses = accesses
        self._runs = runs
        self.lengths = [len(access.lanes.warp_begins) for access in accesses]
        self._ends = np.cumsum(self.lengths)
        self.groups, self.times = groups_and_times(accesses)

    @property
    def warps(self) -> NDArray[np.int64]:
        """The numbers of the warps, access by access."""
        return np.concatenate([access.lanes.warp_numbers for access in self._accesses])

    @property
    def trips(self) -> NDArray[np.float64]:
        """The loop trips whose sectors each access represents; 0 after skipped trips."""
        return np.asarray([access.trips for access in self._accesses])

    def count_transactions(self, site: Site, machine: Machine, *, writes: bool) -> Transactions:
        """Count the transactions of the warps of all accesses of a site."""
        parts = [run.rows for run in self._runs]
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
        counted = count_transactions(rows, Width.of(site, machine), machine, writes=writes)
        if not any(run.repeats for run in self._runs):
            return counted
        begins = [0, *np.cumsum([len(part) for part in parts]).tolist()]
        numbers = [run.number + begin for run, begin in zip(self._runs, begins, strict=False)]
        moved_bytes = np.concatenate([run.moved_bytes for run in self._runs])
        return counted.repeated(np.concatenate(numbers), moved_bytes // machine.sector_bytes)

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
        for position, rows in zip(run.positions, run.rows_by_access, strict=True):
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
