"""Steps of a launch: executions of blocks by warps; on a CPU, by vectors or single work-items."""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import OF_LONG
from cltrace.kernels.counts.group_sampling import Task
from cltrace.kernels.fold import Operation
from cltrace.kernels.fold.item_addresses import LaneForm, find_lane_forms
from cltrace.kernels.fold.item_loops import find_lane_blocks
from cltrace.kernels.fold.masked_blocks import find_masked_blocks
from cltrace.kernels.machine import ItemLoops

_UNVECTORISED: Final = frozenset(
    Operation(kind, CostClass.INT_DIVIDE, function)
    for kind in ("char", "short", "int", "long")
    for function in ("", "remainder")
) | frozenset(Operation(kind, CostClass.CONVERT, OF_LONG) for kind in ("float", "double", "long"))
"""Operations for which processors have no vector instruction."""


class ItemSteps:
    """Steps of a launch by block. `lanes` and `warps` run each block, over the launch."""

    def __init__(self, task: Task, lanes: NDArray[np.float64], warps: NDArray[np.float64]) -> None:
        self._task = task
        self._lanes = lanes
        self._warps = warps

    @property
    def total(self) -> float:
        """Steps through the whole kernel."""
        return float(self.by_block[self._task.analysis.full_kernel.graph.order[0]])

    @property
    def item_share(self) -> float:
        """Share of the executed instructions that are those of single work-items."""
        kernel = self._task.analysis.full_kernel
        executed = of_items = 0.0
        for number in kernel.graph.order:
            instructions = len(kernel.function.blocks[number].instructions) + 1
            executed += instructions * self.by_block[number]
            of_items += instructions * (1.0 - self.lane_share(number)) * self._lanes[number]
        return float(of_items / executed) if executed else 0.0

    @cached_property
    def by_block(self) -> NDArray[np.float64]:
        """Executions of each block: by warps or vectors, or by work-items one after another."""
        steps = self._lanes.copy()
        blocks = list(self._lane_blocks)
        share = self._vector_share
        steps[blocks] = share * self._warps[blocks] + (1.0 - share) * self._lanes[blocks]
        return steps

    def executions(self, block: int, operation: Operation) -> float:
        """Return how often an operation of a block is executed, each time that the block is once."""
        splits_vectors = self._task.machine.item_loops is ItemLoops.LOOPS
        by_item = splits_vectors and operation in _UNVECTORISED
        return float(self._lanes[block] if by_item else self.by_block[block])

    def lane_share(self, block: int) -> float:
        """Return the share of a block's work-items that run as lanes of warps or vectors."""
        return self._vector_share if block in self._lane_blocks else 0.0

    def is_masked(self, block: int) -> bool:
        """Return True for a block in which only some lanes of a CPU's vectors take part."""
        return block in self._masked_blocks

    def is_gathered(self, pointer: int) -> bool:
        """Return True for addresses that a CPU's compiler does not know to be at equal distances."""
        return self._lane_forms.get(pointer, LaneForm.SAME) is LaneForm.OTHER

    @cached_property
    def _lane_forms(self) -> Mapping[int, LaneForm]:
        if self._task.machine.item_loops is not ItemLoops.LOOPS:
            return {}
        return find_lane_forms(self._task.analysis.full_kernel)

    @cached_property
    def _masked_blocks(self) -> frozenset[int]:
        if self._task.machine.item_loops is not ItemLoops.LOOPS:
            return frozenset()
        kernel = self._task.analysis.full_kernel
        return find_masked_blocks(kernel, self._lane_blocks, self._lane_forms)

    @cached_property
    def _lane_blocks(self) -> frozenset[int]:
        return find_lane_blocks(self._task.analysis.full_kernel, self._task.machine)

    @property
    def _vector_share(self) -> float:
        """Share of work-items in whole vectors: those left over in a row run one after another."""
        machine = self._task.machine
        if not machine.has_item_loops:
            return 1.0
        row = self._task.ndrange.local_size[0]
        return row // machine.warp_width * machine.warp_width / row
