"""Rule about atomic operations of many work-items on few addresses of global memory."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite, Pattern
from cltrace.predict.kernel_advice.edits import certain, with_sites
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.timeline.advice.model import Remedy, typical_count

_MIN_SHARED: Final = 4.0
"""Atomic operations of a work-group per address from which they are worth being added up first."""


def global_atomics(counts: KernelCounts) -> Improvement | None:
    """Find atomic operations whose work-groups change the same addresses again and again.

    Only those that can be added up first: results that nothing uses, and neither exchanges nor loads.
    """
    repeated = {
        position: site
        for position, site in enumerate(counts.sites)
        if site.space == "global"
        and site.is_summable
        and _group_accesses(site, counts) >= _MIN_SHARED * _group_addresses(site, counts)
    }
    if not repeated:
        return None
    worst = max(repeated.values(), key=lambda site: site.accesses.value)
    return Improvement(
        rule="global-atomics",
        title=f"{counts.kernel}: work-groups change few elements of '{worst.memory}' atomically",
        line=str(worst.place),
        metrics=(
            typical_count(
                "atomic operations of a work-group", round(_group_accesses(worst, counts))
            ),
            typical_count("elements, at most", round(_group_addresses(worst, counts))),
        ),
        remedy=Remedy(
            "Add up in local memory or registers, and change global memory once per work-group.",
            "atomic_add(&total[bin], 1);",
            "atomic_add(&sums[bin], 1); /* … */ atomic_add(&total[lid], sums[lid]);",
        ),
        counts=_added_up_first(counts, repeated),
    )


def _group_accesses(site: AccessSite, counts: KernelCounts) -> float:
    return site.accesses.value / max(counts.groups, 1)


def _group_addresses(site: AccessSite, counts: KernelCounts) -> float:
    """Return the most addresses that the sectors of a work-group can have."""
    if site.pattern is Pattern.UNIFORM:
        return max(site.footprint.group_sectors, 1.0)
    per_sector = counts.machine.sector_bytes / site.access_bytes
    return max(site.footprint.group_sectors * per_sector, 1.0)


def _added_up_first(counts: KernelCounts, repeated: Mapping[int, AccessSite]) -> KernelCounts:
    """Return counts whose atomic operations are in local memory, and once per work-group in global."""
    changed = with_sites(
        counts, {at: _once_per_group(site, counts) for at, site in repeated.items()}
    )
    local = tuple(_in_local_memory(site) for site in repeated.values())
    return replace(changed, sites=(*changed.sites, *local))


def _once_per_group(site: AccessSite, counts: KernelCounts) -> AccessSite:
    """Return a site at which each work-group changes each address once."""
    accesses = min(counts.groups * _group_addresses(site, counts), site.accesses.value)
    requests = max(accesses / counts.machine.warp_width, float(counts.groups))
    requests = min(requests, site.requests.value)
    share = requests / max(site.requests.value, 1e-9)
    return replace(
        site,
        accesses=certain(accesses),
        requests=certain(requests),
        sectors=certain(site.sectors.value * share),
        lines=certain(site.lines.value * share),
        bank_cycles=certain(requests),
        moving_requests=min(site.moving_requests, requests),
        contention=1.0,
    )


def _in_local_memory(site: AccessSite) -> AccessSite:
    """Return a site in local memory, where lanes with the same address take turns."""
    turns = site.requests.value * max(site.contention, 1.0)
    nothing = certain(0.0)
    return replace(site, space="local", sectors=nothing, lines=nothing, bank_cycles=certain(turns))
