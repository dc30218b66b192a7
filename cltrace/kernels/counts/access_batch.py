"""Batches of accesses, whose memory transactions are counted together.

A call of numpy takes longer than its work on the few warps of an access. The transactions of an access
depend only on its addresses, so they are counted when enough accesses wait or when a count is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.sorted_numbers import is_first
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

_MAX_TOUCHED: Final = 4_000_000
"""Limit on the touched sectors that are kept per sample to count the distinct ones."""
_MAX_WAITING_LANES: Final = 1 << 16
"""Number of waiting lanes from which the accesses are counted."""
_MAX_STEP_SECTORS: Final = 1 << 18
"""Number of sectors of a site from which further ones are not compared within a group."""
_MAX_KEY: Final = 1 << 62
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)
_HASH_OFFSET: Final = np.uint64(1)
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


class TouchedSectors:
    """The sectors that a site touched, in records.

    Each record has sector numbers, the positions of their groups, and a weight, which is the number
    of loop trips that it represents.
    """

    def __init__(self) -> None:
        self.sectors: list[NDArray[np.int64]] = []
        self.groups: list[NDArray[np.int64]] = []
        self.weights: list[float] = []


@dataclass(frozen=True, slots=True)
class _WaitingAccess:
    """An access that is not counted yet. `keeps_sectors` is False if its sectors are not to be kept."""

    site: int
    address: Value
    lanes: Lanes
    keeps_sectors: bool


class AccessBatch:
    """The accesses that wait to be counted, and the counts of those before.

    `counters` has a row per `SiteColumn` of each site and a column per group.
    """

    def __init__(
        self, sites: Sequence[Site], machine: Machine, counters: NDArray[np.float64]
    ) -> None:
        self._sites = sites
        self._machine = machine
        self._counters = counters
        self._groups = counters.shape[1]
        self._waiting: list[_WaitingAccess] = []
        self._waiting_lanes = 0
        self._num_kept = 0
        self.touched = [TouchedSectors() for _ in sites]
        self.strides: list[object] = [None] * len(sites)
        self._last_sectors: dict[int, NDArray[np.uint64]] = {}
        self._step_sectors = [[0, 0] for _ in sites]
        self.has_dropped_sectors = False

    def step_share(self, site: int) -> float:
        """Return the share of a site's sectors that differ between the warps of a group at one access."""
        different, touched = self._step_sectors[site]
        return different / touched if touched else 1.0

    def add(self, site: int, address: Value, lanes: Lanes, *, keeps_sectors: bool) -> None:
        """Add an access. `address` is a scalar or has one entry per lane."""
        self._waiting.append(_WaitingAccess(site, address, lanes, keeps_sectors))
        self._waiting_lanes += lanes.count
        if self._waiting_lanes >= _MAX_WAITING_LANES:
            self.count()

    def count(self) -> None:
        """Count the waiting accesses."""
        if not self._waiting:
            return
        waiting, self._waiting, self._waiting_lanes = self._waiting, [], 0
        similar: dict[tuple[int, int], list[tuple[int, NDArray[np.int64]]]] = {}
        for position, access in enumerate(waiting):
            rows = addresses_by_warp(access.address, access.lanes, self._machine.warp_width)
            similar.setdefault((access.site, rows.shape[1]), []).append((position, rows))
        sectors: list[tuple[NDArray[np.int64], NDArray[np.int64]] | None] = [None] * len(waiting)
        for (site, _), parts in similar.items():
            check_cpu_limit()
            rows = np.concatenate([part for _, part in parts]) if len(parts) > 1 else parts[0][1]
            accesses = [waiting[position] for position, _ in parts]
            groups = np.concatenate([access.lanes.warp_groups for access in accesses])
            transactions = self._count_site(site, rows, groups)
            if self._sites[site].access is Access.READ:
                self._count_moving(site, accesses, groups, transactions)
                self._count_step(site, [len(part) for _, part in parts], groups, transactions)
            if self._sites[site].access is Access.ATOMIC:
                self._count_contention(accesses, [part for _, part in parts])
            owners = groups[transactions.touched_warp]
            ends = np.cumsum([len(part) for _, part in parts])
            bounds = np.searchsorted(transactions.touched_warp, ends)
            begin = 0
            for (position, _), end in zip(parts, bounds, strict=True):
                sectors[position] = (transactions.touched[begin:end], owners[begin:end])
                begin = int(end)
        self._keep_sectors(waiting, sectors)

    def _count_site(
        self, site: int, rows: NDArray[np.int64], groups: NDArray[np.int64]
    ) -> Transactions:
        """Count the transactions of rows of a site, whose groups are given by row."""
        access_site = self._sites[site]
        writes = access_site.access is not Access.READ
        transactions = count_transactions(
            rows, access_site.access_bytes, self._machine, writes=writes
        )
        self._add(site, SiteColumn.SECTORS, groups, transactions.sectors)
        self._add(site, SiteColumn.LINES, groups, transactions.lines)
        self._add(site, SiteColumn.BANK_CYCLES, groups, transactions.bank_cycles)
        if writes:
            self._add(site, SiteColumn.PARTIAL_SECTORS, groups, transactions.partial_sectors)
        stride = transactions.stride_bytes
        current = VARYING_STRIDE if stride is None else stride
        previous = self.strides[site]
        self.strides[site] = current if previous in (None, current) else VARYING_STRIDE
        return transactions

    def _count_moving(
        self,
        site: int,
        accesses: Sequence[_WaitingAccess],
        groups: NDArray[np.int64],
        transactions: Transactions,
    ) -> None:
        """Count the requests that touch other sectors than the request before of the same warp."""
        begins = np.cumsum(transactions.sectors) - transactions.sectors
        mixed = (transactions.touched.astype(np.uint64) + _HASH_OFFSET) * _HASH
        hashes = np.add.reduceat(mixed ^ (mixed >> np.uint64(29)), begins)
        warps = np.concatenate([access.lanes.warp_numbers for access in accesses])
        last = self._last_sectors.setdefault(
            site, np.zeros(accesses[0].lanes.grid.warps, np.uint64)
        )
        order = np.argsort(warps, kind="stable")
        ordered, ordered_hashes = warps[order], hashes[order]
        is_begin = is_first(ordered)
        before = np.empty_like(ordered_hashes)
        before[1:] = ordered_hashes[:-1]
        before[is_begin] = last[ordered[is_begin]]
        is_end = np.append(is_begin[1:], True)
        last[ordered[is_end]] = ordered_hashes[is_end]
        moves = (ordered_hashes != before).astype(np.float64)
        self._add(site, SiteColumn.MOVING_REQUESTS, groups[order], moves)

    def _count_step(
        self,
        site: int,
        lengths: Sequence[int],
        groups: NDArray[np.int64],
        transactions: Transactions,
    ) -> None:
        """Count the different sectors that each group touches at an access, for the first of them.

        `lengths` are the rows of each access.
        """
        counted = self._step_sectors[site]
        if counted[1] >= _MAX_STEP_SECTORS:
            return
        steps = np.repeat(np.arange(len(lengths)), lengths) * self._groups + groups
        sectors = transactions.touched - transactions.touched.min()
        span = int(sectors.max()) + 1
        if span * (int(steps.max()) + 1) >= _MAX_KEY:
            return
        keys = np.sort(steps[transactions.touched_warp] * span + sectors)
        counted[0] += int(is_first(keys).sum())
        counted[1] += len(keys)

    def _count_contention(
        self, accesses: Sequence[_WaitingAccess], rows: Sequence[NDArray[np.int64]]
    ) -> None:
        """Count lanes per address, access by access: sums of fractions depend on their order."""
        for access, part in zip(accesses, rows, strict=True):
            lanes = access.lanes
            active = np.diff(lanes.warp_begins, append=lanes.count)
            contention = lanes_per_address(part, active)
            self._add(access.site, SiteColumn.CONTENTION, lanes.warp_groups, contention)

    def _add(
        self,
        site: int,
        column: SiteColumn,
        groups: NDArray[np.int64],
        values: NDArray[np.int64] | NDArray[np.float64],
    ) -> None:
        row = len(SiteColumn) * site + column
        self._counters[row] += np.bincount(groups, weights=values, minlength=self._groups)

    def _keep_sectors(
        self,
        waiting: Sequence[_WaitingAccess],
        sectors: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]] | None],
    ) -> None:
        """Keep the touched sectors of accesses, in their order, as far as the limit allows."""
        kept: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
        for access, part in zip(waiting, sectors, strict=True):
            if part is None or not access.keeps_sectors:
                continue
            if self._num_kept + len(part[0]) > _MAX_TOUCHED:
                self.has_dropped_sectors = True
                continue
            self._num_kept += len(part[0])
            kept.setdefault(access.site, []).append(part)
        for site, parts in kept.items():
            touched = self.touched[site]
            touched.sectors.append(np.concatenate([part for part, _ in parts]))
            touched.groups.append(np.concatenate([owners for _, owners in parts]))
            touched.weights.append(1.0)
