"""Demand of a launch on the parts of a device, computed once from its counts."""

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
from cltrace.kernels.demand.operations import ACCESS, Pipe, cost_names, pipe_of
from cltrace.kernels.demand.private_traffic import in_private_memory, private_traffic
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access

_MOSTLY_PARTIAL: Final = 0.5
"""Share of partly written sectors from which a region's writes count as partial."""
_OFF_UNIT: Final = frozenset({"global", "constant"})
_ACCESSES: Final = frozenset({CostClass.LOAD, CostClass.STORE, CostClass.ATOMIC, CostClass.IMAGE})
_MIN_PASSES: Final = 1.5
"""Passes over a region from which work-groups come back to its sectors."""
_READ_BYTES: Final = 64
"""Smallest transfer of memory for a read."""
_FAR_BYTES: Final = 1024
"""Distance of neighbouring lanes from which accesses cost as much as at random places."""
_FILLED_BYTES: Final = 128
"""Smallest transfer of memory for a partly written sector, which has to be read first."""


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


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads that a warp waits for together: the mean number of waits, and positions of their traffic.

    `has_local` is True if reads of local memory are among them.
    """

    per_warp: float
    traffic: tuple[int, ...]
    has_local: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Demand of a launch on the parts of a device.

    `units` are the compute units that run a work-group, `wave_groups` the work-groups that are resident
    on all of them at a time. `requests`, `bank_cycles` and `lines` are those of accesses to caches and
    memory; bank cycles and lines exclude the first of each request. `texels` are the reads of images by a
    GPU's own units, in passes of a warp. `local_cycles` are bank cycles of local memory.
    """

    groups: int
    warps: float
    units: float
    wave_groups: int
    barriers: float
    work: tuple[Work, ...]
    waits: tuple[Wait, ...]
    requests: float
    bank_cycles: float
    lines: float
    texels: float
    local_cycles: float
    local_requests: float
    reads: tuple[Reads, ...]
    traffic: tuple[Traffic, ...]
    footprint_bytes: float
    sector_bytes: int
    has_item_loops: bool
    imbalance: Imbalance

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

        The last one is the longest.
        """
        if self.has_item_loops:
            return self.waves * max(self.group_warps, 1.0)
        return self.waves - 1.0 + self.imbalance.warps

    @property
    def busiest_share(self) -> float:
        """Work of the compute unit that works longest, by that of the mean one."""
        groups = max(self.groups / self.units, 1.0)
        return (groups - 1.0 + self.imbalance.groups) / groups

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

    @property
    def operations(self) -> float:
        """Mean number of operations of a warp, accesses included."""
        return sum(work.warp_total for work in self.work) / self.warps

    @property
    def accesses(self) -> float:
        """Mean number of requests of a warp."""
        return (self.requests + self.local_requests) / self.warps

    @property
    def rounds(self) -> float:
        """Mean number of times that a warp waits for reads."""
        return sum(reads.per_warp for reads in self.reads)


def demand_of(counts: KernelCounts, measured: Container[CostName]) -> Demand:
    """Return the demand of a launch. `measured` are the names of operations that have a cost."""
    machine = counts.machine
    group_items = max(counts.work_items // max(counts.groups, 1), 1)
    wave_groups = machine.wave_groups(group_items, counts.local_bytes)
    far = [site for site in counts.sites if _is_far(site, machine)]
    near = [site for site in counts.sites if site.space not in _OFF_UNIT]
    waves = max(counts.groups / wave_groups, 1.0)
    own = tuple(private_traffic(counts))
    shared = tuple(_traffic(region, counts, waves) for region in counts.regions)
    traffic = (*shared, *(region for region, _ in own))
    sites = (*(region.sites for region in counts.regions), *(positions for _, positions in own))
    warps = max(counts.warps, 1.0)
    return Demand(
        groups=counts.groups,
        warps=warps,
        units=min(machine.compute_units, max(counts.groups, 1)),
        wave_groups=wave_groups,
        barriers=counts.barriers * warps,
        work=tuple(_work(counts, measured)),
        waits=tuple(_waits(counts, measured, warps)),
        requests=sum(_requests(site, machine) for site in far),
        bank_cycles=sum(max(site.bank_cycles.value - site.requests.value, 0.0) for site in far),
        lines=sum(max(site.lines.value - _requests(site, machine), 0.0) for site in far),
        texels=sum(_texel_passes(site, machine) for site in counts.sites),
        local_cycles=sum(site.bank_cycles.value for site in near if site.space == "local")
        + _spilled(counts),
        local_requests=sum(site.requests.value for site in near if site.space == "local"),
        reads=tuple(_reads(counts, sites, warps)),
        traffic=traffic,
        footprint_bytes=_footprint_bytes(traffic),
        sector_bytes=machine.sector_bytes,
        has_item_loops=machine.has_item_loops,
        imbalance=counts.imbalance,
    )


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
        for name in cost_names(row, measured) if row.waits else ():
            totals[name] = totals.get(name, 0.0) + row.waits / warps
    for name, total in totals.items():
        yield Wait(name, total)


def _requests(site: AccessSite, machine: Machine) -> float:
    """Return the requests of a site.

    Where vectors are warps, lanes that do not access neighbouring addresses each make their own request.
    """
    if not machine.has_item_loops or site.pattern in {Pattern.UNIFORM, Pattern.CONTIGUOUS}:
        return site.requests.value
    return site.accesses.value


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
    return is_far and not _texel_passes(site, machine)


def _texel_passes(site: AccessSite, machine: Machine) -> float:
    """Return the passes of warps through a GPU's units for images."""
    return 0.0 if machine.has_item_loops else site.requests.value * site.texel_passes


def _is_kept(site: AccessSite, machine: Machine) -> bool:
    """Return True for private variables in a GPU's memory."""
    return in_private_memory(site) and not machine.has_item_loops


def _spilled(counts: KernelCounts) -> float:
    """Return the accesses of all warps to private variables that a CPU has not in registers."""
    if not counts.machine.has_item_loops:
        return 0.0
    return sum(row.warp_total for row in counts.folded if is_private_type(row.type))


def _traffic(region: SharedSectors, counts: KernelCounts, waves: float) -> Traffic:
    sites = [counts.sites[position] for position in region.sites]
    footprint = region.footprint
    sectors, partial = region.sectors, sum(site.partial_sectors for site in sites)
    partial_share = partial / sectors if sectors else 0.0
    different = min(footprint.group_sectors * counts.groups, sectors)
    if region.access is Access.WRITE and _fill_together(region, sites, different, counts):
        sectors, partial = different, 0.0
    return Traffic(
        memory=region.memory,
        access=region.access,
        requests=sum(site.requests.value for site in sites),
        sectors=sectors,
        lines=sum(site.lines.value for site in sites),
        group_sectors=different,
        window_sectors=region.window_sectors,
        launch_sectors=footprint.launch_sectors,
        granule_bytes=_moved_bytes(region, sites, counts.machine.sector_bytes, partial_share),
        scattered_sectors=_scattered(region, sites),
        partial_sectors=partial,
        step_sectors=_step_sectors_of(sites),
        moving_share=_moving_share(sites),
        contention=max((site.contention for site in sites), default=1.0),
        accesses=sum(site.accesses.value for site in sites),
        new_share=min(region.window_sectors / max(waves * footprint.wave_sectors, 1e-9), 1.0),
    )


def _step_sectors_of(sites: Sequence[AccessSite]) -> float:
    """Return the sectors that sites fetch where a near cache keeps nothing between requests.

    Sites of one loop, as the neighbours of a stencil, share them; loops one after the other do not.
    """
    by_loop: dict[int, float] = {}
    for site in sites:
        by_loop[site.loop] = max(by_loop.get(site.loop, 0.0), _step_sectors(site))
    return sum(by_loop.values())


def _step_sectors(site: AccessSite) -> float:
    moving = site.moving_requests / site.requests.value if site.requests.value else 1.0
    return site.sectors.value * site.step_share * min(moving, 1.0)


def _moving_share(sites: Sequence[AccessSite]) -> float:
    requests = sum(site.requests.value for site in sites)
    return sum(site.moving_requests for site in sites) / requests if requests else 1.0


def _fill_together(
    region: SharedSectors, sites: Sequence[AccessSite], different: float, counts: KernelCounts
) -> bool:
    """Return True if several stores of a warp together fill sectors that none of them fills alone."""
    written = sum(site.accesses.value * site.access_bytes for site in sites)
    full_bytes = different * counts.machine.sector_bytes
    is_written_once = region.sectors <= 1.05 * len(sites) * different
    fills_once = 0.95 * full_bytes <= written <= 1.05 * full_bytes
    return len(sites) > 1 and is_written_once and fills_once


def _scattered(region: SharedSectors, sites: Sequence[AccessSite]) -> float:
    """Return the different sectors of a region that lie at random places, or far from each other."""
    at_random = sum(site.sectors.value for site in sites if _is_scattered(site))
    return region.footprint.launch_sectors * min(at_random / max(region.sectors, 1e-9), 1.0)


def _is_scattered(site: AccessSite) -> bool:
    is_far = site.stride_bytes is not None and abs(site.stride_bytes) >= _FAR_BYTES
    return site.pattern is Pattern.SCATTERED or is_far


def _moved_bytes(
    region: SharedSectors, sites: Sequence[AccessSite], sector_bytes: int, partial_share: float
) -> float:
    """Return the bytes that memory moves for a region's different sectors.

    A sector without neighbours costs a whole granule. Where sectors lie at random places, the number of
    granules follows from the share of the memory that they fill.
    """
    granule = _FILLED_BYTES if partial_share > _MOSTLY_PARTIAL else _READ_BYTES
    return _granules(region, sites, sector_bytes, granule) * max(granule, sector_bytes)


def _granules(
    region: SharedSectors, sites: Sequence[AccessSite], sector_bytes: int, granule_bytes: int
) -> float:
    per_granule = max(granule_bytes // sector_bytes, 1)
    sectors = region.footprint.launch_sectors
    line_sectors = sum(site.sectors.value for site in sites) / max(
        sum(site.lines.value for site in sites), 1e-9
    )
    if line_sectors >= per_granule or per_granule == 1:
        return sectors / per_granule
    memory_sectors = max(region.memory_sectors, sectors, 1.0)
    strides = [site.stride_bytes for site in sites]
    if all(stride is not None and abs(stride) >= granule_bytes for stride in strides):
        return min(sectors, memory_sectors / per_granule)
    filled = min(sectors / memory_sectors, 1.0)
    return memory_sectors / per_granule * (1.0 - (1.0 - filled) ** per_granule)


def _footprint_bytes(traffic: Sequence[Traffic]) -> float:
    """Return the bytes that all regions touch: per memory, the larger of what is read and written."""
    by_memory: dict[tuple[str, Access], float] = {}
    for region in traffic:
        key = (region.memory, region.access)
        by_memory[key] = by_memory.get(key, 0.0) + region.granule_bytes
    largest: dict[str, float] = {}
    for (memory, _), size in by_memory.items():
        largest[memory] = max(largest.get(memory, 0.0), size)
    return sum(largest.values())
