"""Traffic of private variables that a GPU keeps in memory.

Each work-item has its own; the near cache holds those of the resident work-groups as far as they fit, and
writes go through it. Work-groups that come later use the memory of those before them.
"""

from collections.abc import Iterator

from cltrace.kernels.counts.records import AccessSite, KernelCounts
from cltrace.kernels.demand.region_traffic import fresh_shares, lonely_sectors, moving_share
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access

PRIVATE_MEMORY = "private variables"


def in_private_memory(site: AccessSite) -> bool:
    """Return True for an access of a private variable that is not in registers."""
    return site.space == "private" and not site.is_register


def private_traffic(counts: KernelCounts) -> Iterator[tuple[Traffic, tuple[int, ...]]]:
    """Yield the traffic of reads and of writes, each with the positions of its sites."""
    if counts.machine.has_item_loops:
        return
    for access in (Access.READ, Access.WRITE):
        positions = tuple(
            position
            for position, site in enumerate(counts.sites)
            if in_private_memory(site) and site.access is access
        )
        if positions:
            yield _traffic([counts.sites[at] for at in positions], access, counts), positions


def _traffic(sites: list[AccessSite], access: Access, counts: KernelCounts) -> Traffic:
    sectors = sum(site.sectors.value for site in sites)
    by_variable: dict[str, float] = {}
    for site in sites:
        largest = by_variable.get(site.memory, 0.0)
        by_variable[site.memory] = max(largest, site.footprint.group_sectors)
    different = min(sum(by_variable.values()) * counts.groups, sectors)
    requests = sum(site.requests.value for site in sites)
    first = sectors * min(counts.warps * len(sites) / max(requests, 1e-9), 1.0)
    return Traffic(
        memory=PRIVATE_MEMORY,
        access=access,
        requests=requests,
        sectors=sectors,
        lines=sum(site.lines.value for site in sites),
        group_sectors=different,
        window_sectors=different,
        launch_sectors=different,
        granule_bytes=0.0,
        scattered_sectors=sum(map(lonely_sectors, sites)),
        partial_sectors=0.0,  # one of them takes as long as a whole one: 9 to 9.7 ps on an H200
        step_sectors=sectors,
        first_sectors=first,
        arriving_sectors=(sectors - first) * min(moving_share(sites), 1.0),
        steps=max((site.requests.value for site in sites), default=0.0),
        step_lines=sectors
        * counts.machine.sector_bytes
        / counts.machine.line_bytes
        / max(requests, 1e-9),
        moving_share=moving_share(sites),
        fresh_shares=fresh_shares(sites),
        contention=1.0,
        accesses=sum(site.accesses.value for site in sites),
        new_share=0.0,
    )
