"""Demand of a launch on the parts of a device, computed once from its counts."""

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.events.cost_names import CostName
from cltrace.kernels import CostClass, KernelCounts, Machine
from cltrace.kernels.costs.operation import is_private_type
from cltrace.kernels.counts.records import (
    AccessSite,
    FoldedCount,
    Imbalance,
    Pattern,
    SharedSectors,
)
from cltrace.kernels.demand.operations import ACCESS, Pipe, cost_names, pipe_of, waited_names
from cltrace.kernels.demand.private_traffic import in_private_memory, private_traffic
from cltrace.kernels.demand.processor_work import ProcessorWork
from cltrace.kernels.demand.reads import Reads, with_neighbours
from cltrace.kernels.demand.region_traffic import footprint_bytes, region_traffic
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access

_OFF_UNIT: Final = frozenset({"global", "constant"})
_ACCESSES: Final = frozenset({CostClass.LOAD, CostClass.STORE, CostClass.ATOMIC, CostClass.IMAGE})
_MIN_PASSES: Final = 1.5
"""Passes over a region from which work-groups come back to its sectors."""
_VECTOR_BYTES: Final = 32
"""Bytes that a vector instruction of a CPU moves."""


@dataclass(frozen=True, slots=True)
class Work:
    """Operations of one cost: the name of the cost, the pipe, and the number done by all warps."""

    name: CostName
    pipe: Pipe
    warp_total: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits of a warp for results of an operation, by the name of its cost: the mean number."""

    name: CostName
    per_warp: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Demand of a launch on the parts of a device.

    `units` are those of all `compute_units` that run a work-group, `wave_groups` the work-groups that are
    resident on all of them at a time. `requests`, `bank_cycles` and `lines` are those of accesses to
    caches and memory; bank cycles and lines exclude the first of each request. `texels` are the reads of
    images by a GPU's own units, in passes of a warp, and `texel_requests` in requests. `local_cycles` are
    bank cycles of local memory. On a CPU, a warp is a vector of work-items, `item_share` the share of
    executed instructions that single ones have, and `processor` is what only a CPU does.
    """

    groups: int
    warps: float
    steps: float
    item_share: float
    compute_units: int
    units: float
    wave_groups: int
    barriers: float
    work: tuple[Work, ...]
    waits: tuple[Wait, ...]
    requests: float
    bank_cycles: float
    lines: float
    texels: float
    texel_requests: float
    local_cycles: float
    local_requests: float
    reads: tuple[Reads, ...]
    traffic: tuple[Traffic, ...]
    footprint_bytes: float
    sector_bytes: int
    line_bytes: int
    has_item_loops: bool
    imbalance: Imbalance
    processor: ProcessorWork

    @property
    def group_warps(self) -> float:
        """Warps of a work-group."""
        return self.warps / max(self.groups, 1)

    @property
    def waves(self) -> float:
        """Waves of work-groups that fill all compute units, at least 1."""
        return max(self.groups / self.wave_groups, 1.0)

    @property
    def serial_warps(self) -> float:
        """Warps that a compute unit runs one after another, where all resident ones count once.

        The last one is the longest. A GPU that begins another wave waits for the whole of it.
        """
        if self.has_item_loops:
            return self.waves * max(self.group_warps, 1.0)
        return max(math.ceil(self.waves), self.waves - 1.0 + self.imbalance.warps)

    @property
    def busiest_share(self) -> float:
        """Work of the compute unit that works longest, by that of the mean one.

        On a GPU, some units run one work-group more than others, unless all run the same number.
        """
        groups = max(self.groups / self.units, 1.0)
        most = groups if self.has_item_loops else float(math.ceil(groups))
        return max(most, groups - 1.0 + self.imbalance.groups) / groups

    @property
    def unit_warps(self) -> float:
        """Warps that are resident on a compute unit."""
        return max(min(self.groups, self.wave_groups) / self.units * self.group_warps, 1.0)

    @property
    def reused_bytes(self) -> float:
        """Bytes that a compute unit reads between two reads of a sector that its groups come back to.

        These are all sectors that they come back to, and those that pass by once in the meantime.
        """
        reads = [region for region in self.traffic if region.access is Access.READ]
        passes = max((region.passes for region in reads), default=1.0)
        sectors = sum(
            region.group_sectors / (1.0 if region.passes >= _MIN_PASSES else passes)
            for region in reads
        )
        resident = min(self.groups, self.wave_groups) / self.units
        return resident * sectors / max(self.groups, 1) * self.sector_bytes

    def passing_bytes(self, region: Traffic) -> float:
        """Return the bytes of the lines that a compute unit touches between two accesses of a warp."""
        return self.unit_warps * self.line_bytes * region.passing_lines

    @property
    def operations(self) -> float:
        """Mean number of operations of a warp, accesses included."""
        return sum(work.warp_total for work in self.work) / self.warps

    @property
    def accesses(self) -> float:
        """Mean number of requests of a warp."""
        return (self.requests + self.local_requests + self.texel_requests) / self.warps

    @property
    def rounds(self) -> float:
        """Mean number of times that a warp waits for reads."""
        return sum(reads.per_warp for reads in self.reads)


def demand_of(counts: KernelCounts, measured: Container[CostName]) -> Demand:
    """Return the demand of a launch. `measured` are the names of operations that have a cost."""
    machine = counts.machine
    wave_groups = machine.wave_groups(_group_items(counts), counts.local_bytes)
    far = [site for site in counts.sites if _is_far(site, machine)]
    local = [site for site in counts.sites if site.space == "local" and not site.is_register]
    imaged = [site for site in counts.sites if _reads_texels(site, machine)]
    own = tuple(private_traffic(counts))
    regions, shared = _shared_traffic(counts, wave_groups)
    sites = (*(region.sites for region in regions), *(positions for _, positions in own))
    warps = max(counts.warps, 1.0)
    reads = tuple(_reads(counts, sites, warps))
    traffic = tuple(with_neighbours((*shared, *(region for region, _ in own)), reads, warps))
    return Demand(
        groups=counts.groups,
        warps=warps,
        steps=max(counts.steps, 1.0),
        item_share=counts.item_share,
        compute_units=machine.compute_units,
        units=min(machine.compute_units, max(counts.groups, 1)),
        wave_groups=wave_groups,
        barriers=counts.barriers * warps,
        work=tuple(_work(counts, measured)),
        waits=tuple(_waits(counts, measured, warps)),
        requests=sum(_requests(site, machine) for site in far),
        bank_cycles=sum(max(site.bank_cycles.value - site.requests.value, 0.0) for site in far),
        lines=sum(max(site.lines.value - _requests(site, machine), 0.0) for site in far),
        texels=sum(site.requests.value * site.texel_passes for site in imaged),
        texel_requests=sum(site.requests.value for site in imaged),
        local_cycles=sum(site.bank_cycles.value / site.copies for site in local) + _spilled(counts),
        local_requests=sum(_requests(site, machine) / site.copies for site in local),
        reads=reads,
        traffic=traffic,
        footprint_bytes=footprint_bytes(traffic),
        sector_bytes=machine.sector_bytes,
        line_bytes=machine.line_bytes,
        has_item_loops=machine.has_item_loops,
        imbalance=counts.imbalance,
        processor=ProcessorWork.of(counts),
    )


def _shared_traffic(
    counts: KernelCounts, wave_groups: int
) -> tuple[Sequence[SharedSectors], tuple[Traffic, ...]]:
    """Return the regions in memory, and the traffic of each."""
    regions, waves = _regions_in_memory(counts), max(counts.groups / wave_groups, 1.0)
    return regions, tuple(region_traffic(region, counts, waves) for region in regions)


def _group_items(counts: KernelCounts) -> int:
    return max(counts.work_items // max(counts.groups, 1), 1)


def _regions_in_memory(counts: KernelCounts) -> Sequence[SharedSectors]:
    """Return the regions without those that a compiler makes literals."""
    return [
        region
        for region in counts.regions
        if not all(counts.sites[position].is_register for position in region.sites)
    ]


def _work(counts: KernelCounts, measured: Container[CostName]) -> Iterator[Work]:
    totals: dict[CostName, float] = {}
    for row in counts.folded:
        if is_private_type(row.type):
            continue
        for name in _work_names(row, measured):
            totals[name] = totals.get(name, 0.0) + row.warp_total
    kept = sum(site.requests.value for site in counts.sites if _is_kept(site, counts.machine))
    if kept:
        totals[ACCESS] = totals.get(ACCESS, 0.0) + kept
    for name, total in totals.items():
        yield Work(name, pipe_of(name), total)


def _work_names(row: FoldedCount, measured: Container[CostName]) -> tuple[CostName, ...]:
    return (ACCESS,) if row.cost in _ACCESSES else cost_names(row, measured)


def _waits(counts: KernelCounts, measured: Container[CostName], warps: float) -> Iterator[Wait]:
    totals: dict[CostName, float] = {}
    for row in counts.folded:
        for name in waited_names(row, measured) if row.waits else ():
            totals[name] = totals.get(name, 0.0) + row.waits / warps
    for name, total in totals.items():
        yield Wait(name, total)


def _requests(site: AccessSite, machine: Machine) -> float:
    """Return the requests of a site.

    On a CPU, lanes of a vector that do not access neighbouring addresses each make their own request, and
    a request moves at most `_VECTOR_BYTES`.
    """
    if not machine.has_item_loops:
        return site.requests.value
    if site.is_gathered:
        vectors = site.accesses.value
    elif site.pattern is Pattern.UNIFORM:
        vectors = site.requests.value
    elif site.pattern is Pattern.CONTIGUOUS:
        vector_bytes = machine.warp_width * site.access_bytes
        vectors = site.requests.value * max(vector_bytes / _VECTOR_BYTES, 1.0)
    else:
        vectors = site.accesses.value
    return site.lane_share * vectors + (1.0 - site.lane_share) * site.accesses.value


def _reads(
    counts: KernelCounts, sites_of_regions: Sequence[Sequence[int]], warps: float
) -> Iterator[Reads]:
    by_site = {site: at for at, sites in enumerate(sites_of_regions) for site in sites}
    for read_round in counts.rounds:
        traffic = tuple(sorted({by_site[site] for site in read_round.sites if site in by_site}))
        has_local = any(counts.sites[site].space == "local" for site in read_round.sites)
        if traffic or has_local:
            yield Reads(read_round.waits / warps, traffic, has_local)


def _is_far(site: AccessSite, machine: Machine) -> bool:
    """Return True for an access of a near cache by plain loads and stores."""
    is_far = site.space in _OFF_UNIT or _is_kept(site, machine)
    return is_far and not site.is_register and not _reads_texels(site, machine)


def _reads_texels(site: AccessSite, machine: Machine) -> bool:
    """Return True for reads by a GPU's units for images."""
    return site.texel_passes > 0.0 and not machine.has_item_loops


def _is_kept(site: AccessSite, machine: Machine) -> bool:
    """Return True for private variables in a GPU's memory."""
    return in_private_memory(site) and not machine.has_item_loops


def _spilled(counts: KernelCounts) -> float:
    """Return the accesses of all warps to private variables that a CPU has not in registers."""
    if not counts.machine.has_item_loops:
        return 0.0
    return sum(row.warp_total for row in counts.folded if is_private_type(row.type))
