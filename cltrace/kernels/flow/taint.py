"""What depends on contents that are not known: those branches and addresses can only be assumed.

A value is tainted that is computed from what is not known, that is one thing or another as a tainted
branch decides, or that a loop leaves behind of which the trips are not known. Within such a loop, what
only counts its trips is known: each lane that is there is at the same trip.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.flow.dependencies import ANYWHERE, Dependencies, Root
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.instructions import Branch, Instruction, Phi, Switch
from cltrace.kernels.ir.uses import operands_of, result_of


@dataclass(frozen=True, slots=True)
class Tainted:
    """What depends on contents that are not known: slots, and blocks whose branch does.

    `left` are slots that are known only within a loop: those by the blocks of the loop.
    """

    slots: frozenset[int]
    blocks: frozenset[int]
    left: Mapping[int, frozenset[int]]

    def reaches(self, slots: Iterable[int], block: int) -> bool:
        """Whether any of `slots` is not known where `block` uses it."""
        return any(
            slot in self.slots or (slot in self.left and block not in self.left[slot])
            for slot in slots
        )


def tainted(dependencies: Dependencies, unknown: frozenset[Root]) -> Tainted:
    """What depends on the contents of roots that are not known."""
    return _Taint(dependencies, unknown).result()


class _Taint:
    def __init__(self, dependencies: Dependencies, unknown: frozenset[Root]) -> None:
        self._dependencies = dependencies
        self._graph = dependencies.graph
        self._blocks_of = dependencies.function.blocks
        self._meetings = _meetings(dependencies.graph)
        self._slots: set[int] = set()
        self._left: dict[int, frozenset[int]] = {}
        self._memory: set[Root] = set(unknown)
        self._blocks: dict[int, Sequence[frozenset[int]]] = {}
        """By tainted branch: the blocks of each way, up to where all of them meet."""
        self._under: set[int] = set()
        self._loops: set[int] = set()
        """The loops that are left at unknown trips."""

    def result(self) -> Tainted:
        """Everything that can be reached."""
        size = -1
        while size != self._size():
            size = self._size()
            self._spread_phis()
            self._spread_instructions()
            for number in self._graph.order:
                terminator = self._blocks_of[number].terminator
                if number not in self._blocks and self._is_tainted(operands_of(terminator), number):
                    self._branch(number)
        return Tainted(frozenset(self._slots), frozenset(self._blocks), dict(self._left))

    def _size(self) -> int:
        return sum(map(len, (self._slots, self._left, self._memory, self._blocks)))

    def _is_tainted(self, slots: Iterable[int], block: int) -> bool:
        return any(
            slot in self._slots or (slot in self._left and block not in self._left[slot])
            for slot in slots
        )

    def _branch(self, number: int) -> None:
        """A branch that is not known: what runs or not by it, and the loops that it leaves."""
        terminator = self._blocks_of[number].terminator
        ways = [
            self._way(target, self._meetings[number]) for target in self._graph.successors[number]
        ]
        self._blocks[number] = ways if isinstance(terminator, Branch | Switch) else []
        if len(ways) > 1:
            self._under.update(*ways)
        loop = self._graph.loop_of[number]
        while loop >= 0:
            blocks = self._graph.loops[loop].blocks
            leaves = any(target not in blocks for target in self._graph.successors[number])
            if leaves and loop not in self._loops:
                self._loops.add(loop)
                self._leave(blocks)
            loop = self._graph.loops[loop].parent

    def _leave(self, blocks: frozenset[int]) -> None:
        """What a loop computes is not known after it, where lanes leave it at unknown trips.

        What depends on none of its phis, and is not read, is the same in each trip.
        """
        phis = [phi.result for block in blocks for phi in self._blocks_of[block].phis]
        varying = self._dependencies.forward(self._reads_memory, phis)
        inside = {
            result_of(item) for block in blocks for item in self._blocks_of[block].instructions
        }
        for slot in varying & inside.union(phis):
            inner = self._left.get(slot)
            self._left[slot] = blocks if inner is None else inner & blocks

    def _reads_memory(self, instruction: Instruction) -> bool:
        return bool(self._dependencies.reads(instruction))

    def _way(self, target: int, meeting: int) -> frozenset[int]:
        """The blocks from `target` on, up to and with where all ways meet."""
        found: set[int] = set()
        waiting = [target]
        while waiting:
            block = waiting.pop()
            if block not in found:
                found.add(block)
                if block != meeting:
                    waiting.extend(self._graph.successors[block])
        return frozenset(found)

    def _spread_phis(self) -> None:
        for number in self._graph.order:
            for phi in self._blocks_of[number].phis:
                values = [value for _, value in phi.incoming]
                if self._is_tainted(values, number) or self._is_decided(phi, number):
                    self._slots.add(phi.result)

    def _is_decided(self, phi: Phi, number: int) -> bool:
        """Whether a branch that is not known decides which value a phi has.

        It does if the values come along different ways of it; at the header of a loop within one way
        they do not.
        """
        if number not in self._under or len({value for _, value in phi.incoming}) < 2:
            return False
        for block, ways in self._blocks.items():
            arrivals = [
                (frozenset(self._arriving(predecessor, number, block, ways)), value)
                for predecessor, value in phi.incoming
            ]
            for ours, value in arrivals:
                for theirs, other in arrivals:
                    if value != other and ours and theirs and len(ours | theirs) > 1:
                        return True
        return False

    def _arriving(
        self, predecessor: int, number: int, block: int, ways: Sequence[frozenset[int]]
    ) -> Iterable[int]:
        """The ways of a branch along which control comes from a predecessor."""
        for index, way in enumerate(ways):
            if predecessor == block:
                if self._graph.successors[block][index] == number:
                    yield index
            elif predecessor in way and number in way:
                yield index

    def _spread_instructions(self) -> None:
        for number, instruction in self._dependencies.instructions:
            is_tainted = self._is_tainted(operands_of(instruction), number)
            if not is_tainted:
                is_tainted = self._reads_unknown(instruction)
            if is_tainted and result_of(instruction) >= 0:
                self._slots.add(result_of(instruction))
            if is_tainted or number in self._under:
                self._memory |= self._dependencies.writes(instruction)

    def _reads_unknown(self, instruction: Instruction) -> bool:
        read = self._dependencies.reads(instruction)
        if not read:
            return False
        return bool(self._memory) if ANYWHERE in read else not self._memory.isdisjoint(read)


def _meetings(graph: Graph) -> Mapping[int, int]:
    """By block: the first block that all ways from it come to (its post-dominator), or -1."""
    position = {number: bit for bit, number in enumerate(graph.order)}
    everything = (1 << len(graph.order)) - 1
    after = dict.fromkeys(graph.order, everything)
    changed = True
    while changed:
        changed = False
        for number in reversed(graph.order):
            found = everything if graph.successors[number] else 0
            for target in graph.successors[number]:
                found &= after[target]
            found |= 1 << position[number]
            if found != after[number]:
                after[number] = found
                changed = True
    meetings = {}
    for number in graph.order:
        others = after[number] & ~(1 << position[number])
        candidates = [other for other in graph.order if others >> position[other] & 1]
        meetings[number] = max(candidates, key=lambda b: after[b].bit_count(), default=-1)
    return meetings
