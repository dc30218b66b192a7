"""Batches of accesses, whose memory transactions are counted together.

A call of numpy takes longer than its work on the few warps of an access. The transactions of an access
depend only on its addresses, so they are counted when enough accesses wait or when a count is needed.
Accesses that represent those of skipped trips carry a factor, so skipping trips needs no count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.access_order import Jumps, Moves, WarpOrder
from cltrace.kernels.counts.similar_accesses import (
    LaneRun,
    SimilarAccesses,
    WaitingAccess,
    contention_by_access,
    groups_and_times,
    hash_rows,
    runs_of_lanes,
)
from cltrace.kernels.counts.step_sectors import StepSectors
from cltrace.kernels.counts.touched_sectors import Part, SectorRecords
from cltrace.kernels.counts.transactions import (
    Transactions,
)
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.state import Site
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.limits import check_cpu_limit
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Value

_MAX_WAITING_LANES: Final = 1 << 18
"""Number of waiting lanes from which the accesses are counted."""
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

    def __init__(
        self,
        sites: Sequence[Site],
        machine: Machine,
        groups: int,
        *,
        counts_transactions: bool = True,
    ) -> None:
        """If `counts_transactions` is False, only the sectors that the sites touch are recorded."""
        self._counts_transactions = counts_transactions
        self._sites = sites
        self._machine = machine
        self._groups = groups
        self.counters: NDArray[np.float64] = np.zeros((len(SiteColumn) * len(sites), groups))
        self.records = SectorRecords(sites)
        self._waiting: list[WaitingAccess] = []
        self._waiting_lanes = 0
        self._marks: WeakSet[BatchMark] = WeakSet()
        self.strides: list[object] = [None] * len(sites)
        self._moves = Moves()
        self._jumps = Jumps()
        self._step_sectors = [StepSectors(groups) for _ in sites]

    def step_sectors(self, site: int) -> StepSectors:
        """Return the sectors of a site that the warps of a group touch together."""
        return self._step_sectors[site]

    def jump_bytes(self, site: int) -> int:
        """Return the greatest common divisor of a site's jumps on a CPU, 0 without any."""
        return self._jumps.common_bytes(site)

    def add(self, site: int, address: Value, lanes: Lanes, *, represents_sectors: bool) -> None:
        """Add an access. `address` is a scalar or has one entry per lane.

        `represents_sectors` is False if other accesses represent its sectors.
        """
        trips = 1.0 if represents_sectors else 0.0
        self._waiting.append(WaitingAccess(site, address, lanes, trips=trips))
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

    def _count_accesses(self, accesses: Sequence[WaitingAccess]) -> None:
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

    def _count_site(self, site: int, accesses: Sequence[WaitingAccess]) -> list[Part]:
        """Count accesses of a site, in their order. Return the sectors that each touches."""
        runs = runs_of_lanes(accesses, self._machine)
        by_width: dict[int, list[LaneRun]] = {}
        for run in runs:
            by_width.setdefault(run.rows.shape[1], []).append(run)
        hashes: list[NDArray[np.uint64]] = [_NO_HASHES] * len(accesses)
        sectors: list[Part] = [_NO_SECTORS] * len(accesses)
        for same_width in by_width.values():
            positions = [position for run in same_width for position in run.positions]
            similar = SimilarAccesses([accesses[position] for position in positions], same_width)
            transactions = self._count_transactions(site, similar)
            for position, part in zip(positions, similar.sectors_of(transactions), strict=True):
                sectors[position] = part
            by_access = self._count_similar(site, similar, transactions)
            for position, part_hashes in zip(positions, by_access, strict=True):
                hashes[position] = part_hashes
        if self._counts_transactions:
            self._count_order(site, accesses, runs, hashes)
            if self._sites[site].access is Access.ATOMIC:
                for groups, shared in contention_by_access(accesses, runs):
                    self._add(site, SiteColumn.CONTENTION, groups, None, shared)
        return sectors

    def _count_similar(
        self, site: int, similar: SimilarAccesses, transactions: Transactions
    ) -> Sequence[NDArray[np.uint64]]:
        """Count transactions of a site. Return the hashes of the sectors of each read, by warp.

        They are empty for writes, and where transactions are not counted.
        """
        none = (_NO_HASHES,) * len(similar.lengths)
        if not self._counts_transactions:
            return none
        self._add_transactions(site, similar, transactions)
        if self._sites[site].access is not Access.READ:
            return none
        self._step_sectors[site].count(similar, transactions)
        return tuple(similar.split(hash_rows(transactions)))

    def _count_order(
        self,
        site: int,
        accesses: Sequence[WaitingAccess],
        runs: Sequence[LaneRun],
        hashes: Sequence[NDArray[np.uint64]],
    ) -> None:
        """Count reads that touch other sectors than the warp's request before, and jumps on a CPU.

        `hashes` are those of the sectors of each warp by access.
        """
        is_read = self._sites[site].access is Access.READ
        if not is_read and not self._machine.has_item_loops:
            return
        order = WarpOrder.of(np.concatenate([access.lanes.warp_numbers for access in accesses]))
        in_order, times = groups_and_times(accesses)
        groups = in_order[order.order]
        ordered_times = None if times is None else times[order.order]
        num_warps = accesses[0].lanes.grid.warps
        if is_read:
            moves = self._moves.find(site, order, np.concatenate(hashes), num_warps)
            self._add(site, SiteColumn.MOVING_REQUESTS, groups, ordered_times, moves)
        if self._machine.has_item_loops:
            begins = np.concatenate([run.begins for run in runs])
            jumps = self._jumps.find(site, order, begins, groups, num_warps)
            self._add(site, SiteColumn.JUMPING_REQUESTS, groups, ordered_times, jumps)

    def _count_transactions(self, site: int, similar: SimilarAccesses) -> Transactions:
        """Count the transactions of accesses of a site."""
        access_site = self._sites[site]
        writes = self._counts_transactions and access_site.access is not Access.READ
        return similar.count_transactions(access_site, self._machine, writes=writes)

    def _add_transactions(
        self, site: int, similar: SimilarAccesses, transactions: Transactions
    ) -> None:
        """Add the transactions of accesses to the counters of a site."""
        columns = {
            SiteColumn.REQUESTS: transactions.further_requests,
            SiteColumn.SECTORS: transactions.sectors,
            SiteColumn.LINES: transactions.lines,
            SiteColumn.BANK_CYCLES: transactions.bank_cycles,
        }
        if self._sites[site].access is not Access.READ:
            columns[SiteColumn.PARTIAL_SECTORS] = transactions.partial_sectors
        for column, values in columns.items():
            self._add(site, column, similar.groups, similar.times, values)
        stride = transactions.stride_bytes
        current = VARYING_STRIDE if stride is None else stride
        previous = self.strides[site]
        self.strides[site] = current if previous in (None, current) else VARYING_STRIDE

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
