"""Scaling of the counters of a sample to counts of the launch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.access_batch import SiteColumn
from cltrace.kernels.counts.group_sampling import (
    GroupExecution,
    Task,
    mean_and_error,
    means_and_errors,
)
from cltrace.kernels.counts.item_steps import ItemSteps
from cltrace.kernels.counts.records import (
    BranchSite,
    Estimate,
    FoldedCount,
    LineCount,
    OperationCount,
    PrivateArray,
)
from cltrace.kernels.counts.waits import Waits
from cltrace.kernels.execute.sites import private_bytes
from cltrace.kernels.fold import FoldedKernel, Operation
from cltrace.kernels.ir.instructions import Binary, Call, Instruction
from cltrace.kernels.ir.source_places import Place
from cltrace.kernels.ir.types import VectorType

_Key = tuple[str, CostClass]
_ENTERING: Final = Operation("bool", CostClass.BRANCH)
"""An instruction that decides at the entry of a loop which of its bodies runs."""
_SITE_COLUMNS: Final = {
    "accesses": SiteColumn.ACCESSES,
    "requests": SiteColumn.REQUESTS,
    "sectors": SiteColumn.SECTORS,
}
_LINE_COLUMNS: Final = (
    "operations",
    "warp_operations",
    *_SITE_COLUMNS,
    "divergent_warps",
    "branch_warps",
)
"""The counts of a `LineCount`."""


@dataclass(frozen=True)
class ScaledSample:
    """A sample, scaled to the launch: means over groups times the number of groups."""

    task: Task
    run: GroupExecution

    @cached_property
    def groups(self) -> int:
        """The number of groups of the launch."""
        return self.task.ndrange.groups

    @property
    def folded_kernel(self) -> FoldedKernel:
        """The kernel as the compiler of the device leaves it."""
        return self.task.analysis.fold(self.task.machine)

    def estimate(self, values: NDArray[np.float64]) -> Estimate:
        """Estimate the total over the launch of a quantity counted per group."""
        mean, error = mean_and_error(values, self.groups)
        return self._scale(mean, error)

    def _scale(self, mean: float, error: float) -> Estimate:
        """Return the total over the launch of a quantity from its mean and its relative error."""
        total = mean * self.groups
        return Estimate(total, abs(total) * error, total, total)

    @cached_property
    def _site_means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The means over groups of each site's columns, and their errors: shape (sites, columns)."""
        return means_and_errors(self.run.observer.site_columns(), self.groups)

    def site_estimates(self, site: int) -> Mapping[SiteColumn, Estimate]:
        """Estimate the totals over the launch of a site's columns."""
        means, errors = (values[site].tolist() for values in self._site_means)
        return {column: self._scale(means[column], errors[column]) for column in SiteColumn}

    def site_totals(self, site: int) -> Sequence[float]:
        """Return the same totals without their errors, by column."""
        return [mean * self.groups for mean in self._site_means[0][site].tolist()]

    def total(self, values: NDArray[np.float64]) -> float:
        """Return the same total without its error."""
        return float(values.mean()) * self.groups if len(values) else 0.0

    def operations(self) -> tuple[OperationCount, ...]:
        """Count all operations, the most frequent first."""
        lanes = self.run.observer.block_lanes()
        warps = self.run.observer.block_warps()
        by_key: dict[_Key, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        for number, counts in self.task.analysis.block_operations.items():
            for key, count in counts.items():
                sums = by_key.get(key)
                if sums is None:
                    by_key[key] = (lanes[number] * count, warps[number] * count)
                else:
                    by_key[key] = (sums[0] + lanes[number] * count, sums[1] + warps[number] * count)
        items = self.task.ndrange.work_items
        rows = []
        for (kind, cost), (by_lane, by_warp) in by_key.items():
            total = self.estimate(by_lane)
            if total.value:
                rows.append(
                    OperationCount(kind, cost, total.value / items, total, self.total(by_warp))
                )
        return tuple(sorted(rows, key=lambda row: (-row.total.value, row.cost, row.type)))

    @cached_property
    def _block_totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lanes and warps that run each block, over the launch."""
        observer = self.run.observer
        lanes = observer.block_lanes().mean(axis=1) * self.groups
        return lanes, observer.block_warps().mean(axis=1) * self.groups

    @cached_property
    def item_steps(self) -> ItemSteps:
        """Steps of the launch by block: of warps, vectors or single work-items."""
        return ItemSteps(self.task, *self._block_totals)

    @cached_property
    def waits(self) -> Waits:
        """What warps of the launch wait for."""
        return Waits(self.task, self.run, self.item_steps.by_block)

    def folded(self) -> tuple[FoldedCount, ...]:
        """Count the operations that the device's compiler leaves, the most frequent first."""
        lanes, _ = self._block_totals
        steps, waiting = self.item_steps.by_block, self.waits.by_block
        by_operation = defaultdict[Operation, list[float]](lambda: [0.0, 0.0, 0.0])
        for number, block in self.folded_kernel.blocks.items():
            if not steps[number]:
                continue
            for operation, count in block.operations.items():
                done = self.item_steps.executions(number, operation)
                by_operation[operation][0] += count * float(lanes[number])
                by_operation[operation][1] += count * done
            for operation, count in block.chain.operations.items():
                by_operation[operation][2] += count * float(waiting[number])
        for number, instructions in self.folded_kernel.entries.items():
            for position, times in enumerate(self._loop_entries(number)):
                by_operation[_ENTERING][position] += instructions * times
        rows = (
            FoldedCount(operation.type, operation.cost, operation.function, *totals)
            for operation, totals in by_operation.items()
        )
        return tuple(sorted(rows, key=lambda row: (-row.warp_total, row.cost, row.type)))

    def _loop_entries(self, number: int) -> tuple[float, float]:
        """Return the numbers of entries of lanes and of warps into a loop."""
        graph, steps = self.task.sliced_kernel.graph, self.item_steps.by_block
        loop, lanes = graph.loops[number], self._block_totals[0]
        by_lane = float(self.run.observer.entries(loop.header).mean()) * self.groups
        share = by_lane / max(float(lanes[loop.header]), 1.0)
        at_most = sum(float(steps[block]) for block in graph.entering(loop))
        return by_lane, min(float(steps[loop.header]) * share, at_most)

    @cached_property
    def operation_totals(self) -> Mapping[_Key, float]:
        """The number of executions of each operation."""
        return {(row.type, row.cost): row.total.value for row in self.operations()}

    def operators(self) -> tuple[tuple[str, float], ...]:
        """Return the mean executions per work-item of each LLVM operator, per vector element."""
        lanes, _ = self._block_totals
        by_name: dict[str, float] = {}
        for number in self.task.sliced_kernel.graph.order:
            for item in self.task.analysis.full_kernel.function.blocks[number].instructions:
                name, count = _operator(item)
                if name:
                    by_name[name] = by_name.get(name, 0.0) + count * float(lanes[number])
        return tuple(
            (name, total / self.task.ndrange.work_items) for name, total in by_name.items()
        )

    def branches(self) -> tuple[BranchSite, ...]:
        """Return the branches that are divergent or assumed."""
        sites = []
        observer, sliced_kernel = self.run.observer, self.task.sliced_kernel
        for number in sliced_kernel.graph.order:
            taken, split = observer.branch(number)
            warps = self.total(observer.block_warps()[number])
            assumed = number in self.task.assumed.blocks
            if not warps or (not split.any() and not assumed):
                continue
            lanes = self.total(observer.block_lanes()[number])
            sites.append(
                BranchSite(
                    place=sliced_kernel.blocks[number].terminator.place,
                    warps=warps,
                    divergent_warps=self.total(split),
                    active_lanes=lanes / (warps * self.task.machine.warp_width),
                    taken=self.total(taken) / lanes,
                    is_assumed=assumed,
                    lane_share=self.item_steps.lane_share(number),
                )
            )
        return tuple(sites)

    def private(self) -> tuple[PrivateArray, ...]:
        """Return the private variables that stay in memory."""
        return tuple(
            PrivateArray(item.place, private_bytes(item))
            for item in self.task.analysis.full_kernel.private
        )

    def lines(self) -> tuple[LineCount, ...]:
        """Count the work of each source line."""
        table: dict[tuple[str, int], dict[str, float]] = {}
        observer, sliced_kernel = self.run.observer, self.task.sliced_kernel
        lanes, warps = self._block_totals

        def add(place: Place, column: str, value: float) -> None:
            if place.line and (not place.is_merged or place.column):
                row = table.setdefault((place.file, place.line), dict.fromkeys(_LINE_COLUMNS, 0.0))
                row[column] += value

        for number in sliced_kernel.graph.order:
            block = sliced_kernel.blocks[number]
            for place, count in self.task.analysis.place_operations[number]:
                add(place, "operations", count * float(lanes[number]))
                add(place, "warp_operations", count * float(warps[number]))
            split = self.total(observer.branch(number)[1])
            if split:
                add(block.terminator.place, "divergent_warps", split)
                add(block.terminator.place, "branch_warps", float(warps[number]))
        for site in sliced_kernel.sites:
            totals = self.site_totals(site.number)
            for column, site_column in _SITE_COLUMNS.items():
                add(site.place, column, totals[site_column])
        return tuple(
            LineCount(file=file, line=line, **row) for (file, line), row in sorted(table.items())
        )

    def active_lanes(self) -> float:
        """Return the mean share of a warp's lanes that are active in an operation."""
        sizes = np.zeros(len(self.task.sliced_kernel.function.blocks))
        for number, counts in self.task.analysis.block_operations.items():
            sizes[number] = sum(counts.values())
        lanes = float((self.run.observer.block_lanes().sum(axis=1) * sizes).sum())
        warps = float((self.run.observer.block_warps().sum(axis=1) * sizes).sum())
        return lanes / (warps * self.task.machine.warp_width) if warps else 1.0


def _operator(item: Instruction) -> tuple[str, int]:
    """Return the name of an LLVM operator and its number of elements; a multiply-add is a call."""
    if isinstance(item, Binary):
        return item.operator, item.type.count if isinstance(item.type, VectorType) else 1
    if isinstance(item, Call) and item.callee.startswith("llvm.fmuladd"):
        return "fmuladd", item.type.count if isinstance(item.type, VectorType) else 1
    return "", 0
