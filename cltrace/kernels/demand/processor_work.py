"""Work of a CPU beside operations and accesses: calls for images, mispredictions, masked stores."""

import math
from dataclasses import dataclass, fields
from typing import Final

from cltrace.kernels.costs.operation import KEPT_TYPE
from cltrace.kernels.counts.records import AccessSite, BranchSite, KernelCounts
from cltrace.kernels.demand.private_traffic import in_private_memory
from cltrace.kernels.ir.instructions import Access

_PLANE_TEXELS: Final = 4.0
"""Texels between which a read interpolates within a plane."""
_CERTAIN: Final = 0.5
_HALVINGS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorWork:
    """Numbers of a launch on a CPU; all 0 on a GPU.

    `image_reads` are the calls that read a texel, `image_blends` those that interpolate within a plane,
    `image_writes` those that write a texel. `mispredictions` are the branches of single work-items that
    go another way than the processor expects, `masked_stores` the stores of vectors of which only some
    lanes take part. `item_accesses` are the accesses of single work-items, beyond private memory;
    `private_accesses` are those of private variables that are not in registers. `kept_values` are the
    writes and reads of values that work-items need behind a barrier, by vectors or single work-items.
    `local_atomics` are the atomic operations in local memory.
    """

    image_reads: float = 0.0
    image_blends: float = 0.0
    image_writes: float = 0.0
    mispredictions: float = 0.0
    masked_stores: float = 0.0
    item_accesses: float = 0.0
    private_accesses: float = 0.0
    kept_values: float = 0.0
    local_atomics: float = 0.0

    @classmethod
    def of(cls, counts: KernelCounts) -> "ProcessorWork":
        """Return the work of a launch."""
        if not counts.machine.has_item_loops:
            return cls()
        reads = [site for site in counts.sites if site.texels and site.access is Access.READ]
        writes = [site for site in counts.sites if site.texels and site.access is Access.WRITE]
        return cls(
            image_reads=sum(site.accesses.value for site in reads if site.texels == 1),
            image_blends=sum(map(_blends, reads)),
            image_writes=sum(site.accesses.value for site in writes),
            mispredictions=sum(
                (1.0 - site.lane_share) * _mispredicted(site, counts.machine.warp_width)
                for site in counts.branches
            ),
            masked_stores=sum(map(_masked, counts.sites)),
            item_accesses=sum(_by_items(site) for site in counts.sites if site.space != "private"),
            private_accesses=sum(map(_by_items, filter(in_private_memory, counts.sites))),
            kept_values=sum(row.warp_total for row in counts.folded if row.type == KEPT_TYPE),
            local_atomics=sum(
                site.accesses.value for site in counts.sites if _is_local_atomic(site)
            ),
        )

    def scaled(self, share: float) -> "ProcessorWork":
        """Return the work of a launch with `share` times the work-groups."""
        return ProcessorWork(
            **{each.name: getattr(self, each.name) * share for each in fields(self)}
        )


def _blends(site: AccessSite) -> float:
    return site.accesses.value * site.texels / _PLANE_TEXELS if site.texels > 1 else 0.0


def _masked(site: AccessSite) -> float:
    is_store = site.is_masked and site.access is Access.WRITE and site.space != "private"
    return site.lane_share * site.requests.value if is_store else 0.0


def _by_items(site: AccessSite) -> float:
    return (1.0 - site.lane_share) * site.accesses.value


def _is_local_atomic(site: AccessSite) -> bool:
    return site.space == "local" and site.access is Access.ATOMIC


def _mispredicted(site: BranchSite, width: int) -> float:
    """Return how often work-items go the rarer way, if each chooses by itself.

    That share follows from the share of the vectors whose work-items do not all go the same way.
    Neighbours that go the same way are predicted.
    """
    if not site.warps:
        return 0.0
    lanes = max(width * site.active_lanes, 1.0)
    split = min(site.divergent_warps / site.warps, 1.0)
    rarer = _rarer_share(split, lanes)
    return site.warps * lanes * min(rarer, site.taken, 1.0 - site.taken)


def _rarer_share(split: float, lanes: float) -> float:
    """Return the share `r` with which `split = 1 - r^lanes - (1 - r)^lanes`, at most a half."""
    if lanes <= 1.0 or split <= 0.0:
        return 0.0
    low, high = 0.0, _CERTAIN
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if 1.0 - math.pow(middle, lanes) - math.pow(1.0 - middle, lanes) < split:
            low = middle
        else:
            high = middle
    return high
