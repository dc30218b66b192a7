"""Bounds of counts that rest on assumptions."""

from collections.abc import Callable
from dataclasses import replace

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite, Estimate, FoldedCount, SharedSectors

_Bound = Callable[[Estimate], float]


def lower_bound(counts: KernelCounts) -> KernelCounts:
    """Return counts with the lowest value of every estimate."""
    return _apply(counts, lambda estimate: min(estimate.low, estimate.value))


def upper_bound(counts: KernelCounts) -> KernelCounts:
    """Return counts with the highest value of every estimate."""
    return _apply(counts, lambda estimate: max(estimate.high, estimate.value))


def _apply(counts: KernelCounts, bound: _Bound) -> KernelCounts:
    sectors = [_share(site.sectors, bound) for site in counts.sites]
    requests = [_share(site.requests, bound) for site in counts.sites]
    by_kind = {(row.type, row.cost): _share(row.total, bound) for row in counts.operations}
    regions = (
        _region(region, max(sectors[position] for position in region.sites))
        for region in counts.regions
    )
    rounds = (
        replace(
            read_round,
            waits=read_round.waits * max(requests[position] for position in read_round.sites),
        )
        for read_round in counts.rounds
    )
    folded = (_folded(row, by_kind.get((row.type, row.cost), 1.0)) for row in counts.folded)
    return replace(
        counts,
        sites=tuple(_site(site, bound) for site in counts.sites),
        regions=tuple(regions),
        rounds=tuple(rounds),
        folded=tuple(folded),
    )


def _share(estimate: Estimate, bound: _Bound) -> float:
    return bound(estimate) / estimate.value if estimate.value else 1.0


def _site(site: AccessSite, bound: _Bound) -> AccessSite:
    return replace(
        site,
        **{
            name: replace(getattr(site, name), value=bound(getattr(site, name)))
            for name in ("accesses", "requests", "sectors", "lines", "bank_cycles")
        },
        partial_sectors=site.partial_sectors * _share(site.sectors, bound),
        moving_requests=site.moving_requests * _share(site.requests, bound),
        jumping_requests=site.jumping_requests * _share(site.requests, bound),
    )


def _region(region: SharedSectors, share: float) -> SharedSectors:
    """Return a region whose sectors change by `share`, up to the sectors that the memory has."""
    different = region.footprint.launch_sectors * share
    footprint = replace(
        region.footprint,
        group_sectors=region.footprint.group_sectors * share,
        wave_sectors=region.footprint.wave_sectors * share,
        launch_sectors=min(different, max(region.memory_sectors, region.footprint.launch_sectors)),
    )
    return replace(
        region,
        sectors=region.sectors * share,
        footprint=footprint,
        window_sectors=region.window_sectors * share,
    )


def _folded(row: FoldedCount, share: float) -> FoldedCount:
    return replace(
        row, total=row.total * share, warp_total=row.warp_total * share, waits=row.waits * share
    )
