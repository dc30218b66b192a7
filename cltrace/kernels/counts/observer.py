"""An observer that counts, by work-group."""

from collections.abc import Sequence
from enum import Enum, IntEnum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.transactions import Patterns, contention, rows_of
from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Array, Value


class SiteColumn(IntEnum):
    """What is counted of an access site."""

    ACCESSES = 0
    REQUESTS = 1
    SECTORS = 2
    LINES = 3
    BANK_CYCLES = 4
    PARTIAL_SECTORS = 5
    CONTENTION = 6


_COLUMNS: Final = len(SiteColumn)
_MOST_TOUCHED: Final = 4_000_000
"""The most sectors that are kept of a sample, to find the different ones among them."""
UNEVEN: Final = object()
"""The stride of a site whose lanes are not at equal distances."""


class Depth(Enum):
    """How closely accesses are looked at."""

    ACCESSES = auto()
    """They are counted."""
    TRANSACTIONS = auto()
    """What they cost memory is worked out from their addresses."""


class Touched:
    """The sectors that a site touched: numbers, the positions of their groups, and their weights.

    A weight says for how many trips of a loop a record stands.
    """

    def __init__(self) -> None:
        self.sectors: list[NDArray[np.int64]] = []
        self.groups: list[NDArray[np.int64]] = []
        self.weights: list[float] = []


class Recorder:
    """Counts what lanes do. `counters` has a row for each thing that is counted, a column a group.

    Rows: lanes of each block, warps of each block, columns of each site, and for each block the lanes
    that took its branch's first way, the warps that split there, and lanes that entered its loop.
    """

    def __init__(self, prepared: Prepared, grid: Grid, machine: Machine, depth: Depth) -> None:
        self._grid = grid
        self._machine = machine
        self._depth = depth
        self._patterns = [Patterns(machine) for _ in prepared.sites]
        self._prepared = prepared
        self._block_count = len(prepared.function.blocks)
        self._sites = prepared.sites
        self._site_base = 2 * self._block_count
        self._branch_base = self._site_base + _COLUMNS * len(self._sites)
        self._entry_base = self._branch_base + 2 * self._block_count
        rows = self._entry_base + self._block_count
        self.counters: NDArray[np.float64] = np.zeros((rows, grid.groups))
        self.touched = [Touched() for _ in self._sites]
        self.strides: list[object] = [None] * len(self._sites)
        self.objects: list[set[int]] = [set() for _ in self._sites]
        self._kept = 0
        self.is_passing = False
        """Whether trips are run whose sectors others stand for already."""
        self.is_full = False
        """Whether more sectors were touched than are kept."""
        self.paths: NDArray[np.uint64] = np.zeros(grid.count, np.uint64)

    def runs(self, block: int, lanes: Lanes) -> None:
        """Count a block for the lanes and warps that run it."""
        self.counters[block] += lanes.per_group
        self.counters[self._block_count + block] += lanes.warps_per_group

    def enters(self, header: int, lanes: Lanes) -> None:
        """Count lanes that enter a loop."""
        self.counters[self._entry_base + header] += lanes.per_group

    def entries(self, header: int) -> NDArray[np.float64]:
        """Lanes that entered a loop, by group."""
        found: NDArray[np.float64] = self.counters[self._entry_base + header]
        return found

    def branches(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Count warps that split, and give the lanes of each way a mark of their own."""
        ways = taken.astype(np.int64)
        begins = lanes.warp_begins
        low = np.minimum.reduceat(ways, begins)
        high = np.maximum.reduceat(ways, begins)
        groups = self._grid.groups
        first = lanes.group[ways != 0] if taken.dtype == np.bool_ else lanes.group[ways == ways[0]]
        row = self._branch_base + 2 * block
        self.counters[row] += np.bincount(first, minlength=groups)
        self.counters[row + 1] += np.bincount(lanes.warp_groups[low != high], minlength=groups)
        mark = (ways + 2 + 7919 * block).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        old = self.paths[lanes.index]
        self.paths[lanes.index] = (old ^ mark) * np.uint64(0xFF51AFD7ED558CCD) ^ (
            old >> np.uint64(29)
        )

    def accesses(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Count an access, by what its lanes touch."""
        facts = self._sites[site]
        first = int(address if type(address) is not np.ndarray else address.flat[0]) >> SHIFT
        self.objects[site].add(first)
        base = self._site_base + _COLUMNS * site
        counters = self.counters
        counters[base + SiteColumn.ACCESSES] += lanes.per_group
        counters[base + SiteColumn.REQUESTS] += lanes.warps_per_group
        if self._depth is Depth.ACCESSES:
            return
        if memory.objects[first if first < len(memory.objects) else 0].space == PRIVATE:
            counters[base + SiteColumn.SECTORS] += lanes.warps_per_group * 4
            return
        writes = facts.access is not Access.READ
        found = self._patterns[site].transactions(address, facts.access_bytes, lanes, writes=writes)
        groups = lanes.warp_groups
        self._add(base + SiteColumn.SECTORS, groups, found.sectors)
        self._add(base + SiteColumn.LINES, groups, found.lines)
        self._add(base + SiteColumn.BANK_CYCLES, groups, found.bank_cycles)
        if writes:
            self._add(base + SiteColumn.PARTIAL_SECTORS, groups, found.partial_sectors)
        if facts.access is Access.ATOMIC:
            active = np.diff(np.append(lanes.warp_begins, lanes.count))
            rows = rows_of(address, lanes, self._machine.warp_width)
            self._add(base + SiteColumn.CONTENTION, groups, contention(rows, active))
        self._keep(site, found.touched, groups[found.touched_warp])
        self._note_stride(site, found.stride_bytes)

    def _note_stride(self, site: int, stride: int | None) -> None:
        new = UNEVEN if stride is None else stride
        known = self.strides[site]
        self.strides[site] = new if known is None or known == new else UNEVEN

    def _add(self, row: int, groups: NDArray[np.int64], values: Array) -> None:
        self.counters[row] += np.bincount(groups, weights=values, minlength=self._grid.groups)

    def _keep(self, site: int, sectors: NDArray[np.int64], groups: NDArray[np.int64]) -> None:
        if self.is_passing:
            return
        if self._kept + len(sectors) > _MOST_TOUCHED:
            self.is_full = True
            return
        self._kept += len(sectors)
        touched = self.touched[site]
        touched.sectors.append(sectors)
        touched.groups.append(groups)
        touched.weights.append(1.0)

    def mark(self) -> list[int]:
        """Where the records of touched sectors are at, by site."""
        return [len(touched.sectors) for touched in self.touched]

    def repeat(
        self, before: NDArray[np.float64], marks: Sequence[int], times: float, touched_times: float
    ) -> None:
        """What was counted since `before` is to count `times` more often.

        New sectors since `marks` stand for `touched_times` as many more.
        """
        self.counters += (self.counters - before) * times
        for touched, mark in zip(self.touched, marks, strict=True):
            for position in range(mark, len(touched.weights)):
                touched.weights[position] *= 1.0 + touched_times

    def block_lanes(self) -> NDArray[np.float64]:
        """Lanes that ran each block, by group: shape (blocks, groups)."""
        return self.counters[: self._block_count]

    def block_warps(self) -> NDArray[np.float64]:
        """Warps that ran each block, by group."""
        return self.counters[self._block_count : 2 * self._block_count]

    def site(self, number: int) -> NDArray[np.float64]:
        """What was counted of a site: shape (`SiteColumn`, groups)."""
        base = self._site_base + _COLUMNS * number
        return self.counters[base : base + _COLUMNS]

    def branch(self, block: int) -> NDArray[np.float64]:
        """Lanes that took a branch's first way where lanes differed, and warps that split, by group."""
        row = self._branch_base + 2 * block
        return self.counters[row : row + 2]

    def warp_paths(self) -> NDArray[np.float64]:
        """How many different ways the lanes of each warp took."""
        order = np.lexsort((self.paths, self._grid.warp))
        warp, path = self._grid.warp[order], self.paths[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (warp[1:] != warp[:-1]) | (path[1:] != path[:-1])
        return np.bincount(warp[new], minlength=self._grid.warps).astype(np.float64)
