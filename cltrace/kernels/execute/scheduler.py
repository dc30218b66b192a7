"""The order in which lanes run blocks.

Sets of lanes wait at blocks, each with a frame of its own. The block that comes first runs for all
lanes that wait there, which brings them together again after a branch. A frame belongs to one set of
lanes; it is handed on where all go the same way, and taken apart where they do not.
"""

from typing import Final, Protocol

import numpy as np

from cltrace.errors import KernelExecutionError
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.execute.state import Frame, State
from cltrace.kernels.ir.instructions import (
    Branch,
    Fall,
    Jump,
    Return,
    Switch,
    Terminator,
    Unreachable,
)
from cltrace.kernels.values import Array, Value, merged, spread, taken

_SPINS: Final = 2_000
"""After so many rounds of a loop in which no lane leaves it, lanes that wait behind it run."""
_SPINS_AGAIN: Final = 30
"""The same, once a kernel is known to wait in loops."""


_BLOCK_STEPS: Final = 1_000
"""What running an instruction takes beside its lanes, in instructions of a lane."""


class LoopWatch(Protocol):
    """Is asked at each header of a loop, and may move its lanes on by many trips."""

    def at_header(self, block: int, frame: Frame, lanes: Lanes, *, entered: bool) -> None:
        """Lanes are about to run a header; `entered` when they come from outside of the loop."""


class Runner:
    """One execution of a prepared kernel, from its first block to its last return.

    `steps_left` bounds what it does, in instructions of lanes.
    """

    def __init__(
        self, prepared: Prepared, state: State, steps_left: int, watch: LoopWatch | None = None
    ) -> None:
        self._prepared = prepared
        self._state = state
        self._watch = watch
        self._rank = {block: rank for rank, block in enumerate(prepared.graph.order)}
        self._waiting: dict[int, list[tuple[Lanes, Frame, bool]]] = {}
        """By rank. The truth is whether they come along an edge backwards."""
        self._live = state.grid.lanes_of_group.copy()
        self._last = -1
        self._spins = 0
        self._most_spins = _SPINS
        self.steps_left = steps_left
        self.steps = 0
        self.lane_steps = 0

    def run(self, frame: Frame) -> None:
        """Run all lanes, whose first frame holds the arguments.

        Raises: `KernelExecutionError` when the budget of steps ends.
        """
        lanes = self._state.grid.all
        if lanes.count:
            self._waiting[0] = [(lanes, frame, False)]
        with np.errstate(all="ignore"):
            while self._waiting:
                rank = self._next()
                sets = self._waiting.pop(rank)
                self._run_block(self._prepared.graph.order[rank], sets)

    def _next(self) -> int:
        rank = min(self._waiting)
        if rank > self._last or len(self._waiting) == 1:
            if rank > self._last + 1 or len(self._waiting) == 1:
                self._spins = 0
        else:
            self._spins += self._prepared.graph.order[rank] in self._prepared.waiting
        self._last = rank
        if self._spins > self._most_spins:
            later = [
                other
                for other in sorted(self._waiting)[1:]
                if not self._prepared.blocks[self._prepared.graph.order[other]].gathers
            ]
            if later:
                self._state.notes.add("a loop waits for other work-items")
                self._spins = 0
                self._most_spins = _SPINS_AGAIN
                return later[0]
        return rank

    def _run_block(self, number: int, sets: list[tuple[Lanes, Frame, bool]]) -> None:
        block = self._prepared.blocks[number]
        lanes, frame = self._together(block.needs, sets)
        if block.gathers:
            self._check_gathered(number, lanes)
        if self._watch is not None:
            entered = any(not back for _, _, back in sets)
            self._watch.at_header(number, frame, lanes, entered=entered)
        state = self._state
        self.lane_steps += lanes.count * (len(block.steps) + 1)
        self.steps += (lanes.count + _BLOCK_STEPS) * (len(block.steps) + 1)
        if self.steps > self.steps_left:
            place = block.terminator.place
            raise KernelExecutionError(
                f"{place}: executing the kernel takes more than {self.steps_left:,} instructions"
            )
        state.observer.runs(number, lanes)
        for step in block.steps:
            step(frame, lanes, state)
        self._leave(number, block.terminator, frame, lanes)

    def _together(
        self, needs: tuple[int, ...], sets: list[tuple[Lanes, Frame, bool]]
    ) -> tuple[Lanes, Frame]:
        """All lanes that wait at a block, with one frame."""
        if len(sets) == 1:
            return sets[0][0], sets[0][1]
        index = np.concatenate([lanes.index for lanes, _, _ in sets])
        order: Array | None = None
        if (np.diff(index) < 0).any():
            order = np.argsort(index, kind="stable")
            index = index[order]
        counts = [lanes.count for lanes, _, _ in sets]
        frame = list(self._prepared.blank)
        for slot in needs:
            frame[slot] = merged([part[slot] for _, part, _ in sets], counts, order)
        grid = self._state.grid
        return (grid.all if len(index) == grid.count else Lanes(grid, index)), frame

    def _check_gathered(self, number: int, lanes: Lanes) -> None:
        """Whether all lanes of a group that have not returned are here."""
        here = lanes.per_group
        if ((here != self._live) & (here > 0)).any():
            place = self._prepared.function.blocks[number].instructions[0].place
            self._state.notes.add(f"{place}: not all work-items of a group come to the barrier")

    def _leave(self, number: int, terminator: Terminator, frame: Frame, lanes: Lanes) -> None:
        match terminator:
            case Jump(target) | Fall(target):
                self._go(number, target, frame, lanes)
            case Branch(condition, then, otherwise):
                self._branch(number, frame[condition], (then, otherwise), frame, lanes)
            case Switch():
                self._switch(number, terminator, frame, lanes)
            case Return():
                self._live = self._live - lanes.per_group
            case Unreachable():
                self._live = self._live - lanes.per_group

    def _branch(
        self, number: int, condition: Value, targets: tuple[int, int], frame: Frame, lanes: Lanes
    ) -> None:
        state = self._state
        if number in state.redirected_blocks and state.redirection is not None:
            condition = state.redirection.way(number, lanes)
        if type(condition) is not np.ndarray:
            self._go(number, targets[0] if condition else targets[1], frame, lanes)
            return
        holds = int(np.count_nonzero(condition))
        if 0 < holds < lanes.count:
            state.observer.branches(number, condition, lanes)
            self._part(number, targets[0], condition, frame, lanes)
            self._part(number, targets[1], ~condition, frame, lanes)
            return
        self._go(number, targets[0] if holds else targets[1], frame, lanes)

    def _switch(self, number: int, terminator: Switch, frame: Frame, lanes: Lanes) -> None:
        state = self._state
        value = spread(frame[terminator.value], lanes.count)
        targets = [terminator.default, *(target for _, target in terminator.cases)]
        ways = np.zeros(lanes.count, np.int64)
        for way, (case, _) in enumerate(terminator.cases, 1):
            ways[value == case] = way
        if number in state.redirected_blocks and state.redirection is not None:
            ways = spread(state.redirection.way(number, lanes), lanes.count)
        by_target = np.asarray(targets)[ways]
        found = np.unique(by_target)
        if len(found) == 1:
            self._go(number, int(found[0]), frame, lanes)
            return
        state.observer.branches(number, by_target, lanes)
        for target in found:
            self._part(number, int(target), by_target == target, frame, lanes)

    def _go(self, number: int, target: int, frame: Frame, lanes: Lanes) -> None:
        """All lanes go on, with the frame that they have."""
        moves = self._prepared.blocks[number].edges[target]
        if moves:
            values = [frame[source] for _, source in moves]
            for (slot, _), value in zip(moves, values, strict=True):
                frame[slot] = value
        self._wait(number, target, lanes, frame)

    def _part(self, number: int, target: int, mask: Array, frame: Frame, lanes: Lanes) -> None:
        """Some lanes go on, with a frame of their own."""
        some = lanes.where(mask)
        new = list(self._prepared.blank)
        moves = self._prepared.blocks[number].edges[target]
        moved = {slot for slot, _ in moves}
        for slot in self._prepared.blocks[target].needs:
            if slot not in moved:
                new[slot] = taken(frame[slot], mask)
        for slot, source in moves:
            new[slot] = taken(frame[source], mask)
        self._wait(number, target, some, new)

    def _wait(self, number: int, target: int, lanes: Lanes, frame: Frame) -> None:
        rank = self._rank[target]
        back = rank <= self._rank[number]
        self._waiting.setdefault(rank, []).append((lanes, frame, back))
