"""Values of work-items that a CPU's compiler keeps in memory from one side of a barrier to the other.

Between two barriers it runs a loop over the work-items of a group. A value that they compute in one such
loop and use in another is stored in an array with a place for each, and read there again. Values that all
work-items share stay in registers.
"""

from collections.abc import Iterator, Mapping

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.item_addresses import LaneForm, find_lane_forms
from cltrace.kernels.fold.item_loops import regions_of
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit


def find_kept_values(kernel: PreparedKernel) -> Mapping[int, tuple[int, int]]:
    """Return how many values a block stores and reads for each work-item, by block.

    A region reads a value once, in its first block.
    """
    regions = list(regions_of(kernel))
    if len(regions) < 2:
        return {}
    region_of = {number: at for at, region in enumerate(regions) for number in region}
    place = {number: at for at, number in enumerate(kernel.graph.order)}
    first = {at: min(region, key=place.__getitem__) for at, region in enumerate(regions)}
    forms = find_lane_forms(kernel)
    defined = {slot: number for number, slot in _definitions(kernel)}
    using: dict[int, set[int]] = {}
    for number, slot in _uses(kernel):
        own = defined.get(slot)
        if own is None or forms.get(slot, LaneForm.SAME) is LaneForm.SAME:
            continue
        if region_of[number] != region_of[own]:
            using.setdefault(slot, set()).add(region_of[number])
    kept: dict[int, tuple[int, int]] = {}
    for slot, others in using.items():
        stores, loads = kept.get(defined[slot], (0, 0))
        kept[defined[slot]] = (stores + 1, loads)
        for region in others:
            stores, loads = kept.get(first[region], (0, 0))
            kept[first[region]] = (stores, loads + 1)
    return kept


def _definitions(kernel: PreparedKernel) -> Iterator[tuple[int, int]]:
    """Yield the values that blocks compute or choose, each behind its block."""
    for number in kernel.graph.order:
        check_cpu_limit()
        block = kernel.function.blocks[number]
        for phi in block.phis:
            yield number, phi.result
        for item in block.instructions:
            if result_of(item) >= 0:
                yield number, result_of(item)


def _uses(kernel: PreparedKernel) -> Iterator[tuple[int, int]]:
    """Yield the values that blocks use, each behind its block: a chosen one in the block before."""
    for number in kernel.graph.order:
        check_cpu_limit()
        block = kernel.function.blocks[number]
        for phi in block.phis:
            yield from phi.incoming
        for item in (*block.instructions, block.terminator):
            for slot in operands_of(item):
                yield number, slot
