"""Blocks of a CPU's vectors in which only some lanes take part: stores there have masks."""

from collections.abc import Mapping

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.item_addresses import LaneForm
from cltrace.kernels.fold.item_loops import regions_of
from cltrace.kernels.ir.instructions import Branch, Switch
from cltrace.kernels.ir.uses import operands_of


def find_masked_blocks(
    kernel: PreparedKernel, lane_blocks: frozenset[int], forms: Mapping[int, LaneForm]
) -> frozenset[int]:
    """Return the blocks that some lanes leave out: at a branch on which lanes may differ.

    Conditional loads and computations are done for all lanes. `forms` are those of values.
    """
    return frozenset(
        number
        for region in regions_of(kernel)
        if region <= lane_blocks
        for number in region
        if _Region(kernel, region, forms).is_left_out(number)
    )


class _Region:
    """A region between barriers, which vectors run from its entries to its ends."""

    def __init__(
        self, kernel: PreparedKernel, region: frozenset[int], forms: Mapping[int, LaneForm]
    ) -> None:
        self._kernel = kernel
        self._region = region
        self._forms = forms

    def is_left_out(self, block: int) -> bool:
        """Return True if lanes may come through the region without a block that others pass."""
        avoiding: set[int] = set()
        size = -1
        while size != len(avoiding):
            size = len(avoiding)
            avoiding |= {
                number
                for number in self._region - avoiding - {block}
                if self._avoids(number, avoiding)
            }
        return any(number in avoiding for number in self._region if self._is_entry(number))

    def _avoids(self, number: int, avoiding: set[int]) -> bool:
        """Return True if lanes may come from a block to an end without what `avoiding` is found for.

        Where all lanes go the same way, each of these ways has to.
        """
        following = self._kernel.graph.successors[number]
        ways = [target in avoiding or self._is_end(target) for target in following]
        return any(ways) if self._splits(number) else all(ways)

    def _splits(self, number: int) -> bool:
        end = self._kernel.function.blocks[number].terminator
        if not isinstance(end, Branch | Switch):
            return False
        return any(self._forms.get(slot, LaneForm.SAME) for slot in operands_of(end))

    def _is_entry(self, number: int) -> bool:
        return (
            self._kernel.blocks[number].is_synchronising
            or number == self._kernel.graph.order[0]
            or self._region.isdisjoint(self._kernel.graph.predecessors[number])
        )

    def _is_end(self, target: int) -> bool:
        """Return True for a block behind the region: of another one, or behind a barrier."""
        return target not in self._region or self._kernel.blocks[target].is_synchronising
