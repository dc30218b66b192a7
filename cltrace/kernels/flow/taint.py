"""Taint analysis: the values that depend on unknown memory contents.

The outcome of a tainted branch or address has to be assumed. A value is tainted if it is computed from
unknown contents, or if it leaves a loop with an unknown trip count. A branch or a selection by an unknown
condition does not taint the values between which it selects: its outcome is assumed, and the value with
it. Within such a loop, values that only depend on the trip number are known: all active lanes are in the
same trip.

A counter that several loops advance, some of them with unknown trips, has the value of the assumed trips
when it is compared with a known bound. A loop that it ends is followed: it ends where the counter reaches
the bound, as in `while (i < n) while (i < n && a[i++]) …`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, DataDependencies, Root
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.flow.paths import blocks_on_paths
from cltrace.kernels.ir.instructions import Compare, Instruction, Select
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit

_EQUALITIES: Final = frozenset({"eq", "ne", "oeq", "ueq", "one", "une"})
"""Comparisons that a counter may pass by, as assumed trips advance it."""
_CONDITIONS: Final = frozenset({IntegerType(1)})


@dataclass(frozen=True, slots=True)
class Taint:
    """Dependents of unknown memory contents.

    Attributes:
        slots: the tainted slots.
        blocks: the blocks that end in a tainted branch, whose outcome is assumed.
        followed: the tainted comparisons that the assumed trips of loops decide, but no contents.
        selects: the untainted slots whose values are selected by a tainted condition.
        untainted_within: by slot that is tainted only after a loop, the blocks of that loop.
    """

    slots: frozenset[int]
    blocks: frozenset[int]
    followed: frozenset[int]
    selects: frozenset[int]
    untainted_within: Mapping[int, frozenset[int]]

    def reaches(self, slots: Iterable[int], block: int) -> bool:
        """Return whether any of `slots` is tainted where `block` uses it."""
        return reaches_block(slots, block, self.slots, self.untainted_within)


def reaches_block(
    slots: Iterable[int],
    block: int,
    reached: Collection[int],
    unreached_within: Mapping[int, frozenset[int]],
) -> bool:
    """Return whether any of `slots` is among the `reached` where `block` uses it.

    Slots in `unreached_within` are so only outside of the blocks of a loop.
    """
    return any(
        slot in reached or (slot in unreached_within and block not in unreached_within[slot])
        for slot in slots
    )


def find_taint(dependencies: DataDependencies, unknown: frozenset[Root]) -> Taint:
    """Return everything that depends on the contents of `unknown` roots."""
    taint = _TaintAnalysis(dependencies, unknown).run()
    if not taint.untainted_within:
        return taint
    by_contents = _TaintAnalysis(dependencies, unknown, taints_after_loops=False).run()
    followed = frozenset(
        item.result
        for number, item in dependencies.instructions
        if isinstance(item, Compare)
        and item.predicate not in _EQUALITIES
        and taint.reaches((item.result,), number)
        and not by_contents.reaches((item.result,), number)
    )
    followed_blocks = frozenset(
        number
        for number in taint.blocks
        if leaves_loop(dependencies.graph, number)
        and followed.issuperset(operands_of(dependencies.function.blocks[number].terminator))
    )
    return replace(taint, blocks=taint.blocks - followed_blocks, followed=followed)


class _TaintAnalysis:
    """Propagation of taint along values, memory and control to a fixed point."""

    def __init__(
        self,
        dependencies: DataDependencies,
        unknown: frozenset[Root],
        *,
        taints_after_loops: bool = True,
    ) -> None:
        """`taints_after_loops` is whether values are tainted that leave a loop with unknown trips."""
        self._dependencies = dependencies
        self._taints_after_loops = taints_after_loops
        self._graph = dependencies.graph
        self._blocks_of = dependencies.function.blocks
        self._slots: set[int] = set()
        self._untainted_within: dict[int, frozenset[int]] = {}
        self._memory: set[Root] = set(unknown)
        self._blocks: set[int] = set()
        self._conditional: set[int] = set()
        """The blocks that run or not as a tainted branch decides."""
        self._loops: set[int] = set()
        """The loops with an unknown trip count."""
        self._conditional_writes: dict[Root, set[int]] = {}
        """By private variable, the blocks that write known values into it, if they run."""
        self._behind: dict[int, frozenset[int]] = {}

    def run(self) -> Taint:
        """Propagate taint until nothing changes, and return it."""
        size = -1
        while size != self._size():
            check_cpu_limit()
            size = self._size()
            self._spread_phis()
            self._spread_instructions()
            for number in self._graph.order:
                terminator = self._blocks_of[number].terminator
                if number not in self._blocks and self._is_tainted(operands_of(terminator), number):
                    self._taint_branch(number)
        selects = frozenset(
            item.result
            for number, item in self._dependencies.instructions
            if isinstance(item, Select)
            and item.result not in self._slots
            and self._is_tainted((item.condition,), number)
        )
        return Taint(
            frozenset(self._slots),
            frozenset(self._blocks),
            frozenset(),
            selects,
            dict(self._untainted_within),
        )

    def _size(self) -> int:
        writes = sum(map(len, self._conditional_writes.values()))
        parts = (self._slots, self._untainted_within, self._memory, self._blocks)
        return writes + sum(map(len, parts))

    def _is_tainted(self, slots: Iterable[int], block: int) -> bool:
        return reaches_block(slots, block, self._slots, self._untainted_within)

    def _taint_branch(self, number: int) -> None:
        """Mark a branch as tainted, with the blocks that depend on it and the loops that it exits."""
        self._blocks.add(number)
        paths = [
            blocks_on_paths(self._graph, target, {self._dependencies.post_dominators[number]})
            for target in self._graph.successors[number]
        ]
        if len(paths) > 1:
            self._conditional.update(*paths)
        loop = self._graph.loop_of[number]
        while loop >= 0:
            blocks = self._graph.loops[loop].blocks
            exits = any(target not in blocks for target in self._graph.successors[number])
            if exits and loop not in self._loops:
                self._loops.add(loop)
                if self._taints_after_loops:
                    self._taint_after_loop(blocks)
            loop = self._graph.loops[loop].parent

    def _taint_after_loop(self, blocks: frozenset[int]) -> None:
        """Taint the values of a loop with an unknown trip count, outside of the loop.

        Values that depend neither on its phis nor on memory are the same in each trip and stay known.
        """
        phis = [phi.result for block in blocks for phi in self._blocks_of[block].phis]
        varying = self._dependencies.forward_slice(self._reads_memory, phis)
        inside = {
            result_of(item) for block in blocks for item in self._blocks_of[block].instructions
        }
        for slot in varying & inside.union(phis):
            inner = self._untainted_within.get(slot)
            self._untainted_within[slot] = blocks if inner is None else inner & blocks

    def _reads_memory(self, instruction: Instruction) -> bool:
        return bool(self._dependencies.reads(instruction))

    def _spread_phis(self) -> None:
        for number in self._graph.order:
            for phi in self._blocks_of[number].phis:
                values = [value for _, value in phi.incoming]
                if self._is_tainted(values, number):
                    self._slots.add(phi.result)

    def _spread_instructions(self) -> None:
        for number, instruction in self._dependencies.instructions:
            is_tainted = self._is_tainted(_deciding_operands(instruction), number)
            if not is_tainted:
                is_tainted = self._reads_unknown(instruction, number)
            if is_tainted and result_of(instruction) >= 0:
                self._slots.add(result_of(instruction))
            written = self._dependencies.writes(instruction)
            if is_tainted:
                self._memory |= written
            elif number in self._conditional:
                self._write_conditionally(written, number)

    def _write_conditionally(self, roots: Iterable[Root], block: int) -> None:
        """Note writes of known values that take place or not."""
        for root in roots:
            if isinstance(root, str) and root.startswith("%"):
                self._conditional_writes.setdefault(root, set()).add(block)
            else:
                self._memory.add(root)

    def _reads_unknown(self, instruction: Instruction, block: int) -> bool:
        read = self._dependencies.reads(instruction)
        if not read:
            return False
        if UNKNOWN_ROOT in read:
            return bool(self._memory or self._conditional_writes)
        return not self._memory.isdisjoint(read) or any(
            not self._is_behind(block, write)
            for root in read
            for write in self._conditional_writes.get(root, ())
        )

    def _is_behind(self, block: int, write: int) -> bool:
        """Return True if all paths to a block lead through another one, which has then run as well."""
        if write not in self._behind:
            entry = self._graph.order[0]
            around = blocks_on_paths(self._graph, entry, {write}) if entry != write else frozenset()
            self._behind[write] = frozenset(self._graph.order) - around | {write}
        loops = (self._graph.loops[number].blocks for number in self._loops)
        return block in self._behind[write] and all(
            block in blocks for blocks in loops if write in blocks
        )


def leaves_loop(graph: Graph, block: int) -> bool:
    """Return True if a branch leads out of its loop."""
    loop = graph.loop_of[block]
    return loop >= 0 and not graph.loops[loop].blocks.issuperset(graph.successors[block])


def _deciding_operands(instruction: Instruction) -> Iterable[int]:
    """Return the operands that taint the result: not the condition that selects one of two values.

    Conditions themselves are tainted by all operands, since a branch has bounds of its own.
    """
    if isinstance(instruction, Select) and instruction.type not in _CONDITIONS:
        return (instruction.left, instruction.right)
    return operands_of(instruction)
