"""Rule about private arrays that stay in memory."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cltrace.kernels import CostClass, KernelCounts
from cltrace.kernels.counts.records import AccessSite, FoldedCount
from cltrace.kernels.demand.private_traffic import in_private_memory
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.kernel_advice.edits import with_sites
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.timeline.advice.model import Remedy, typical_bytes, typical_count

_WORD_BYTES: Final = 4
_MAX_MOVING_SHARE: Final = 0.05
_MAX_SELECTED: Final = 16
"""Elements up to which selecting one of them takes less time than memory does."""


def private_arrays(counts: KernelCounts) -> Improvement | None:
    """Find private arrays that are in memory because an index is known at run time only."""
    stored = {at: site for at, site in enumerate(counts.sites) if in_private_memory(site)}
    if not stored:
        return None
    worst = max(stored.values(), key=lambda site: site.requests.value)
    accesses = sum(site.accesses.value for site in stored.values()) / max(counts.work_items, 1)
    size_bytes = _size_bytes(counts, stored)
    is_small = size_bytes <= _MAX_SELECTED * _WORD_BYTES
    group_bytes = size_bytes * (counts.work_items // max(counts.groups, 1))
    if not is_small and counts.local_bytes + group_bytes > counts.machine.local_bytes:
        return None
    return Improvement(
        rule="private-array",
        title=f"{counts.kernel}: a private array is in memory, and not in registers",
        line=str(worst.place),
        metrics=(
            typical_count("accesses of it by a work-item", round(accesses, 1)),
            typical_bytes("per work-item", size_bytes),
        ),
        remedy=Remedy(
            "Index it by constants only, so that it can be in registers: loops of known trips that are "
            "unrolled, selections instead of computed places. Else keep it in local memory.",
            "sums[key] += x;",
            "for (int i = 0; i < 4; i++) sums[i] += i == key ? x : 0;",
        ),
        counts=_with_selections(counts, stored)
        if is_small
        else _in_local_memory(counts, stored, group_bytes),
    )


def _with_selections(counts: KernelCounts, stored: Mapping[int, AccessSite]) -> KernelCounts:
    """Return counts in which an access is a selection from each element of an array in registers.

    Reads of one place all the time are those of a register.
    """
    chosen = [site for site in stored.values() if not _is_of_one_place(site)]
    elements = max(_size_bytes(counts, stored) / _WORD_BYTES, 1.0)
    selections = FoldedCount(
        type="int",
        cost=CostClass.SELECT,
        function="",
        total=elements * sum(site.accesses.value for site in chosen),
        warp_total=elements * sum(site.requests.value for site in chosen),
        waits=0.0,
    )
    kept = {at: replace(site, is_register=True) for at, site in stored.items()}
    return replace(with_sites(counts, kept), folded=(*counts.folded, selections))


def _is_of_one_place(site: AccessSite) -> bool:
    is_read = site.access is Access.READ
    return is_read and site.moving_requests <= _MAX_MOVING_SHARE * site.requests.value


def _in_local_memory(
    counts: KernelCounts, stored: Mapping[int, AccessSite], group_bytes: int
) -> KernelCounts:
    """Return counts in which the arrays are in local memory, each lane's in a bank of its own."""
    moved = {
        at: replace(site, space="local", bank_cycles=site.requests) for at, site in stored.items()
    }
    return replace(with_sites(counts, moved), local_bytes=counts.local_bytes + group_bytes)


def _size_bytes(counts: KernelCounts, stored: Mapping[int, AccessSite]) -> int:
    """Return the size of the arrays that are in memory, of all where their names do not tell."""
    names = {name for site in stored.values() for name in site.memory.split(", ")}
    own = [array.size_bytes for array in counts.private if str(array.place) in names]
    return sum(own or (array.size_bytes for array in counts.private))
