"""Stores of warps that meet in sectors of the shared cache and of memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels import KernelCounts, Machine
from cltrace.kernels.counts.records import AccessSite, SharedSectors
from cltrace.kernels.ir.instructions import Access

_MOSTLY_PARTIAL: Final = 0.5
"""Share of partly written sectors from which a region's writes count as partial."""
_DENSE: Final = 1.3
"""Bytes of the lines of a request, by those of its vectors, up to which there is nothing else in them."""
_MERGED_LINES: Final = 6.5
"""Lines of a store up to which a compute unit sends it on together with the warp's next one."""
_SEPARATION: Final = 4.0
"""Power of the lines beyond that with which stores are sent on by themselves."""
_MERGED_STORES: Final = 4.0
"""Stores to a sector of which a compute unit sends the last ones on together."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Sectors and writes that the accesses of a region send on, over the whole launch.

    `sectors` go to the shared cache, `partial_sectors` of them written in part. `fetched_bytes` are those
    that memory reads for sectors of which the launch writes only a part. `is_mostly_partial` is True if
    most sectors are written in part by each store.
    """

    sectors: float
    partial_sectors: float
    fetched_bytes: float
    is_mostly_partial: bool


def stores_of(region: SharedSectors, sites: Sequence[AccessSite], counts: KernelCounts) -> Stores:
    """Return what a region sends on: reads and atomics one by one, stores merged with others.

    A compute unit of a GPU sends stores of a warp to the same sectors on together if they touch few
    lines. So the members of a small structure cost a write, those of a large one a write each.
    """
    partial = sum(site.partial_sectors for site in sites)
    is_mostly_partial = partial > _MOSTLY_PARTIAL * region.sectors
    if region.access is not Access.WRITE:
        return Stores(region.sectors, partial, 0.0, is_mostly_partial)
    is_filled = _fill_together(region, sites, counts)
    merged = _merged_sectors(region, sites, counts, is_filled=is_filled)
    left, partial_left = region.sectors - merged.sectors, partial - merged.partial_sectors
    is_fetched = not (is_filled or counts.machine.has_item_loops) and (
        is_mostly_partial and partial_left > _MOSTLY_PARTIAL * left
    )
    return Stores(
        left,
        partial_left,
        _unread_sectors(region, counts) * counts.machine.sector_bytes if is_fetched else 0.0,
        is_mostly_partial,
    )


def different_sectors(region: SharedSectors, counts: KernelCounts) -> float:
    """Return the different sectors of each work-group, added up over work-groups."""
    return min(region.footprint.group_sectors * counts.groups, region.sectors)


@dataclass(frozen=True, slots=True)
class _Merged:
    """Sectors that are not sent by themselves, and how many fewer are written in part."""

    sectors: float
    partial_sectors: float


def _merged_sectors(
    region: SharedSectors, sites: Sequence[AccessSite], counts: KernelCounts, *, is_filled: bool
) -> _Merged:
    repeated = region.sectors - different_sectors(region, counts)
    if is_filled:
        stores = region.sectors / max(region.sectors - repeated, 1e-9)
        share = _merged_share(sites, 1.0 if counts.machine.has_item_loops else stores)
        return _Merged(share * repeated, share * sum(site.partial_sectors for site in sites))
    if counts.machine.has_item_loops:
        return _Merged(0.0, 0.0)
    filling = [site for site in sites if _fills_alone(site, counts)]
    others = [site for site in sites if site not in filling]
    own = [_merged_alone(site, counts) for site in filling]
    sectors, partial = (sum(numbers) for numbers in zip(*own, strict=True)) if own else (0.0, 0.0)
    later = min(_partial_sectors_of_later_stores(others), max(repeated - sectors, 0.0))
    merged = _merged_share(others) * later
    return _Merged(sectors + merged, partial + merged)


def _merged_alone(site: AccessSite, counts: KernelCounts) -> tuple[float, float]:
    """Return what is merged of a site that fills its sectors, and how much of that is partial."""
    different = _different_sectors_of_site(site, counts)
    share = _merged_share([site], site.sectors.value / max(different, 1e-9))
    return share * (site.sectors.value - different), share * site.partial_sectors


def _different_sectors_of_site(site: AccessSite, counts: KernelCounts) -> float:
    return min(site.footprint.group_sectors * counts.groups, site.sectors.value)


def _fill_together(
    region: SharedSectors, sites: Sequence[AccessSite], counts: KernelCounts
) -> bool:
    """Return True if several stores of a warp together fill sectors that none of them fills alone.

    They are stores at several places, at one place in a loop over the members of a sector, or of the
    parts of a vector.
    """
    if len(sites) == 1:
        return _fills_alone(sites[0], counts)
    different = different_sectors(region, counts)
    few_stores = region.sectors <= 1.05 * len(sites) * different
    return few_stores and _is_filled_once(sites, different, counts)


def _is_filled_once(sites: Sequence[AccessSite], different: float, counts: KernelCounts) -> bool:
    """Return True if sites write about as many bytes as `different` sectors have."""
    written = sum(site.accesses.value * site.access_bytes for site in sites)
    return 0.95 <= written / max(different * counts.machine.sector_bytes, 1e-9) <= 1.05


def _fills_alone(site: AccessSite, counts: KernelCounts) -> bool:
    """Return True if stores of a warp at one place together fill sectors that each writes in part."""
    fills_once = _is_filled_once([site], _different_sectors_of_site(site, counts), counts)
    is_partial = site.partial_sectors > 0.95 * site.sectors.value
    is_within = 0 < (site.stride_bytes or 0) <= counts.machine.sector_bytes
    return fills_once and is_partial and (is_within or _is_dense(site, counts.machine))


def _is_dense(site: AccessSite, machine: Machine) -> bool:
    """Return True if the lines or sectors of a request hold hardly more than a warp's vectors.

    If it writes only parts of these sectors, it writes parts of the vectors.
    """
    touched_bytes = min(
        site.lines.value * machine.line_bytes, site.sectors.value * machine.sector_bytes
    ) / max(site.requests.value, 1e-9)
    return touched_bytes <= _DENSE * machine.warp_width * site.access_bytes


def _unread_sectors(region: SharedSectors, counts: KernelCounts) -> float:
    """Return the sectors of a region that the launch does not read as well."""
    read = sum(
        other.footprint.launch_sectors
        for other in counts.regions
        if other.access is Access.READ and other.memory == region.memory
    )
    return max(region.footprint.launch_sectors - read, 0.0)


def _partial_sectors_of_later_stores(sites: Sequence[AccessSite]) -> float:
    """Return the partly written sectors of all stores but the first of each loop's body.

    A store that fills its sectors does not wait for others.
    """
    by_loop: dict[int, list[float]] = {}
    for site in sites:
        by_loop.setdefault(site.loop, []).append(site.partial_sectors)
    return sum(sum(sectors) - max(sectors) for sectors in by_loop.values())


def _merged_share(sites: Sequence[AccessSite], stores: float = 1.0) -> float:
    """Return the share of stores that are merged with others to the same sectors, by their lines.

    Of many `stores` to a sector, four are merged: on an H200, a quarter of the 16 stores of `vstore16` of
    `uchar`, a half of the 8 of `vstore8`, and all of two to four (4 lines or fewer).
    32 operations between the stores change nothing as long as the shared cache holds what they write.
    """
    requests = sum(site.requests.value for site in sites)
    lines = sum(site.lines.value for site in sites) / max(requests, 1e-9)
    by_lines = math.pow(_MERGED_LINES / max(lines, _MERGED_LINES), _SEPARATION)
    return min(by_lines, _MERGED_STORES / max(stores, _MERGED_STORES))
