"""Canonical loops: loops whose trips can be counted without running them.

A loop is *canonical* when it has one latch and one exiting block, and its exit condition compares values
that are affine in the trip number (loop-invariant values included). The affine values of such a loop
can be advanced by several trips at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.builtins.function_kinds import is_image_query, is_work_item_function
from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.flow.loops import Graph, Loop
from cltrace.kernels.ir.instructions import (
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Branch,
    Call,
    Compare,
    Convert,
    Copy,
    Instruction,
    Offset,
    Store,
)
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.types import PointerType
from cltrace.kernels.ir.uses import operands_of, result_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalLoop:
    """A canonical loop.

    Attributes:
        number: the loop's number in `Graph.loops`.
        header: the block number of the loop's header.
        affine: pairs of an affine phi's slot and the slot of its next value.
        non_affine: the slots of the header's other phis.
        comparison: the exit condition.
        copied_tests: the slots of its copies in other blocks that leave the loop.
        further_tests: the slots of other exit conditions, which compare affine values, too.
        continues_when: the value of the comparison for which another trip follows.
        step_instructions: the instructions, in order, that compute the next values of the affine phis and
            the operands of the comparison.
    """

    number: int
    header: int
    affine: tuple[tuple[int, int], ...]
    non_affine: tuple[int, ...]
    comparison: Compare
    continues_when: bool
    step_instructions: tuple[Instruction, ...]
    copied_tests: frozenset[int] = frozenset()
    further_tests: frozenset[int] = frozenset()

    @property
    def tests(self) -> frozenset[int]:
        """The slots of all conditions that leave the loop."""
        return self.copied_tests | self.further_tests | {self.comparison.result}


def find_canonical_loops(
    function: Function, graph: Graph, *, joins_exits: bool = False
) -> Mapping[int, CanonicalLoop]:
    """Return the canonical loops of a function by the block number of their header.

    With `joins_exits` a loop that writes nothing may have several exiting blocks, each with a condition
    of its own: the one that ends it first can be computed before.
    """
    loops = {}
    for number, loop in enumerate(graph.loops):
        analysis = _LoopAnalysis(function, graph, number, loop)
        canonical = analysis.analyse(joins_exits=joins_exits)
        if canonical is not None:
            loops[loop.header] = canonical
    return loops


class _LoopAnalysis:
    """Search for the canonical form of one loop."""

    def __init__(self, function: Function, graph: Graph, number: int, loop: Loop) -> None:
        self._function = function
        self._graph = graph
        self._number = number
        self._loop = loop
        self._definitions: dict[int, Instruction] = {}
        """The instructions of the loop by the slot that they define."""
        self._order: dict[int, int] = {}
        for block in graph.order:
            if block in loop.blocks:
                for instruction in function.blocks[block].instructions:
                    if result_of(instruction) >= 0:
                        self._definitions[result_of(instruction)] = instruction
                        self._order[result_of(instruction)] = len(self._order)
        self._phis = {phi.result for block in loop.blocks for phi in function.blocks[block].phis}
        self._affine: dict[int, int] = {}

    def analyse(self, *, joins_exits: bool) -> CanonicalLoop | None:
        """Return the canonical loop, or None if the loop is not canonical."""
        loop, graph = self._loop, self._graph
        latches = [b for b in graph.predecessors[loop.header] if b in loop.blocks]
        exiting = [b for b in loop.blocks if any(t not in loop.blocks for t in graph.successors[b])]
        if len(latches) != 1 or not exiting or (len(exiting) > 1 and not joins_exits):
            return None
        # Of several exits, the one at the loop's end stands for all.
        exiting.sort(key=lambda block: block != latches[0])
        tests = [self._test_of(block) for block in exiting]
        non_affine = []
        for phi in self._function.blocks[loop.header].phis:
            next_value = dict(phi.incoming)[latches[0]]
            if self._is_incremented(next_value, phi.result):
                self._affine[phi.result] = next_value
            else:
                non_affine.append(phi.result)
        comparisons = [test for test in tests if test is not None and self._is_counted(test)]
        if len(comparisons) < len(exiting) or (len(exiting) > 1 and self._writes()):
            return None
        comparison, *others = comparisons
        branch = self._function.blocks[exiting[0]].terminator
        return CanonicalLoop(
            number=self._number,
            header=loop.header,
            affine=tuple(self._affine.items()),
            non_affine=tuple(non_affine),
            comparison=comparison,
            continues_when=isinstance(branch, Branch) and branch.then in loop.blocks,
            step_instructions=self._definitions_for(
                [*self._affine.values(), comparison.left, comparison.right]
            ),
            further_tests=frozenset(test.result for test in others),
        )

    def _test_of(self, block: int) -> Compare | None:
        """Return the condition of an exiting block, if it is evaluated once per trip."""
        branch = self._function.blocks[block].terminator
        if not isinstance(branch, Branch) or self._graph.loop_of[block] != self._number:
            return None
        test = self._definitions.get(branch.condition)
        return test if isinstance(test, Compare) else None

    def _is_counted(self, test: Compare) -> bool:
        return self._is_affine(test.left) and self._is_affine(test.right)

    def _writes(self) -> bool:
        """Return True for a loop with effects beside its values."""
        effects = (Store, AtomicUpdate, AtomicExchange)
        return any(
            isinstance(item, effects) or (isinstance(item, Call) and _has_effects(item))
            for block in self._loop.blocks
            for item in self._function.blocks[block].instructions
        )

    def _is_invariant(self, slot: int) -> bool:
        """Return whether a value is the same in each trip."""
        if slot in self._phis:
            return False
        instruction = self._definitions.get(slot)
        if instruction is None:
            return True
        if isinstance(instruction, Call):
            name = demangle(instruction.callee).name
            is_same = is_work_item_function(name) or is_image_query(name)
            return is_same and all(map(self._is_invariant, instruction.arguments))
        if isinstance(instruction, Binary | Convert | Offset | Copy | Compare):
            return all(map(self._is_invariant, operands_of(instruction)))
        return False

    def _is_incremented(self, slot: int, phi: int) -> bool:
        """Return whether a value is the phi plus a loop-invariant amount."""
        if slot == phi:
            return True
        match self._definitions.get(slot):
            case Binary(_, "add", _, left, right):
                return (self._is_incremented(left, phi) and self._is_invariant(right)) or (
                    self._is_incremented(right, phi) and self._is_invariant(left)
                )
            case Binary(_, "sub", _, left, right):
                return self._is_incremented(left, phi) and self._is_invariant(right)
            case Offset(_, pointer, _, terms):
                return self._is_incremented(pointer, phi) and all(
                    self._is_invariant(index) for index, _ in terms
                )
            case Copy(_, _, operand):
                return self._is_incremented(operand, phi)
            case _:
                return False

    def _is_affine(self, slot: int) -> bool:
        """Return whether a value changes by the same amount in each trip, which may be 0."""
        if slot in self._affine or self._is_invariant(slot):
            return True
        match self._definitions.get(slot):
            case Binary(_, "add" | "sub", _, left, right):
                return self._is_affine(left) and self._is_affine(right)
            case Binary(_, "mul", _, left, right):
                return (self._is_affine(left) and self._is_invariant(right)) or (
                    self._is_affine(right) and self._is_invariant(left)
                )
            case Binary(_, "shl", _, left, right):
                return self._is_affine(left) and self._is_invariant(right)
            case Convert(_, "sext" | "zext" | "trunc" | "ptrtoint", _, _, operand):
                return self._is_affine(operand)
            case Copy(_, _, operand):
                return self._is_affine(operand)
            case Offset(_, pointer, _, terms):
                return self._is_affine(pointer) and all(self._is_affine(i) for i, _ in terms)
            case _:
                return False

    def _definitions_for(self, slots: Sequence[int]) -> tuple[Instruction, ...]:
        """Return the instructions of the loop that compute `slots`, in execution order."""
        needed: set[int] = set()
        waiting = list(slots)
        while waiting:
            slot = waiting.pop()
            if slot in self._definitions and slot not in needed:
                needed.add(slot)
                waiting.extend(operands_of(self._definitions[slot]))
        return tuple(
            self._definitions[slot] for slot in sorted(needed, key=self._order.__getitem__)
        )


def _has_effects(call: Call) -> bool:
    """Return True for a call that may change memory, or let work-items wait."""
    return call.result < 0 or any(isinstance(kind, PointerType) for kind in call.argument_types)
