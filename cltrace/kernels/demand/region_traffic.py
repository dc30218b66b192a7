"""Traffic of a region of memory, from the counts of its access sites."""

import math
from collections.abc import Callable, Sequence
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite, Pattern, SharedSectors
from cltrace.kernels.demand.stores import different_sectors, stores_of
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access

_READ_BYTES: Final = 64
"""Smallest transfer of memory for a read."""
_FAR_BYTES: Final = 1024
"""Distance of neighbouring lanes from which accesses cost as much as at random places."""
_ALONE_ACCESSES: Final = 1.2
"""Accesses per sector up to which lanes hardly share any."""
_FILLED_BYTES: Final = 128
"""Smallest transfer of memory for a partly written sector, which has to be read first."""


def region_traffic(region: SharedSectors, counts: KernelCounts, waves: float) -> Traffic:
    """Return the traffic of a region of a launch that runs in `waves` waves of work-groups."""
    sites = [counts.sites[position] for position in region.sites]
    footprint = region.footprint
    stores = stores_of(region, sites, counts)
    granule = _FILLED_BYTES if stores.is_mostly_partial else _READ_BYTES
    distance = _sector_distance(sites, granule, counts.machine.sector_bytes)
    return Traffic(
        memory=region.memory,
        access=region.access,
        requests=sum(site.requests.value for site in sites),
        sectors=stores.sectors,
        lines=sum(site.lines.value for site in sites),
        group_sectors=different_sectors(region, counts),
        window_sectors=region.window_sectors,
        launch_sectors=footprint.launch_sectors,
        granule_bytes=_moved_bytes(region, granule, counts.machine.sector_bytes, distance),
        fetched_bytes=stores.fetched_bytes if distance else 0.0,
        scattered_sectors=_scattered(region, sites),
        partial_sectors=stores.partial_sectors,
        step_sectors=_largest_by_loop(sites, _step_sectors),
        first_sectors=_largest_by_loop(sites, lambda site: _first_sectors(site, counts.warps)),
        arriving_sectors=_largest_by_loop(
            sites, lambda site: _arriving_sectors(site, counts.warps)
        ),
        steps=max((site.requests.value for site in sites), default=0.0),
        step_lines=max((_step_lines(site) for site in sites), default=0.0),
        moving_share=moving_share(sites),
        fresh_shares=fresh_shares(sites),
        repeated_lines=sum(_repeated_lines(site, counts) for site in sites),
        jumping_share=_jumping_share(sites),
        lattice_bytes=_lattice_bytes(sites),
        returns=region.returns,
        reads_together=region.reads_together,
        paired_share=region.paired_share,
        wave_sectors=footprint.wave_sectors,
        contention=max((site.contention for site in sites), default=1.0),
        accesses=sum(site.accesses.value for site in sites),
        new_share=min(region.window_sectors / max(waves * footprint.wave_sectors, 1e-9), 1.0),
    )


def _largest_by_loop(
    sites: Sequence[AccessSite], sectors_of: Callable[[AccessSite], float]
) -> float:
    """Return the sectors that sites fetch, by those of each.

    Sites of one loop, as the neighbours of a stencil, share them; loops one after the other do not.
    """
    by_loop: dict[int, float] = {}
    for site in sites:
        by_loop[site.loop] = max(by_loop.get(site.loop, 0.0), sectors_of(site))
    return sum(by_loop.values())


def _step_sectors(site: AccessSite) -> float:
    """Return the sectors that a site fetches where a near cache keeps nothing between requests."""
    return site.sectors.value * site.step_share * min(moving_share([site]), 1.0)


def _first_sectors(site: AccessSite, warps: float) -> float:
    """Return the sectors of the first request of each warp at a site."""
    return site.sectors.value * site.step_share * min(warps / max(site.requests.value, 1e-9), 1.0)


def _arriving_sectors(site: AccessSite, warps: float) -> float:
    """Return the sectors to which later requests come, and which the warp's one before did not touch."""
    later = site.sectors.value * site.step_share - _first_sectors(site, warps)
    return later * min(moving_share([site]), site.arriving_share)


def fresh_shares(sites: Sequence[AccessSite]) -> tuple[float, ...]:
    """Return the shares of the sectors of sites that groups have not touched at requests before."""
    sectors = sum(site.sectors.value for site in sites)
    columns = zip(*(_fresh_sectors(site) for site in sites), strict=True)
    return tuple(sum(column) / sectors if sectors else 1.0 for column in columns)


def _fresh_sectors(site: AccessSite) -> tuple[float, ...]:
    moving = min(moving_share([site]), 1.0)
    return tuple(site.sectors.value * min(moving, share) for share in site.fresh_shares)


def _step_lines(site: AccessSite) -> float:
    """Return the lines that a request of a site touches, less those that its group has in common."""
    return site.lines.value * site.step_share / max(site.requests.value, 1e-9)


def moving_share(sites: Sequence[AccessSite]) -> float:
    """Return the share of the requests of sites that touch other sectors than those before."""
    requests = sum(site.requests.value for site in sites)
    return sum(site.moving_requests for site in sites) / requests if requests else 1.0


def _repeated_lines(site: AccessSite, counts: KernelCounts) -> float:
    """Return the lines of a CPU's requests that touch other lines than those before."""
    requests = site.requests.value
    if not counts.machine.has_item_loops or not requests:
        return 0.0
    moving = min(_moving_requests(site) / requests, 1.0)
    lines = site.lane_share * site.sectors.value + (1.0 - site.lane_share) * site.accesses.value
    return moving * lines


def _moving_requests(site: AccessSite) -> float:
    """Return the requests that touch other sectors than those before: all of a store."""
    return site.moving_requests if site.access is Access.READ else site.requests.value


def _jumping_share(sites: Sequence[AccessSite]) -> float:
    """Return the share of the sectors of sites that are far from those accessed before."""
    sectors = sum(site.sectors.value for site in sites)
    jumping = sum(
        site.sectors.value if _is_scattered(site) else _jumps(site) * site.sectors.value
        for site in sites
    )
    return jumping / sectors if sectors else 0.0


def _lattice_bytes(sites: Sequence[AccessSite]) -> int:
    """Return the distance of the lines of the site with most requests, 0 if they have none in common."""
    site = max(sites, key=lambda each: each.requests.value, default=None)
    if site is None:
        return 0
    stride = abs(site.stride_bytes or 0)
    return math.gcd(site.jump_bytes, stride if stride >= _READ_BYTES else 0)


def _jumps(site: AccessSite) -> float:
    return min(site.jumping_requests / max(_moving_requests(site), 1e-9), 1.0)


def _scattered(region: SharedSectors, sites: Sequence[AccessSite]) -> float:
    """Return the different sectors of a region that lie at random places, or far from each other.

    Those of a request that share their lines with others do not: tiles of a matrix are in order.
    """
    at_random = sum(lonely_sectors(site) for site in sites if _is_scattered(site))
    return region.footprint.launch_sectors * min(at_random / max(region.sectors, 1e-9), 1.0)


def lonely_sectors(site: AccessSite) -> float:
    """Return the sectors of a site's requests that are the only ones in their granule of two."""
    sectors = site.sectors.value
    return min(max(2.0 * site.lines.value - sectors, 0.0), sectors)


def _is_scattered(site: AccessSite) -> bool:
    is_far = site.stride_bytes is not None and abs(site.stride_bytes) >= _FAR_BYTES
    return site.pattern is Pattern.SCATTERED or is_far or _are_alone(site)


def _are_alone(site: AccessSite) -> bool:
    """Return True for lanes at unequal distances that each read sectors of their own: wide elements."""
    is_apart = site.accesses.value <= _ALONE_ACCESSES * site.sectors.value
    return site.pattern is Pattern.RUNS and is_apart


def _moved_bytes(
    region: SharedSectors, granule_bytes: int, sector_bytes: int, distance_bytes: int
) -> float:
    """Return the bytes that memory moves for a region's different sectors.

    A sector without neighbours costs a whole granule, also at a distance from others: not those of a row
    along which a lane walks. Where sectors lie at random places, which have no
    distance, the number of granules follows from the share of the memory that they fill.
    """
    sectors = region.footprint.launch_sectors
    memory_sectors = max(region.memory_sectors, sectors, 1.0)
    if distance_bytes:
        alone_bytes = min(distance_bytes, max(granule_bytes, sector_bytes))
        paired = region.footprint.paired_share if granule_bytes == _READ_BYTES else 0.0
        moved_bytes = sectors * (paired * sector_bytes + (1.0 - paired) * alone_bytes)
        return min(moved_bytes, memory_sectors * sector_bytes)
    per_granule = granule_bytes // sector_bytes
    filled = min(sectors / memory_sectors, 1.0)
    granules = memory_sectors / per_granule * (1.0 - (1.0 - filled) ** per_granule)
    return granules * granule_bytes


def _sector_distance(sites: Sequence[AccessSite], granule_bytes: int, sector_bytes: int) -> int:
    """Return the distance of a region's sectors that lie in order, 0 for those at random places.

    They lie side by side where requests touch as many sectors of a line as a granule has.
    """
    lines = sum(site.lines.value for site in sites)
    per_granule = max(granule_bytes // sector_bytes, 1)
    if per_granule == 1 or sum(site.sectors.value for site in sites) >= per_granule * lines:
        return sector_bytes
    stride = min((abs(site.stride_bytes or 0) for site in sites), default=0)
    return stride if stride >= sector_bytes else 0


def footprint_bytes(traffic: Sequence[Traffic]) -> float:
    """Return the bytes that all regions touch: per memory, the larger of what is read and written."""
    by_memory: dict[tuple[str, Access], float] = {}
    for region in traffic:
        key = (region.memory, region.access)
        by_memory[key] = by_memory.get(key, 0.0) + region.granule_bytes
    largest: dict[str, float] = {}
    for (memory, _), size in by_memory.items():
        largest[memory] = max(largest.get(memory, 0.0), size)
    return sum(largest.values())
