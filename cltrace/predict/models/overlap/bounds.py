"""The least and the most that counts may be which rest on assumptions."""

from collections.abc import Callable
from dataclasses import replace

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite, Estimate, FoldedCount, Region

_Bound = Callable[[Estimate], float]


def at_least(counts: KernelCounts) -> KernelCounts:
    """Counts with the least of all that is assumed."""
    return _at(counts, lambda one: min(one.low, one.value))


def at_most(counts: KernelCounts) -> KernelCounts:
    """Counts with the most of all that is assumed."""
    return _at(counts, lambda one: max(one.high, one.value))


def _at(counts: KernelCounts, bound: _Bound) -> KernelCounts:
    shares = [_share(site.sectors, bound) for site in counts.sites]
    asked = [_share(site.requests, bound) for site in counts.sites]
    by_kind = {(row.type, row.cost): _share(row.total, bound) for row in counts.operations}
    regions = (_region(one, max(shares[at] for at in one.sites)) for one in counts.regions)
    rounds = (
        replace(one, waits=one.waits * max(asked[at] for at in one.sites)) for one in counts.rounds
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
    )


def _region(region: Region, share: float) -> Region:
    """A region of which requests touch so much less or more; there is no more of it than memory has."""
    different = region.footprint.launch_sectors * share
    whole = replace(
        region.footprint,
        group_sectors=region.footprint.group_sectors * share,
        launch_sectors=min(different, max(region.memory_sectors, region.footprint.launch_sectors)),
    )
    return replace(
        region,
        sectors=region.sectors * share,
        footprint=whole,
        window_sectors=region.window_sectors * share,
    )


def _folded(row: FoldedCount, share: float) -> FoldedCount:
    return replace(
        row, total=row.total * share, warp_total=row.warp_total * share, waits=row.waits * share
    )
