"""Rule about warps whose lanes access global memory far from each other."""

from dataclasses import replace
from math import ceil
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import AccessSite, Pattern
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.machine import Machine
from cltrace.predict.kernel_advice.edits import certain, with_sites
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.timeline.advice.model import Remedy, typical_count

_MIN_EXCESS: Final = 2.0
"""Sectors of a request by those that it needs, from which it counts as uncoalesced."""
_FAR: Final = frozenset({Pattern.STRIDED, Pattern.SCATTERED})
_GLOBAL: Final = frozenset({"global", "constant"})


def uncoalesced_accesses(counts: KernelCounts) -> Improvement | None:
    """Find accesses of global memory that take more sectors than their bytes need."""
    machine = counts.machine
    scattered = {
        position: site
        for position, site in enumerate(counts.sites)
        if _is_uncoalesced(site, machine)
    }
    if not scattered:
        return None
    worst = max(scattered.values(), key=lambda site: site.sectors.value)
    requests = max(worst.requests.value, 1e-9)
    stride = f"{abs(worst.stride_bytes)} B apart" if worst.stride_bytes else "at scattered places"
    verb = "reads" if worst.access is Access.READ else "writes"
    return Improvement(
        rule="uncoalesced-access",
        title=f"{counts.kernel}: neighbouring work-items access '{worst.memory}' {stride}",
        line=str(worst.place),
        metrics=(
            typical_count(f"sectors for a warp's {verb}", round(worst.sectors.value / requests, 1)),
            typical_count("sectors would do", _needed_sectors(worst, machine)),
        ),
        remedy=Remedy(
            "Let neighbouring work-items (dimension 0) access neighbouring elements: exchange indices, "
            "store members of structures in arrays of their own, or transpose a tile in local memory.",
            "x[get_global_id(0) * width + column]",
            "x[row * width + get_global_id(0)]",
        ),
        counts=with_sites(
            counts, {position: _coalesced(site, machine) for position, site in scattered.items()}
        ),
    )


def _needed_sectors(site: AccessSite, machine: Machine) -> int:
    lanes = site.accesses.value / max(site.requests.value, 1e-9)
    return max(ceil(round(lanes * site.access_bytes / machine.sector_bytes, 3)), 1)


def _is_uncoalesced(site: AccessSite, machine: Machine) -> bool:
    if site.space not in _GLOBAL or site.is_assumed or site.access is Access.ATOMIC:
        return False
    needed = site.requests.value * _needed_sectors(site, machine)
    return (
        site.pattern in _FAR
        and not site.texel_passes
        and site.sectors.value >= _MIN_EXCESS * needed > 0
    )


def _coalesced(site: AccessSite, machine: Machine) -> AccessSite:
    """Return a site whose warps access their bytes side by side, other ones each time."""
    requests, sectors = site.requests.value, _needed_sectors(site, machine)
    lines = ceil(sectors * machine.sector_bytes / machine.line_bytes)
    return replace(
        site,
        sectors=certain(requests * sectors),
        lines=certain(requests * lines),
        bank_cycles=certain(requests * lines),
        partial_sectors=0.0,
        moving_requests=requests if site.access is Access.READ else site.moving_requests,
        step_share=1.0,
        fresh_shares=(1.0, 1.0, 1.0),
        arriving_share=1.0,
        pattern=Pattern.CONTIGUOUS,
        stride_bytes=site.access_bytes,
    )
