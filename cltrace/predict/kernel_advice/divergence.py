"""Rule about warps whose lanes take different sides of a branch."""

from dataclasses import replace
from typing import Final

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.records import BranchSite, FoldedCount
from cltrace.predict.kernel_advice.model import Improvement
from cltrace.timeline.advice.model import Remedy, typical_count

_MIN_DIVERGENT_SHARE: Final = 0.5
_MAX_ACTIVE_LANES: Final = 0.75
_MIN_REACHED: Final = 0.1


def divergent_branches(counts: KernelCounts) -> Improvement | None:
    """Find branches at which most warps split, where few lanes of a warp work as a result."""
    width = counts.machine.warp_width
    if counts.work_items <= width * counts.groups or counts.active_lanes > _MAX_ACTIVE_LANES:
        return None  # in groups of one warp there is no other warp to take the other side
    branches = [branch for branch in counts.branches if _is_divergent(branch, counts)]
    if not branches:
        return None
    worst = max(branches, key=lambda branch: branch.divergent_warps)
    return Improvement(
        rule="divergent-branch",
        title=f"{counts.kernel}: lanes of a warp take different sides of a branch",
        line=str(worst.place),
        metrics=(
            typical_count("% of the warps split there", round(100 * _divergent_share(worst))),
            typical_count("% of the lanes work in the mean", round(100 * counts.active_lanes)),
        ),
        remedy=Remedy(
            "Let whole warps take one side: decide by the number of the warp instead of the lane, or "
            "sort the work by what decides.",
            "if (get_local_id(0) % 2) a(); else b();",
            f"if (get_local_id(0) / {width} % 2) a(); else b();",
        ),
        counts=replace(
            counts, folded=tuple(_full(row, width) for row in counts.folded), active_lanes=1.0
        ),
    )


def _divergent_share(branch: BranchSite) -> float:
    return branch.divergent_warps / max(branch.warps, 1e-9)


def _is_divergent(branch: BranchSite, counts: KernelCounts) -> bool:
    return (
        not branch.is_assumed
        and branch.warps >= _MIN_REACHED * counts.warps
        and _divergent_share(branch) >= _MIN_DIVERGENT_SHARE
    )


def _full(row: FoldedCount, width: int) -> FoldedCount:
    """Return an operation that all lanes of a warp execute together."""
    least = row.total / width
    share = min(least / row.warp_total, 1.0) if row.warp_total else 1.0
    return replace(row, warp_total=row.warp_total * share, waits=row.waits * share)
