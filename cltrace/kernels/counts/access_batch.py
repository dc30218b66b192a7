"""Batches of accesses, whose memory transactions are counted together.

A call of numpy takes longer than its work on the few warps of an access. The transactions of an access
depend only on its addresses, so they are counted when enough accesses wait or when a count is needed.
Accesses that represent those of skipped trips carry a factor, so skipping trips needs no count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.access_order import Jumps, Moves, WarpOrder
from cltrace.kernels.counts.sorted_numbers import is_first
from cltrace.kernels.counts.touched_sectors import Part, SectorRecords
from cltrace.kernels.counts.transactions import (
    Transactions,
    addresses_by_warp,
    count_transactions,
    lanes_per_address,
)
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.limits import check_cpu_limit
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Value

_Number = TypeVar("_Number", bound=np.generic)
_MAX_WAITING_LANES: Final = 1 << 18
"""Number of waiting lanes from which the accesses are counted."""
_MAX_STEP_SECTORS: Final = 1 << 18
"""Number of sectors of a site from which further ones are not compared within a group."""
_MAX_KEY: Final = 1 << 62
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)
_HASH_OFFSET: Final = np.uint64(1)
_NO_HASHES: Final = np.zeros(0, np.uint64)
_NO_SECTORS: Final[Part] = (np.zeros(0, np.int64), np.zeros(0, np.int64), 1.0)
VARYING_STRIDE: Final = object()
"""Stride of a site whose lanes are not at equal distances."""


class SiteColumn(IntEnum):
    """Columns of the counts of an access site."""

    ACCESSES = 0
    REQUESTS = 1
    SECTORS = 2
    LINES = 3
    BANK_CYCLES = 4
    PARTIAL_SECTORS = 5
    CONTENTION = 6
    MOVING_REQUESTS = 7
    JUMPING_REQUESTS = 8


@dataclass(slots=True)
class _WaitingAccess:
    """An access that is not counted yet.

    `times` is the number of accesses that it represents, `trips` the number of loop trips whose sectors
    it represents.
    """

    site: int
    address: Value
    lanes: Lanes
    times: float = 1.0
    trips: float = 1.0


@dataclass(slots=True, eq=False, weakref_slot=True)
class BatchMark:
    """A moment in the order of accesses.

    `waiting` is the number of accesses from before it that are not counted yet. The counters and the
    number of records at the moment are known when none is left.
    """

    waiting: int
    counters: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    records: tuple[int, ...] = ()


class AccessBatch:
    """The accesses that wait to be counted, and the counts of those before.

    `counters` has a row per `SiteColumn` of each site and a column per group.
    """

    def __init__(self, sites: Sequence[Site], machine: Machine, groups: int) -> None:
        self._sites = sites
        self._machine = machine
        self._groups = groups
        self.counters: NDArray[np.float64] = np.zeros((len(SiteColumn) * len(sites), groups))
        self.records = SectorRecords(len(sites))
        self._waiting: list[_WaitingAccess] = []
        self._waiting_lanes = 0
        self._marks: WeakSet[BatchMark] = WeakSet()
        self.strides: list[object] = [None] * len(sites)
        self._moves = Moves()
        self._jumps = Jumps()
        self._step_sectors = [[0, 0] for _ in sites]

    def step_share(self, site: int) -> float:
        """Return the share of a site's sectors that differ between the warps of a group at one access."""
        different, touched = self._step_sectors[site]
        return different / touched if touched else 1.0

    def jump_bytes(self, site: int) -> int:
        """Return the greatest common divisor of a site's jumps on a CPU, 0 without any."""
        return self._jumps.common_bytes(site)

    def add(self, site: int, address: Value, lanes: Lanes, *, represents_sectors: bool) -> None:
        """Add an access. `address` is a scalar or has one entry per lane.

        `represents_sectors` is False if other accesses represent its sectors.
        """
        trips = 1.0 if represents_sectors else 0.0
        self._waiting.append(_WaitingAccess(site, address, lanes, trips=trips))
        self._waiting_lanes += lanes.count
        if self._waiting_lanes >= _MAX_WAITING_LANES:
            self.count()

    def mark(self) -> BatchMark:
        """Return a mark of this moment. Marks that nobody keeps cost nothing."""
        mark = BatchMark(len(self._waiting))
        if not mark.waiting:
            self._complete(mark)
        self._marks.add(mark)
        return mark

    def scale_since(self, mark: BatchMark, times: float, trips: float) -> None:
        """Count the accesses since `mark` another `times` times, and their sectors for `trips` more."""
        if not mark.waiting:
            self.counters += (self.counters - mark.counters) * times
            self.records.scale_since(mark.records, 1.0 + trips)
        for access in self._waiting[mark.waiting :]:
            access.times *= 1.0 + times
            access.trips *= 1.0 + trips

    def count(self) -> None:
        """Count the waiting accesses."""
        waiting, self._waiting, self._waiting_lanes = self._waiting, [], 0
        begin = 0
        for mark in sorted(self._marks, key=lambda mark: mark.waiting):
            if mark.waiting:
                self._count_accesses(waiting[begin : mark.waiting])
                begin = mark.waiting
                self._complete(mark)
        self._count_accesses(waiting[begin:])

    def _complete(self, mark: BatchMark) -> None:
        """Complete a mark whose earlier accesses have all been counted."""
        mark.waiting = 0
        mark.counters = self.counters.copy()
        mark.records = self.records.lengths()

    def _count_accesses(self, accesses: Sequence[_WaitingAccess]) -> None:
        """Count accesses, those of a site together."""
        by_site: dict[int, list[int]] = {}
        for position, access in enumerate(accesses):
            by_site.setdefault(access.site, []).append(position)
        sectors: dict[int, Part] = {}
        for site, positions in by_site.items():
            check_cpu_limit()
            parts = self._count_site(site, [accesses[position] for position in positions])
            sectors.update(zip(positions, parts, strict=True))
        self.records.keep(
            [(access.site, sectors[position]) for position, access in enumerate(accesses)]
        )

    def _count_site(self, site: int, accesses: Sequence[_WaitingAccess]) -> list[Part]:
        """Count accesses of a site, in their order. Return the sectors that each touches."""
        rows = [
            addresses_by_warp(access.address, access.lanes, self._machine.warp_width)
            for access in accesses
        ]
        by_width: dict[int, list[int]] = {}
        for position, addresses in enumerate(rows):
            by_width.setdefault(addresses.shape[1], []).append(position)
        hashes: list[NDArray[np.uint64]] = [_NO_HASHES] * len(accesses)
        sectors: list[Part] = [_NO_SECTORS] * len(accesses)
        for positions in by_width.values():
            similar = _SimilarAccesses(
                [accesses[position] for position in positions],
                [rows[position] for position in positions],
            )
            transactions = self._count_transactions(site, similar)
            for position, part in zip(positions, similar.sectors_of(transactions), strict=True):
                sectors[position] = part
            if self._sites[site].access is Access.READ:
                self._count_step(site, similar, transactions)
                by_access = similar.split(_hash_rows(transactions))
                for position, part_hashes in zip(positions, by_access, strict=True):
                    hashes[position] = part_hashes
        self._count_order(site, accesses, rows, hashes)
        if self._sites[site].access is Access.ATOMIC:
            # Access by access, as sums of fractions depend on their order.
            for access, addresses in zip(accesses, rows, strict=True):
                shared = _contention(access, addresses)
                self._add(site, SiteColumn.CONTENTION, access.lanes.warp_groups, None, shared)
        return sectors

    def _count_order(
        self,
        site: int,
        accesses: Sequence[_WaitingAccess],
        rows: Sequence[NDArray[np.int64]],
        hashes: Sequence[NDArray[np.uint64]],
    ) -> None:
        """Count reads that touch other sectors than the warp's request before, and jumps on a CPU.

        `rows` have the addresses of each access by warp, `hashes` those of the sectors of each warp.
        """
        is_read = self._sites[site].access is Access.READ
        if not is_read and not self._machine.has_item_loops:
            return
        order = WarpOrder.of(np.concatenate([access.lanes.warp_numbers for access in accesses]))
        in_order, times = _groups_and_times(accesses)
        groups = in_order[order.order]
        ordered_times = None if times is None else times[order.order]
        num_warps = accesses[0].lanes.grid.warps
        if is_read:
            moves = self._moves.find(site, order, np.concatenate(hashes), num_warps)
            self._add(site, SiteColumn.MOVING_REQUESTS, groups, ordered_times, moves)
        if self._machine.has_item_loops:
            begins = np.concatenate([part[:, 0] for part in rows])
            jumps = self._jumps.find(site, order, begins, groups, num_warps)
            self._add(site, SiteColumn.JUMPING_REQUESTS, groups, ordered_times, jumps)

    def _count_transactions(self, site: int, similar: "_SimilarAccesses") -> Transactions:
        """Count the transactions of accesses of a site."""
        access_site = self._sites[site]
        writes = access_site.access is not Access.READ
        transactions = count_transactions(
            similar.rows, access_site.access_bytes, self._machine, writes=writes
        )
        columns = {
            SiteColumn.SECTORS: transactions.sectors,
            SiteColumn.LINES: transactions.lines,
            SiteColumn.BANK_CYCLES: transactions.bank_cycles,
        }
        if writes:
            columns[SiteColumn.PARTIAL_SECTORS] = transactions.partial_sectors
        for column, values in columns.items():
            self._add(site, column, similar.groups, similar.times, values)
        stride = transactions.stride_bytes
        current = VARYING_STRIDE if stride is None else stride
        previous = self.strides[site]
        self.strides[site] = current if previous in (None, current) else VARYING_STRIDE
        return transactions

    def _count_step(
        self, site: int, similar: "_SimilarAccesses", transactions: Transactions
    ) -> None:
        """Count the different sectors that each group touches at an access, for the first of them."""
        counted = self._step_sectors[site]
        if counted[1] >= _MAX_STEP_SECTORS:
            return
        lengths = similar.lengths
        steps = np.repeat(np.arange(len(lengths)), lengths) * self._groups + similar.groups
        sectors = transactions.touched - transactions.touched.min()
        span = int(sectors.max()) + 1
        if span * (int(steps.max()) + 1) >= _MAX_KEY:
            return
        keys = np.sort(steps[transactions.touched_warp] * span + sectors)
        counted[0] += int(is_first(keys).sum())
        counted[1] += len(keys)

    def _add(
        self,
        site: int,
        column: SiteColumn,
        groups: NDArray[np.int64],
        times: NDArray[np.float64] | None,
        values: NDArray[np.int64] | NDArray[np.float64],
    ) -> None:
        """Add values of warps, whose groups are given, each as often as its access counts."""
        weights = values if times is None else values * times
        row = len(SiteColumn) * site + column
        self.counters[row] += np.bincount(groups, weights=weights, minlength=self._groups)


class _SimilarAccesses:
    """Accesses of a site whose rows of addresses have the same width, one row per warp."""

    def __init__(
        self, accesses: Sequence[_WaitingAccess], rows: Sequence[NDArray[np.int64]]
    ) -> None:
        self._accesses = accesses
        self.rows = np.concatenate(rows) if len(rows) > 1 else rows[0]
        self.lengths = [len(part) for part in rows]
        self._ends = np.cumsum(self.lengths)
        self.groups, self.times = _groups_and_times(accesses)

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


def _contention(access: _WaitingAccess, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lanes per address of each warp of an access."""
    active = np.diff(access.lanes.warp_begins, append=access.lanes.count)
    contention: NDArray[np.float64] = lanes_per_address(rows, active) * access.times
    return contention


def _groups_and_times(
    accesses: Sequence[_WaitingAccess],
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the group of each warp, and how often it counts; None if each counts once."""
    groups = np.concatenate([access.lanes.warp_groups for access in accesses])
    times = [access.times for access in accesses]
    if all(number == 1.0 for number in times):
        return groups, None
    lengths = [len(access.lanes.warp_groups) for access in accesses]
    return groups, np.repeat(np.asarray(times), lengths)


def _hash_rows(transactions: Transactions) -> NDArray[np.uint64]:
    """Return a hash of the sectors that each warp touches."""
    begins = np.cumsum(transactions.sectors) - transactions.sectors
    mixed = (transactions.touched.astype(np.uint64) + _HASH_OFFSET) * _HASH
    hashes: NDArray[np.uint64] = np.add.reduceat(mixed ^ (mixed >> np.uint64(29)), begins)
    return hashes
