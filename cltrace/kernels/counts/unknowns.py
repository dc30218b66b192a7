"""What a launch leaves unknown: the addresses, branches and selections that contents decide."""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.flow.dependencies import Root
from cltrace.kernels.flow.group_values import LaneValues, find_lane_values
from cltrace.kernels.flow.known_conditions import KnownParts, find_known_parts
from cltrace.kernels.flow.taint import Taint
from cltrace.kernels.ir.instructions import Select
from cltrace.kernels.ir.uses import operands_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknowns:
    """Unknown parts of a launch.

    Attributes:
        sites: numbers of the sites with an unknown address.
        blocks: blocks that end in an unknown branch.
        selects: slots of values that an unknown condition selects.
        known_parts: what is known of the conditions of unknown branches, by block.
        shared_sites: those of `sites` whose addresses differ by known distances in a work-group.
        shared_blocks: those of `blocks` whose branch is the same for all work-items of a group.
        shared_selects: those of `selects` whose condition is the same for all work-items of a group.
    """

    sites: frozenset[int]
    blocks: frozenset[int]
    selects: frozenset[int]
    known_parts: Mapping[int, KnownParts]
    shared_sites: frozenset[int]
    shared_blocks: frozenset[int]
    shared_selects: frozenset[int]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is unknown."""
        return not (self.sites or self.blocks or self.selects)


def find_unknowns(analysis: KernelAnalysis, roots: frozenset[Root]) -> Unknowns:
    """Return what is unknown in a kernel where the contents of `roots` are."""
    kernel = analysis.sliced_kernel
    taint = analysis.taint_of(roots)
    sites = [
        site for site in kernel.sites if taint.reaches((site.pointer, *site.indices), site.block)
    ]
    lanes = find_lane_values(analysis.dependencies, taint)
    return Unknowns(
        sites=frozenset(site.number for site in sites),
        blocks=taint.blocks,
        selects=taint.selects,
        known_parts=find_known_parts(kernel.function, kernel.graph, taint),
        shared_sites=frozenset(
            site.number
            for site in sites
            if not site.indices and not lanes.is_scattered((site.pointer,), site.block)
        ),
        shared_blocks=frozenset(
            number
            for number in taint.blocks
            if not lanes.varies(operands_of(kernel.function.blocks[number].terminator), number)
        ),
        shared_selects=_find_shared_selects(analysis, taint, lanes),
    )


def _find_shared_selects(
    analysis: KernelAnalysis, taint: Taint, lanes: LaneValues
) -> frozenset[int]:
    return frozenset(
        item.result
        for number, item in analysis.dependencies.instructions
        if isinstance(item, Select)
        and item.result in taint.selects
        and not lanes.varies((item.condition,), number)
    )
