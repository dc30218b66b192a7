"""Scheduler of blocks.

Sets of lanes wait at blocks, each with its own frame. The first block in the graph's order runs for
all lanes that wait there, so lanes reconverge after a branch. A frame belongs to one set of lanes. It
is passed on if all lanes go the same way, and split if they diverge.
"""

from typing import Final, Protocol

import numpy as np

from cltrace.errors import KernelExecutionError
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import ExecutionState, Frame
from cltrace.kernels.ir.instructions import (
    Branch,
    FallThrough,
    Jump,
    Return,
    Switch,
    Terminator,
    Unreachable,
)
from cltrace.kernels.limits import check_cpu_limit
from cltrace.kernels.values import Array, Value, broadcast, merge_lanes, select_lanes

_MAX_SPINS: Final = 2_000
"""Rounds of a loop that no lane leaves, after which lanes that wait behind the loop run."""
_MAX_LATER_SPINS: Final = 30
"""The same, after a kernel has waited in a loop."""
_STEPS_PER_CHECK: Final = 64
"""Instructions between checks of the limit on CPU time."""
_INSTRUCTION_OVERHEAD: Final = 1_000
"""Fixed cost of running an instruction, in lanes."""


def cost_in_lanes(lanes: float) -> float:
    """Return the cost of running an instruction for some lanes, as a number of lanes."""
    return lanes + _INSTRUCTION_OVERHEAD


class LoopHook(Protocol):
    """A callback for loop headers, which may advance lanes by several trips."""

    def at_header(self, block: int, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Handle lanes about to run a header. `entered` is True if they come from outside the loop."""


class Runner:
    """One execution of a prepared kernel, from its first block to its last return.

    `max_steps` limits the instructions, summed over lanes.
    """

    def __init__(
        self,
        prepared: PreparedKernel,
        state: ExecutionState,
        max_steps: int,
        hook: LoopHook | None = None,
    ) -> None:
        self._prepared = prepared
        self._state = state
        self._hook = hook
        self._rank = {block: rank for rank, block in enumerate(prepared.graph.order)}
        self._waiting: dict[int, list[tuple[Lanes, Frame, bool]]] = {}
        """Waiting sets by the rank of their block; True for a set that came along a back edge."""
        self._live_lanes = state.grid.lanes_of_group.copy()
        self._last_rank = -1
        self._spins = 0
        self._max_spins = _MAX_SPINS
        self.max_steps = max_steps
        self.steps = 0
        self.lane_steps = 0

    def run(self, frame: Frame) -> None:
        """Run all lanes. `frame` holds the arguments.

        Raises: `KernelExecutionError` when the execution exceeds `max_steps`.
        """
        lanes = self._state.grid.all
        if lanes.count:
            self._waiting[0] = [(lanes, frame, False)]
        with np.errstate(all="ignore"):
            while self._waiting:
                rank = self._next_rank()
                sets = self._waiting.pop(rank)
                self._run_block(self._prepared.graph.order[rank], sets)

    def _next_rank(self) -> int:
        rank = min(self._waiting)
        if rank > self._last_rank or len(self._waiting) == 1:
            if rank > self._last_rank + 1 or len(self._waiting) == 1:
                self._spins = 0
        else:
            self._spins += self._prepared.graph.order[rank] in self._prepared.spin_blocks
        self._last_rank = rank
        if self._spins > self._max_spins:
            later = [
                other
                for other in sorted(self._waiting)[1:]
                if not self._prepared.blocks[self._prepared.graph.order[other]].is_synchronising
            ]
            if later:
                self._state.notes.add("a loop waits for other work-items")
                self._spins = 0
                self._max_spins = _MAX_LATER_SPINS
                return later[0]
        return rank

    def _run_block(self, number: int, sets: list[tuple[Lanes, Frame, bool]]) -> None:
        block = self._prepared.blocks[number]
        lanes, frame = self._merge_sets(block.live_in, sets)
        if block.is_synchronising:
            self._check_barrier(number, lanes)
        if self._hook is not None:
            entered = any(not back for _, _, back in sets)
            self._hook.at_header(number, frame, lanes, entered=entered)
        state = self._state
        self.lane_steps += lanes.count * (len(block.steps) + 1)
        self.steps += int(cost_in_lanes(lanes.count)) * (len(block.steps) + 1)
        if self.steps > self.max_steps:
            place = block.terminator.place
            raise KernelExecutionError(
                f"{place}: executing the kernel takes more than {self.max_steps:,} instructions"
            )
        state.observer.on_block(number, lanes)
        for begin in range(0, len(block.steps), _STEPS_PER_CHECK):
            check_cpu_limit()
            for step in block.steps[begin : begin + _STEPS_PER_CHECK]:
                step(frame, lanes, state)
        self._end_block(number, block.terminator, frame, lanes)

    def _merge_sets(
        self, live_in: tuple[int, ...], sets: list[tuple[Lanes, Frame, bool]]
    ) -> tuple[Lanes, Frame]:
        """Merge the sets of lanes that wait at a block, and their frames."""
        if len(sets) == 1:
            return sets[0][0], sets[0][1]
        index = np.concatenate([lanes.index for lanes, _, _ in sets])
        order: Array | None = None
        if (np.diff(index) < 0).any():
            order = np.argsort(index, kind="stable")
            index = index[order]
        counts = [lanes.count for lanes, _, _ in sets]
        frame = list(self._prepared.initial_frame)
        for slot in live_in:
            frame[slot] = merge_lanes(
                [other_frame[slot] for _, other_frame, _ in sets], counts, order
            )
        grid = self._state.grid
        return (grid.all if len(index) == grid.count else Lanes(grid, index)), frame

    def _check_barrier(self, number: int, lanes: Lanes) -> None:
        """Note a barrier that some live lanes of a group have not reached."""
        arrived = lanes.per_group
        if ((arrived != self._live_lanes) & (arrived > 0)).any():
            place = self._prepared.function.blocks[number].instructions[0].place
            self._state.notes.add(f"{place}: not all work-items of a work-group reach the barrier")

    def _end_block(self, number: int, terminator: Terminator, frame: Frame, lanes: Lanes) -> None:
        match terminator:
            case Jump(target) | FallThrough(target):
                self._continue(number, target, frame, lanes)
            case Branch(condition, then, otherwise):
                self._branch(number, frame[condition], (then, otherwise), frame, lanes)
            case Switch():
                self._switch(number, terminator, frame, lanes)
            case Return():
                self._live_lanes = self._live_lanes - lanes.per_group
            case Unreachable():
                self._live_lanes = self._live_lanes - lanes.per_group

    def _branch(
        self, number: int, condition: Value, targets: tuple[int, int], frame: Frame, lanes: Lanes
    ) -> None:
        state = self._state
        if number in state.redirected_blocks and state.redirection is not None:
            condition = state.redirection.redirect_branch(number, frame, lanes)
        if type(condition) is not np.ndarray:
            self._continue(number, targets[0] if condition else targets[1], frame, lanes)
            return
        taken_count = int(np.count_nonzero(condition))
        if 0 < taken_count < lanes.count:
            state.observer.on_branch(number, condition, lanes)
            self._split_off(number, targets[0], condition, frame, lanes)
            self._split_off(number, targets[1], ~condition, frame, lanes)
            return
        self._continue(number, targets[0] if taken_count else targets[1], frame, lanes)

    def _switch(self, number: int, terminator: Switch, frame: Frame, lanes: Lanes) -> None:
        state = self._state
        value = broadcast(frame[terminator.value], lanes.count)
        targets = [terminator.default, *(target for _, target in terminator.cases)]
        case_numbers = np.zeros(lanes.count, np.int64)
        for case_number, (case, _) in enumerate(terminator.cases, 1):
            case_numbers[value == case] = case_number
        if number in state.redirected_blocks and state.redirection is not None:
            redirected = state.redirection.redirect_branch(number, frame, lanes)
            case_numbers = broadcast(redirected, lanes.count)
        by_target = np.asarray(targets)[case_numbers]
        distinct_targets = np.unique(by_target)
        if len(distinct_targets) == 1:
            self._continue(number, int(distinct_targets[0]), frame, lanes)
            return
        state.observer.on_branch(number, by_target, lanes)
        for target in distinct_targets:
            self._split_off(number, int(target), by_target == target, frame, lanes)

    def _continue(self, number: int, target: int, frame: Frame, lanes: Lanes) -> None:
        """Send all lanes to a block, with their frame."""
        moves = self._prepared.blocks[number].edges[target]
        if moves:
            values = [frame[source] for _, source in moves]
            for (slot, _), value in zip(moves, values, strict=True):
                frame[slot] = value
        self._enqueue(number, target, lanes, frame)

    def _split_off(self, number: int, target: int, mask: Array, frame: Frame, lanes: Lanes) -> None:
        """Send some lanes to a block, with a frame of their own."""
        subset = lanes.where(mask)
        new_frame = list(self._prepared.initial_frame)
        moves = self._prepared.blocks[number].edges[target]
        moved = {slot for slot, _ in moves}
        for slot in self._prepared.blocks[target].live_in:
            if slot not in moved:
                new_frame[slot] = select_lanes(frame[slot], mask)
        for slot, source in moves:
            new_frame[slot] = select_lanes(frame[source], mask)
        self._enqueue(number, target, subset, new_frame)

    def _enqueue(self, number: int, target: int, lanes: Lanes, frame: Frame) -> None:
        rank = self._rank[target]
        back = rank <= self._rank[number]
        self._waiting.setdefault(rank, []).append((lanes, frame, back))
