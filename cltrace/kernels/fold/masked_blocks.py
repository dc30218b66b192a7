"""Blocks of a CPU's vectors in which only some lanes take part: stores there have masks."""

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, or_

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.item_addresses import LaneForm
from cltrace.kernels.fold.item_loops import regions_of
from cltrace.kernels.ir.instructions import Branch, Store, Switch
from cltrace.kernels.ir.uses import operands_of
from cltrace.kernels.limits import check_cpu_limit


def find_masked_blocks(
    kernel: PreparedKernel, lane_blocks: frozenset[int], forms: Mapping[int, LaneForm]
) -> frozenset[int]:
    """Return the blocks with stores that some lanes leave out: at a branch on which lanes may differ.

    Conditional loads and computations are done for all lanes. `forms` are those of values.
    """
    return frozenset(
        number
        for region in regions_of(kernel)
        if region <= lane_blocks
        for number in _Region(kernel, region, forms).left_out()
    )


class _Region:
    """A region between barriers, which vectors run from its entries to its ends."""

    def __init__(
        self, kernel: PreparedKernel, region: frozenset[int], forms: Mapping[int, LaneForm]
    ) -> None:
        self._kernel = kernel
        self._region = region
        self._forms = forms

    def left_out(self) -> Iterator[int]:
        """Yield the blocks with stores that lanes may come through the region without."""
        stores = [number for number in self._region if self._stores(number)]
        splits = {number for number in self._region if self._splits(number)}
        if not stores or not splits:
            return
        passed = self._passed(stores, splits)
        for bit, number in enumerate(stores):
            if any(not passed[entry] >> bit & 1 for entry in filter(self._is_entry, self._region)):
                yield number

    def _passed(self, stores: Sequence[int], splits: Container[int]) -> Mapping[int, int]:
        """Return the stores that all lanes pass from a block to an end, a bit for each, by block.

        Where all lanes go the same way, they pass those of one way or the other.
        """
        own = {number: 1 << bit for bit, number in enumerate(stores)}
        backwards = [each for each in reversed(self._kernel.graph.order) if each in self._region]
        passed = dict.fromkeys(backwards, (1 << len(stores)) - 1)
        changed = True
        while changed:
            check_cpu_limit()
            changed = False
            for number in backwards:
                ways = [
                    0 if self._is_end(target) else passed[target]
                    for target in self._kernel.graph.successors[number]
                ]
                join = and_ if number in splits else or_
                found = own.get(number, 0) | (reduce(join, ways) if ways else 0)
                changed |= found != passed[number]
                passed[number] = found
        return passed

    def _stores(self, number: int) -> bool:
        items = self._kernel.function.blocks[number].instructions
        return any(isinstance(item, Store) for item in items)

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
