"""Rule about reads that wait for writes because their arguments might overlap."""

from collections.abc import Sequence
from dataclasses import replace

from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.kernel_advice.model import Improvement, Variant
from cltrace.predict.kernel_advice.source_edits import restrict_pointers
from cltrace.timeline.advice.model import Remedy, typical_count


def possible_aliasing(launch: TracedLaunch, counts: KernelCounts) -> Sequence[Variant]:
    """Count a launch as if its kernel declared its pointers `restrict`.

    Only where it both reads and writes global memory, and where no two arguments are the same memory.
    """
    program = launch.program
    kinds = {site.access for site in counts.sites if site.space == "global"}
    if program is None or not {Access.READ, Access.WRITE} <= kinds:
        return ()
    source = restrict_pointers(program.source, launch.kernel)
    if source is None:
        return ()
    changed = replace(launch, program=replace(program, source=source))
    return (Variant(changed, _describe, needs_own_buffers=True),)


def _describe(before: KernelCounts, after: KernelCounts) -> Improvement | None:
    written = [
        site for site in before.sites if site.space == "global" and site.access is Access.WRITE
    ]
    last = max(written, key=lambda site: site.requests.value)
    return Improvement(
        rule="possible-aliasing",
        title=f"{before.kernel}: reads wait for writes that might be to the same memory",
        line=str(last.place),
        metrics=(
            typical_count("times that a warp waits for reads", round(_waits(before), 1)),
            typical_count("times with restrict", round(_waits(after), 1)),
        ),
        remedy=Remedy(
            "Declare the pointers restrict: no two of them were the same memory in this run.",
            "kernel void step(global const float *a, global float *b)",
            "kernel void step(global const float *restrict a, global float *restrict b)",
        ),
        counts=after,
    )


def _waits(counts: KernelCounts) -> float:
    return sum(each.waits for each in counts.rounds) / max(counts.warps, 1.0)
