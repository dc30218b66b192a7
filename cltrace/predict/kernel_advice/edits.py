"""Counts of a launch after a change of its kernel."""

from collections.abc import Mapping
from dataclasses import replace

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite, Estimate, Footprint, SharedSectors


def certain(value: float) -> Estimate:
    """Return a number without an error."""
    return Estimate(value, 0.0, value, value)


def with_sites(counts: KernelCounts, changed: Mapping[int, AccessSite]) -> KernelCounts:
    """Return counts with other access sites at some positions, and the regions that follow from them."""
    sites = tuple(changed.get(position, site) for position, site in enumerate(counts.sites))
    regions = tuple(
        _region(region, sites, counts.machine.sector_bytes)
        if changed.keys() & set(region.sites)
        else region
        for region in counts.regions
    )
    return replace(counts, sites=sites, regions=regions)


def _region(
    region: SharedSectors, sites: tuple[AccessSite, ...], sector_bytes: int
) -> SharedSectors:
    """Return a region whose sectors are used whole, as far as its sites access that many bytes."""
    own = [sites[position] for position in region.sites]
    sectors = sum(site.sectors.value for site in own)
    used = sum(site.accesses.value * site.access_bytes for site in own) / sector_bytes
    before = max(region.footprint.launch_sectors, 1e-9)
    share = min(used / before, 1.0)
    window = min(region.window_sectors * share, sectors)
    return replace(
        region,
        sectors=sectors,
        footprint=_scaled(region.footprint, share),
        window_sectors=max(window, min(before * share, sectors)),
        returns=max(region.returns * sectors / max(region.sectors, 1e-9), 1.0),
        reads_together=1.0,
        paired_share=0.0,
    )


def _scaled(footprint: Footprint, share: float) -> Footprint:
    return replace(
        footprint,
        group_sectors=footprint.group_sectors * share,
        wave_sectors=footprint.wave_sectors * share,
        launch_sectors=footprint.launch_sectors * share,
    )
