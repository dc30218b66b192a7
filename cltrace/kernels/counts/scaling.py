"""Counters of a sample made into counts of the launch."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.observer import SiteColumn
from cltrace.kernels.counts.records import (
    BranchSite,
    Estimate,
    FoldedCount,
    LineCount,
    LoopCount,
    OperationCount,
    PrivateArray,
    Round,
)
from cltrace.kernels.counts.sampling import Run, Task, mean_error
from cltrace.kernels.execute.sites import private_bytes
from cltrace.kernels.fold import Operation
from cltrace.kernels.ir.instructions import Binary, Call, Instruction
from cltrace.kernels.ir.source_places import NOWHERE, Place
from cltrace.kernels.ir.types import VectorType

_Key = tuple[str, CostClass]


@dataclass(frozen=True)
class Scaled:
    """A sample, and what it says of the launch: means of groups times their number."""

    task: Task
    run: Run

    @property
    def groups(self) -> int:
        """How many groups the launch has."""
        return self.task.space.groups

    def estimate(self, values: NDArray[np.float64]) -> Estimate:
        """The launch's total of something counted by group."""
        mean, error = mean_error(values, self.groups)
        total = mean * self.groups
        return Estimate(total, abs(total) * error, total, total)

    def total(self, values: NDArray[np.float64]) -> float:
        """The same, without its error."""
        return float(values.mean()) * self.groups if len(values) else 0.0

    def operations(self) -> tuple[OperationCount, ...]:
        """All operations, those done most often first."""
        lanes = self.run.recorder.block_lanes()
        warps = self.run.recorder.block_warps()
        by_key: dict[_Key, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        for number, counts in self.task.analysis.block_operations.items():
            for key, many in counts.items():
                known = by_key.get(key)
                if known is None:
                    by_key[key] = (lanes[number] * many, warps[number] * many)
                else:
                    by_key[key] = (known[0] + lanes[number] * many, known[1] + warps[number] * many)
        items = self.task.space.work_items
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
        """Lanes and warps that run each block."""
        recorder = self.run.recorder
        lanes = recorder.block_lanes().mean(axis=1) * self.groups
        return lanes, recorder.block_warps().mean(axis=1) * self.groups

    def folded(self) -> tuple[FoldedCount, ...]:
        """The operations that the device's compiler leaves, those done most often first."""
        lanes, warps = self._block_totals
        found = defaultdict[Operation, list[float]](lambda: [0.0, 0.0, 0.0])
        for number, block in self.task.analysis.folded(self.task.machine).items():
            if not warps[number]:
                continue
            for operation, many in block.operations.items():
                found[operation][0] += many * float(lanes[number])
                found[operation][1] += many * float(warps[number])
            for operation, many in block.chain.operations.items():
                found[operation][2] += many * float(warps[number])
        rows = (
            FoldedCount(operation.type, operation.cost, operation.function, *totals)
            for operation, totals in found.items()
        )
        return tuple(sorted(rows, key=lambda row: (-row.warp_total, row.cost, row.type)))

    def rounds(self, order: Mapping[int, int]) -> tuple[Round, ...]:
        """What warps wait for together. `order` are the positions of sites, by number."""
        _, warps = self._block_totals
        found: dict[tuple[int, ...], float] = {}
        for number, block in self.task.analysis.folded(self.task.machine).items():
            for numbers, many in block.chain.rounds.items():
                sites = tuple(sorted(order[site] for site in numbers if site in order))
                if sites and warps[number]:
                    found[sites] = found.get(sites, 0.0) + many * float(warps[number])
        return tuple(Round(sites, waits) for sites, waits in found.items())

    @cached_property
    def operation_totals(self) -> Mapping[_Key, float]:
        """How often each operation is done."""
        return {(row.type, row.cost): row.total.value for row in self.operations()}

    def operators(self) -> tuple[tuple[str, float], ...]:
        """By LLVM's operator: how often a work-item does it, elements of vectors by themselves."""
        lanes = self.run.recorder.block_lanes().mean(axis=1) * self.groups
        found: dict[str, float] = {}
        for number in self.task.prepared.graph.order:
            for item in self.task.analysis.whole.function.blocks[number].instructions:
                name, many = _operator(item)
                if name:
                    found[name] = found.get(name, 0.0) + many * float(lanes[number])
        return tuple((name, total / self.task.space.work_items) for name, total in found.items())

    def branches(self) -> tuple[BranchSite, ...]:
        """Branches at which lanes of a warp went different ways, or that are assumed."""
        found = []
        recorder, prepared = self.run.recorder, self.task.prepared
        for number in prepared.graph.order:
            taken, split = recorder.branch(number)
            warps = self.total(recorder.block_warps()[number])
            assumed = number in self.task.unknown_blocks
            if not warps or (not split.any() and not assumed):
                continue
            lanes = self.total(recorder.block_lanes()[number])
            found.append(
                BranchSite(
                    place=prepared.blocks[number].terminator.place,
                    warps=warps,
                    divergent_warps=self.total(split),
                    active_lanes=lanes / (warps * self.task.machine.warp_width),
                    taken=self.total(taken) / lanes,
                    is_assumed=assumed,
                )
            )
        return tuple(found)

    def loops(self) -> tuple[LoopCount, ...]:
        """The loops, those around before those within."""
        found = []
        graph, watch = self.task.prepared.graph, self.run.extrapolation
        for number, loop in enumerate(graph.loops):
            entries = float(self.run.recorder.entries(loop.header).sum())
            lanes = float(self.run.recorder.block_lanes()[loop.header].sum())
            if not entries or not lanes:
                continue
            leaving = {
                block
                for block in loop.blocks
                if any(target not in loop.blocks for target in graph.successors[block])
            }
            found.append(
                LoopCount(
                    place=_loop_place(self.task, loop.header, loop.blocks),
                    depth=graph.depth(number),
                    entries=entries * self.groups / self.run.grid.groups,
                    trips=lanes / entries,
                    extrapolated=min(watch.skipped.get(loop.header, 0.0) / lanes, 1.0),
                    is_exact=loop.header not in self.task.analysis.inexact
                    and loop.header not in watch.coarse,
                    is_assumed=not leaving.isdisjoint(self.task.unknown_blocks),
                )
            )
        return tuple(found)

    def private(self) -> tuple[PrivateArray, ...]:
        """Private variables that stay in memory."""
        return tuple(
            PrivateArray(item.place, private_bytes(item))
            for item in self.task.analysis.whole.private
        )

    def lines(self) -> tuple[LineCount, ...]:
        """What each line of the source does."""
        table: dict[tuple[str, int], NDArray[np.float64]] = {}
        recorder, prepared = self.run.recorder, self.task.prepared
        lanes = recorder.block_lanes().mean(axis=1) * self.groups
        warps = recorder.block_warps().mean(axis=1) * self.groups

        def add(place: Place, column: int, value: float) -> None:
            if place is not NOWHERE and place.line:
                row = table.setdefault((place.file, place.line), np.zeros(7))
                row[column] += value

        for number in prepared.graph.order:
            block = prepared.blocks[number]
            for place, many in self.task.analysis.place_operations[number]:
                add(place, 0, many * float(lanes[number]))
                add(place, 1, many * float(warps[number]))
            split = self.total(recorder.branch(number)[1])
            if split:
                add(block.terminator.place, 5, split)
                add(block.terminator.place, 6, float(warps[number]))
        for site in prepared.sites:
            counted = recorder.site(site.number)
            for column, which in (
                (2, SiteColumn.ACCESSES), (3, SiteColumn.REQUESTS), (4, SiteColumn.SECTORS),
            ):  # fmt: skip
                add(site.place, column, self.total(counted[which]))
        return tuple(
            LineCount(file, line, *map(float, row)) for (file, line), row in sorted(table.items())
        )

    def active_lanes(self) -> float:
        """The mean share of a warp's lanes that are active when it does something."""
        sizes = np.zeros(len(self.task.prepared.function.blocks))
        for number, counts in self.task.analysis.block_operations.items():
            sizes[number] = sum(counts.values())
        lanes = float((self.run.recorder.block_lanes().sum(axis=1) * sizes).sum())
        warps = float((self.run.recorder.block_warps().sum(axis=1) * sizes).sum())
        return lanes / (warps * self.task.machine.warp_width) if warps else 1.0


def _operator(item: Instruction) -> tuple[str, int]:
    """An operator's name, and of how many numbers it is; multiply-adds are calls."""
    if isinstance(item, Binary):
        return item.operator, item.type.count if isinstance(item.type, VectorType) else 1
    if isinstance(item, Call) and item.callee.startswith("llvm.fmuladd"):
        return "fmuladd", item.type.count if isinstance(item.type, VectorType) else 1
    return "", 0


def _loop_place(task: Task, header: int, blocks: Iterable[int]) -> Place:
    """Where a loop is in the source: the first line that its branches have."""
    places = [
        task.prepared.blocks[block].terminator.place
        for block in (header, *blocks)
        if task.prepared.blocks[block].terminator.place.line
    ]
    return min(places, key=lambda place: (place.file, place.line), default=NOWHERE)
