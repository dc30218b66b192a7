"""Counting observer, which keeps its counts per work-group.

Its counts can be read when the execution has finished.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.access_batch import AccessBatch, BatchMark, SiteColumn
from cltrace.kernels.counts.lane_tally import LaneTally
from cltrace.kernels.counts.private_places import WORD_BYTES, find_private_places
from cltrace.kernels.counts.step_sectors import StepSectors
from cltrace.kernels.counts.touched_sectors import TouchedSectors
from cltrace.kernels.execute.lanes import Grid, Lanes
from cltrace.kernels.execute.memory import SHIFT, Memory
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import NullObserver, Site
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.machine import Machine
from cltrace.kernels.values import Array, Value

_REQUESTS: Final = int(SiteColumn.REQUESTS)
_SECTORS: Final = int(SiteColumn.SECTORS)


class AccessDetail(Enum):
    """Level of detail in which accesses are counted."""

    ACCESSES = auto()
    """Accesses are counted."""
    TRANSACTIONS = auto()
    """Memory transactions are derived from the addresses."""
    SECTORS = auto()
    """Only the sectors that the sites touch are recorded, and nothing is counted."""


@dataclass(frozen=True, slots=True)
class CountSnapshot:
    """Counts at a moment: counters, runs of blocks by warp, and the accesses of the batch before it."""

    counters: NDArray[np.float64]
    warp_runs: NDArray[np.float64]
    accesses: BatchMark


class CountObserver(NullObserver):
    """An observer that counts the actions of lanes.

    `counters` has a row per quantity and a column per group. Its rows are lanes of each block, warps
    of each block, columns of each site; then per block the lanes that take the first target of its
    branch and the warps that split there; then per block the lanes that enter its loop.
    """

    def __init__(
        self,
        sliced_kernel: PreparedKernel,
        grid: Grid,
        machine: Machine,
        detail: AccessDetail,
        mixed_sites: frozenset[int] = frozenset(),
    ) -> None:
        """`mixed_sites` are the sites whose lanes may access several memory objects at a time."""
        self._grid = grid
        self._detail = detail
        self._prepared = sliced_kernel
        self._block_count = len(sliced_kernel.function.blocks)
        self._sites = sliced_kernel.sites
        self._site_base = 2 * self._block_count
        self._branch_base = self._site_base + len(SiteColumn) * len(self._sites)
        self._entry_base = self._branch_base + 2 * self._block_count
        rows = self._entry_base + self._block_count
        self._counters: NDArray[np.float64] = np.zeros((rows, grid.groups))
        self._site_counters = self._counters[self._site_base : self._branch_base]
        self._warp_runs: NDArray[np.float64] = np.zeros((self._block_count, grid.warps))
        self._has_item_loops = machine.has_item_loops
        self._batch = AccessBatch(
            [_by_word(site, machine) for site in self._sites],
            machine,
            grid.groups,
            counts_transactions=detail is AccessDetail.TRANSACTIONS,
        )
        self._mixed_sites = mixed_sites
        self._tally = LaneTally(self._add_events)
        self._is_finished = False
        self.objects: list[set[int]] = [set() for _ in self._sites]
        self.ignores_sectors = False
        """True while trips run whose sectors are already represented by other records."""
        self.paths: NDArray[np.uint64] = np.zeros(grid.count, np.uint64)

    def finish(self) -> None:
        """Count what waits, once. The counts are complete after that, and nothing may be observed."""
        if self._is_finished:
            return
        self._is_finished = True
        self._tally.flush()
        self._batch.count()
        self._site_counters += self._batch.counters

    @property
    def touched(self) -> Sequence[TouchedSectors]:
        """The sectors that each site touched."""
        return self._batch.records.by_site

    @property
    def strides(self) -> Sequence[object]:
        """Per site, the distance of neighbouring lanes; `VARYING_STRIDE`, or None without accesses."""
        return self._batch.strides

    @property
    def has_dropped_sectors(self) -> bool:
        """True if more sectors were touched than are kept."""
        return self._batch.records.has_dropped

    def on_block(self, block: int, lanes: Lanes) -> None:
        """Count the lanes and warps that run a block."""
        if self._detail is AccessDetail.SECTORS:
            return
        self._tally.count(block, lanes)

    def _add_events(self, lanes: Lanes, numbers: Mapping[int, int]) -> None:
        """Add events of a set of lanes. An event's key is the row of its lanes per group."""
        for row, number in numbers.items():
            self._counters[row] += number * lanes.per_group
            if row < self._block_count:
                self._counters[self._block_count + row] += number * lanes.warps_per_group
                self._warp_runs[row][lanes.warp_numbers] += number
            elif row < self._branch_base:
                self._counters[row + _REQUESTS] += number * lanes.warps_per_group

    def on_loop_entry(self, header: int, lanes: Lanes) -> None:
        """Count lanes that enter a loop."""
        self._tally.count(self._entry_base + header, lanes)

    def entries(self, header: int) -> NDArray[np.float64]:
        """Return the number of lanes that entered a loop, by group."""
        entries: NDArray[np.float64] = self._counters[self._entry_base + header]
        return entries

    def on_branch(self, block: int, taken: Array, lanes: Lanes) -> None:
        """Count warps that split, and update the path hash of each lane."""
        if self._detail is AccessDetail.SECTORS:
            return
        targets = taken.astype(np.int64)
        begins = lanes.warp_begins
        splits = np.minimum.reduceat(targets, begins) != np.maximum.reduceat(targets, begins)
        groups = self._grid.groups
        first = (
            lanes.group[targets != 0]
            if taken.dtype == np.bool_
            else lanes.group[targets == targets[0]]
        )
        row = self._branch_base + 2 * block
        self._counters[row] += np.bincount(first, minlength=groups)
        self._counters[row + 1] += np.bincount(lanes.warp_groups[splits], minlength=groups)
        self.paths[lanes.index] = _extend_paths(self.paths[lanes.index], block, targets)

    def on_access(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Count an access and, depending on the detail, its memory transactions."""
        first = int(address if type(address) is not np.ndarray else address.item(0)) >> SHIFT
        objects = range(len(memory.objects))
        if first in objects:  # a stray address is in none
            self.objects[site].add(first)
        is_mixed = site in self._mixed_sites and type(address) is np.ndarray
        if is_mixed:
            numbers = np.unique(address >> SHIFT).tolist()
            self.objects[site].update(number for number in numbers if number in objects)
        self._tally.count(self._site_base + len(SiteColumn) * site, lanes)
        if self._detail is AccessDetail.ACCESSES:
            return
        if is_mixed and (is_private := memory.spaces(address) == PRIVATE).any():
            self._count_private(site, address[is_private], lanes.where(is_private), memory)
            address, lanes = address[~is_private], lanes.where(~is_private)
        elif first in objects and memory.objects[first].space == PRIVATE:
            self._count_private(site, address, lanes, memory)
            return
        if lanes.count:
            self._batch.add(site, address, lanes, represents_sectors=not self.ignores_sectors)

    def _count_private(self, site: int, address: Value, lanes: Lanes, memory: Memory) -> None:
        """Count an access of private variables. Wide accesses are one request per word of a GPU."""
        base, width = len(SiteColumn) * site, self._grid.warp_width
        if self._has_item_loops:
            self._site_counters[base + _SECTORS] += lanes.warps_per_group * 4
            return
        words = -(-self._sites[site].access_bytes // WORD_BYTES)
        self._site_counters[base + _REQUESTS] += lanes.warps_per_group * (words - 1)
        is_mixed = site in self._mixed_sites
        first = find_private_places(address, lanes, self._grid, memory, is_mixed=is_mixed)
        for number in range(words):
            place = first + number * width * WORD_BYTES
            self._batch.add(site, place, lanes, represents_sectors=not self.ignores_sectors)

    @property
    def warp_runs(self) -> NDArray[np.float64]:
        """The number of times that each warp ran each block: shape (blocks, warps)."""
        return self._warp_runs

    def step_sectors(self, site: int) -> StepSectors:
        """Return the sectors of a site that the warps of a group touch together."""
        return self._batch.step_sectors(site)

    def jump_bytes(self, site: int) -> int:
        """Return the greatest common divisor of a site's jumps on a CPU, 0 without any."""
        return self._batch.jump_bytes(site)

    def snapshot(self) -> CountSnapshot:
        """Return a copy of the counts so far."""
        self._tally.flush()
        return CountSnapshot(self._counters.copy(), self._warp_runs.copy(), self._batch.mark())

    def scale_since(self, before: CountSnapshot, times: float, touched_times: float) -> None:
        """Add the counts since `before` another `times` times.

        The records of sectors since then represent `touched_times` times as many more sectors.
        """
        self._tally.flush()
        self._counters += (self._counters - before.counters) * times
        self._warp_runs += (self._warp_runs - before.warp_runs) * times
        self._batch.scale_since(before.accesses, times, touched_times)

    def block_lanes(self) -> NDArray[np.float64]:
        """Return the number of lanes that ran each block, by group: shape (blocks, groups)."""
        return self._counters[: self._block_count]

    def block_warps(self) -> NDArray[np.float64]:
        """Return the number of warps that ran each block, by group."""
        return self._counters[self._block_count : 2 * self._block_count]

    def site(self, number: int) -> NDArray[np.float64]:
        """Return the counts of a site: shape (`SiteColumn`, groups)."""
        base = self._site_base + len(SiteColumn) * number
        return self._counters[base : base + len(SiteColumn)]

    def site_columns(self) -> NDArray[np.float64]:
        """Return the counts of all sites: shape (sites, `SiteColumn`, groups)."""
        return self._site_counters.reshape(len(self._sites), len(SiteColumn), self._grid.groups)

    def branch(self, block: int) -> NDArray[np.float64]:
        """Return the lanes on the first target of divergent branches, and the split warps, by group."""
        row = self._branch_base + 2 * block
        return self._counters[row : row + 2]

    def warp_paths(self) -> NDArray[np.float64]:
        """Return the number of distinct paths that the lanes of each warp took."""
        return _count_paths(self.paths, self._grid)


def _count_paths(paths: NDArray[np.uint64], grid: Grid) -> NDArray[np.float64]:
    """Return the number of distinct paths of the lanes of each warp."""
    order = np.lexsort((paths, grid.warp))
    warp, path = grid.warp[order], paths[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (warp[1:] != warp[:-1]) | (path[1:] != path[:-1])
    return np.bincount(warp[is_new], minlength=grid.warps).astype(np.float64)


def _extend_paths(
    paths: NDArray[np.uint64], block: int, targets: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the hashes of lanes' paths after a branch."""
    mark = (targets + 2 + 7919 * block).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (paths ^ mark) * np.uint64(0xFF51AFD7ED558CCD) ^ (paths >> np.uint64(29))


def _by_word(site: Site, machine: Machine) -> Site:
    """Return a site as its transactions are counted: private variables are accessed word by word."""
    if site.space != PRIVATE or machine.has_item_loops:
        return site
    size = min(site.access_bytes, WORD_BYTES)
    return replace(site, access_bytes=size, request_bytes=size)
