"""What warps of a launch wait for: steps of blocks, trips of loops, and rounds of reads."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.group_sampling import GroupExecution, Task
from cltrace.kernels.counts.records import ConcurrentLoads
from cltrace.kernels.flow.loops import Graph, Loop
from cltrace.kernels.fold import ReadsAhead


class Waits:
    """Waits of a launch. `steps` are the executions of each block by warps or vectors."""

    def __init__(self, task: Task, run: GroupExecution, steps: NDArray[np.float64]) -> None:
        self._task = task
        self._run = run
        self._steps = steps
        self._blocks = task.analysis.fold(task.machine).blocks

    @cached_property
    def by_block(self) -> NDArray[np.float64]:
        """Steps of each block as a warp waits for them, over the launch.

        Where the warps of a GPU's group wait for each other, each waits as long as the one that runs a
        block most often: in a sum over local memory the first warp works in every step, others in the
        first ones only.
        """
        if self._task.machine.has_item_loops or not self._has_barriers:
            return self._steps
        grid = self._run.grid
        longest = np.maximum.reduceat(self._run.observer.warp_runs, grid.first_warp, axis=1)
        warps = np.diff(grid.first_warp, append=grid.warps)
        steps: NDArray[np.float64] = (longest * warps).mean(axis=1) * self._task.ndrange.groups
        return steps

    @property
    def _has_barriers(self) -> bool:
        return any(
            operation.cost is CostClass.BARRIER
            for block in self._blocks.values()
            for operation in block.operations
        )

    @cached_property
    def trips(self) -> Mapping[int, float]:
        """The mean number of trips per entry of a work-item, by the number of an executed loop."""
        graph, observer = self._task.sliced_kernel.graph, self._run.observer
        lanes = observer.block_lanes()
        trips: dict[int, float] = {}
        for number, loop in enumerate(graph.loops):
            entries = float(observer.entries(loop.header).sum())
            if entries and lanes[loop.header].any():
                trips[number] = float(lanes[_trip_blocks(graph, loop)].sum()) / entries
        return trips

    def rounds(self, positions: Mapping[int, int]) -> tuple[ConcurrentLoads, ...]:
        """Return the loads in flight together. `positions` has the position of each site, by number."""
        waits_by_sites: dict[tuple[int, ...], float] = {}
        for number, block in self._blocks.items():
            per_step = self._single_trips(block.ahead)
            for numbers, count in block.chain.rounds.items():
                sites = tuple(sorted(positions[site] for site in numbers if site in positions))
                steps = self._steps_of(number, numbers)
                if sites and per_step * steps:
                    waits = waits_by_sites.get(sites, 0.0) + count * per_step * steps
                    waits_by_sites[sites] = waits
        return tuple(ConcurrentLoads(sites, waits) for sites, waits in waits_by_sites.items())

    def _steps_of(self, block: int, sites: Iterable[int]) -> float:
        """Return in how many steps of a block warps wait for sites.

        Code without a branch around it runs in every step. A read of which no lane of a warp is active is
        not waited for.
        """
        all_sites = self._task.sliced_kernel.sites
        reading = max((float(self.by_block[all_sites[site].block]) for site in sites), default=0.0)
        return min(float(self.by_block[block]), reading)

    def _single_trips(self, ahead: ReadsAhead | None) -> float:
        """Return the factor by which trips that are left over add to the rounds of an unrolled loop."""
        trips = self.trips.get(ahead.loop, 0.0) if ahead is not None else 0.0
        return ahead.rounds(trips) * ahead.trips / trips if ahead is not None and trips else 1.0


def _trip_blocks(graph: Graph, loop: Loop) -> list[int]:
    """Return blocks that run once per trip of a loop: the first ones of its body.

    A loop that is tested at its end begins with its header. The header of one that is tested at the top
    runs once more, to leave the loop.
    """
    targets = graph.successors[loop.header]
    body = [target for target in targets if target in loop.blocks]
    is_test = len(body) < len(targets) and loop.header not in body
    has_other_ways = any(graph.predecessors[block] != (loop.header,) for block in body)
    return [loop.header] if not is_test or has_other_ways else body
