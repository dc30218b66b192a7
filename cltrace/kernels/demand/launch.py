"""What a launch asks of a device's parts, worked out once from its counts."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels import CostClass, KernelCounts, Machine
from cltrace.kernels.counts.records import AccessSite, Pattern, Region
from cltrace.kernels.demand.operations import Pipe, cost_names, pipe_of
from cltrace.kernels.ir.instructions import Access

_MANY: Final = 0.5
_OFF_UNIT: Final = frozenset({"global", "constant"})
_READ_BYTES: Final = 64
"""What memory moves at least for a read, however little of it is wanted."""
_FAR_BYTES: Final = 1024
"""Lanes so far from each other are as good as at random places."""
_FILLED_BYTES: Final = 128
"""What it moves at least for a write of a part of a sector, which has to be filled first."""


@dataclass(frozen=True, slots=True)
class Work:
    """An operation that costs something: its name, its pipe, and how often a warp does it."""

    name: str
    pipe: Pipe
    warp_total: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that a warp waits for, by the name of what it costs: how often, in the mean."""

    name: str
    per_warp: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a region of memory moves: sectors between compute units and the shared cache.

    `lines` are those that each request touches, the first of each included.
    `group_sectors` are those that differ within a work-group, over all groups; `launch_sectors` those
    that differ at all, `window_sectors` those that the shared cache fetches, `granule_bytes` what memory
    moves for them; `scattered_sectors` are those of them that lie at random. `new_share` is the share
    of what a wave of work-groups touches that none before it did.
    """

    memory: str
    access: Access
    sectors: float
    lines: float
    group_sectors: float
    window_sectors: float
    launch_sectors: float
    granule_bytes: float
    scattered_sectors: float
    partial_sectors: float
    contention: float
    accesses: float
    new_share: float


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads that a warp waits for together: how often in the mean, and of which traffic, by position.

    `has_local` says that local memory is among it.
    """

    per_warp: float
    traffic: tuple[int, ...]
    has_local: bool


@dataclass(frozen=True, slots=True)
class Demand:
    """What a launch asks for.

    `units` are the compute units that have a work-group, `wave_groups` the work-groups that all of them
    hold at once. `requests`, `bank_cycles`, `lines` are of accesses to caches and beyond: rounds of
    banks and lines are those after a request's first. `local_cycles` are rounds of local memory's banks.
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
    local_cycles: float
    local_requests: float
    reads: tuple[Reads, ...]
    traffic: tuple[Traffic, ...]
    footprint_bytes: float
    sector_bytes: int
    has_item_loops: bool

    @property
    def group_warps(self) -> float:
        """How many warps a work-group has."""
        return self.warps / max(self.groups, 1)

    @property
    def waves(self) -> float:
        """How often all compute units are filled, at least once."""
        return max(self.groups / self.wave_groups, 1.0)

    @property
    def turns(self) -> float:
        """How many warps a compute unit runs one after the other where it holds each once."""
        return self.waves * (max(self.group_warps, 1.0) if self.has_item_loops else 1.0)

    @property
    def operations(self) -> float:
        """How many operations a warp does, accesses among them, in the mean."""
        return sum(one.warp_total for one in self.work) / self.warps

    @property
    def accesses(self) -> float:
        """How many requests a warp makes, in the mean."""
        return (self.requests + self.local_requests) / self.warps

    @property
    def rounds(self) -> float:
        """How often a warp waits for reads, in the mean."""
        return sum(one.per_warp for one in self.reads)


def demand_of(counts: KernelCounts, known: Container[str]) -> Demand:
    """What a launch asks for. `known` are the operations whose costs are measured."""
    machine = counts.machine
    group_items = max(counts.work_items // max(counts.groups, 1), 1)
    wave_groups = machine.wave_groups(group_items, counts.local_bytes)
    far = [site for site in counts.sites if site.space in _OFF_UNIT]
    near = [site for site in counts.sites if site.space not in _OFF_UNIT]
    waves = max(counts.groups / wave_groups, 1.0)
    traffic = tuple(_traffic(region, counts, waves) for region in counts.regions)
    warps = max(counts.warps, 1.0)
    return Demand(
        groups=counts.groups,
        warps=warps,
        units=min(machine.compute_units, max(counts.groups, 1)),
        wave_groups=wave_groups,
        barriers=counts.barriers * warps,
        work=tuple(_work(counts, known)),
        waits=tuple(_waits(counts, known, warps)),
        requests=sum(_requests(site, machine) for site in far),
        bank_cycles=sum(max(site.bank_cycles.value - site.requests.value, 0.0) for site in far),
        lines=sum(max(site.lines.value - _requests(site, machine), 0.0) for site in far),
        local_cycles=sum(site.bank_cycles.value for site in near if site.space == "local")
        + _spilled(counts),
        local_requests=sum(site.requests.value for site in near if site.space == "local"),
        reads=tuple(_reads(counts, warps)),
        traffic=traffic,
        footprint_bytes=_footprint_bytes(traffic),
        sector_bytes=machine.sector_bytes,
        has_item_loops=machine.has_item_loops,
    )


def _work(counts: KernelCounts, known: Container[str]) -> Iterator[Work]:
    totals: dict[str, float] = {}
    for row in counts.folded:
        if row.type.startswith("private "):
            continue
        if row.cost in {CostClass.LOAD, CostClass.STORE, CostClass.ATOMIC, CostClass.IMAGE}:
            totals["access"] = totals.get("access", 0.0) + row.warp_total
            continue
        for name in cost_names(row, known):
            totals[name] = totals.get(name, 0.0) + row.warp_total
    for name, total in totals.items():
        yield Work(name, pipe_of(name), total)


def _waits(counts: KernelCounts, known: Container[str], warps: float) -> Iterator[Wait]:
    totals: dict[str, float] = {}
    for row in counts.folded:
        for name in cost_names(row, known) if row.waits else ():
            totals[name] = totals.get(name, 0.0) + row.waits / warps
    for name, total in totals.items():
        yield Wait(name, total)


def _requests(site: AccessSite, machine: Machine) -> float:
    """Accesses of warps. Where vectors are warps, those of lanes where they do not lie side by side."""
    if not machine.has_item_loops or site.pattern in {Pattern.UNIFORM, Pattern.CONTIGUOUS}:
        return site.requests.value
    return site.accesses.value


def _reads(counts: KernelCounts, warps: float) -> Iterator[Reads]:
    by_site = {site: at for at, region in enumerate(counts.regions) for site in region.sites}
    for one in counts.rounds:
        traffic = tuple(sorted({by_site[site] for site in one.sites if site in by_site}))
        local = any(counts.sites[site].space == "local" for site in one.sites)
        if traffic or local:
            yield Reads(one.waits / warps, traffic, local)


def _spilled(counts: KernelCounts) -> float:
    """How often warps access private variables that are no registers."""
    return sum(row.warp_total for row in counts.folded if row.type.startswith("private "))


def _traffic(region: Region, counts: KernelCounts, waves: float) -> Traffic:
    sites = [counts.sites[position] for position in region.sites]
    footprint = region.footprint
    sectors, partial = region.sectors, sum(site.partial_sectors for site in sites)
    share = partial / sectors if sectors else 0.0
    different = min(footprint.group_sectors * counts.groups, sectors)
    if region.access is Access.WRITE and _fill_together(region, sites, different, counts):
        sectors, partial = different, 0.0
    return Traffic(
        memory=region.memory,
        access=region.access,
        sectors=sectors,
        lines=sum(site.lines.value for site in sites),
        group_sectors=different,
        window_sectors=region.window_sectors,
        launch_sectors=footprint.launch_sectors,
        granule_bytes=_moved_bytes(region, sites, counts.machine.sector_bytes, share),
        scattered_sectors=_scattered(region, sites),
        partial_sectors=partial,
        contention=max((site.contention for site in sites), default=1.0),
        accesses=sum(site.accesses.value for site in sites),
        new_share=min(region.window_sectors / max(waves * footprint.wave_sectors, 1e-9), 1.0),
    )


def _fill_together(
    region: Region, sites: Sequence[AccessSite], different: float, counts: KernelCounts
) -> bool:
    """Whether the stores of each warp fill sectors together that none of them fills alone."""
    written = sum(site.accesses.value * site.access_bytes for site in sites)
    whole = different * counts.machine.sector_bytes
    once = region.sectors <= 1.05 * len(sites) * different
    return len(sites) > 1 and once and written >= 0.95 * whole


def _scattered(region: Region, sites: Sequence[AccessSite]) -> float:
    """How many of a region's different sectors lie at random, or far from each other."""
    at_random = sum(site.sectors.value for site in sites if _is_scattered(site))
    return region.footprint.launch_sectors * min(at_random / max(region.sectors, 1e-9), 1.0)


def _is_scattered(site: AccessSite) -> bool:
    is_far = site.stride_bytes is not None and abs(site.stride_bytes) >= _FAR_BYTES
    return site.pattern is Pattern.SCATTERED or is_far


def _moved_bytes(
    region: Region, sites: Sequence[AccessSite], sector_bytes: int, partial: float
) -> float:
    """What memory moves for a region's different sectors, in bytes; `partial` is the share of parts.

    A sector that is wanted alone costs a whole granule; where sectors lie at random, by how full it is.
    """
    granule = _FILLED_BYTES if partial > _MANY else _READ_BYTES
    return _granules(region, sites, sector_bytes, granule) * max(granule, sector_bytes)


def _granules(
    region: Region, sites: Sequence[AccessSite], sector_bytes: int, granule_bytes: int
) -> float:
    per_granule = max(granule_bytes // sector_bytes, 1)
    sectors = region.footprint.launch_sectors
    together = sum(site.sectors.value for site in sites) / max(
        sum(site.lines.value for site in sites), 1e-9
    )
    if together >= per_granule or per_granule == 1:
        return sectors / per_granule
    there = max(region.memory_sectors, sectors, 1.0)
    strides = [site.stride_bytes for site in sites]
    if all(stride is not None and abs(stride) >= granule_bytes for stride in strides):
        return min(sectors, there / per_granule)
    filled = min(sectors / there, 1.0)
    return there / per_granule * (1.0 - (1.0 - filled) ** per_granule)


def _footprint_bytes(traffic: tuple[Traffic, ...]) -> float:
    """What all regions touch: of the same memory what is read, or what is written if that is more."""
    by_memory: dict[tuple[str, Access], float] = {}
    for one in traffic:
        key = (one.memory, one.access)
        by_memory[key] = by_memory.get(key, 0.0) + one.granule_bytes
    largest: dict[str, float] = {}
    for (memory, _), size in by_memory.items():
        largest[memory] = max(largest.get(memory, 0.0), size)
    return sum(largest.values())
