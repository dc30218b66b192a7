"""Loops whose trips can be counted without running them.

A loop is *canonical* when it has one way back, one way out, and leaves by a comparison of what moves
by the same amount each trip with what stays. Its affine values can then be moved on by many trips at
once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.builtins.function_kinds import is_work_item_function
from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.flow.loops import Graph, Loop
from cltrace.kernels.ir.instructions import (
    Binary,
    Branch,
    Call,
    Compare,
    Convert,
    Copy,
    Instruction,
    Offset,
)
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import operands_of, result_of


@dataclass(frozen=True, slots=True)
class CanonicalLoop:
    """A canonical loop. `affine` are pairs of a phi's slot and the slot of its next value.

    `computing` are the instructions, in order, that the next values and the comparison need; `kept` the
    phis that are not affine. The loop goes on while the comparison is `continues`.
    """

    number: int
    header: int
    affine: tuple[tuple[int, int], ...]
    kept: tuple[int, ...]
    comparison: Compare
    continues: bool
    computing: tuple[Instruction, ...]


def canonical_loops(function: Function, graph: Graph) -> Mapping[int, CanonicalLoop]:
    """The canonical loops of a function, by their header."""
    found = {}
    for number, loop in enumerate(graph.loops):
        canonical = _Analysis(function, graph, number, loop).result()
        if canonical is not None:
            found[loop.header] = canonical
    return found


class _Analysis:
    def __init__(self, function: Function, graph: Graph, number: int, loop: Loop) -> None:
        self._function = function
        self._graph = graph
        self._number = number
        self._loop = loop
        self._inside: dict[int, Instruction] = {}
        self._order: dict[int, int] = {}
        for block in graph.order:
            if block in loop.blocks:
                for instruction in function.blocks[block].instructions:
                    if result_of(instruction) >= 0:
                        self._inside[result_of(instruction)] = instruction
                        self._order[result_of(instruction)] = len(self._order)
        self._phis = {phi.result for block in loop.blocks for phi in function.blocks[block].phis}
        self._affine: dict[int, int] = {}

    def result(self) -> CanonicalLoop | None:
        """The loop, or None if it is not canonical."""
        loop, graph = self._loop, self._graph
        latches = [b for b in graph.predecessors[loop.header] if b in loop.blocks]
        leaving = [b for b in loop.blocks if any(t not in loop.blocks for t in graph.successors[b])]
        if len(latches) != 1 or len(leaving) != 1:
            return None
        branch = self._function.blocks[leaving[0]].terminator
        if not isinstance(branch, Branch) or graph.loop_of[leaving[0]] != self._number:
            return None
        comparison = self._inside.get(branch.condition)
        if not isinstance(comparison, Compare):
            return None
        kept = []
        for phi in self._function.blocks[loop.header].phis:
            following = dict(phi.incoming)[latches[0]]
            if self._moves(following, phi.result):
                self._affine[phi.result] = following
            else:
                kept.append(phi.result)
        if not self._is_affine(comparison.left) or not self._is_affine(comparison.right):
            return None
        return CanonicalLoop(
            number=self._number,
            header=loop.header,
            affine=tuple(self._affine.items()),
            kept=tuple(kept),
            comparison=comparison,
            continues=branch.then in loop.blocks,
            computing=self._needed([*self._affine.values(), comparison.left, comparison.right]),
        )

    def _stays(self, slot: int) -> bool:
        """Whether a value is the same in each trip."""
        if slot in self._phis:
            return False
        instruction = self._inside.get(slot)
        if instruction is None:
            return True
        if isinstance(instruction, Call):
            is_id = is_work_item_function(demangled(instruction.callee).name)
            return is_id and all(map(self._stays, instruction.arguments))
        if isinstance(instruction, Binary | Convert | Offset | Copy | Compare):
            return all(map(self._stays, operands_of(instruction)))
        return False

    def _moves(self, slot: int, phi: int) -> bool:
        """Whether a value is the phi's plus what stays."""
        if slot == phi:
            return True
        match self._inside.get(slot):
            case Binary(_, "add", _, left, right):
                return (self._moves(left, phi) and self._stays(right)) or (
                    self._moves(right, phi) and self._stays(left)
                )
            case Binary(_, "sub", _, left, right):
                return self._moves(left, phi) and self._stays(right)
            case Offset(_, pointer, _, terms):
                return self._moves(pointer, phi) and all(self._stays(index) for index, _ in terms)
            case Copy(_, _, operand):
                return self._moves(operand, phi)
            case _:
                return False

    def _is_affine(self, slot: int) -> bool:
        """Whether a value moves by the same amount each trip, or stays."""
        if slot in self._affine or self._stays(slot):
            return True
        match self._inside.get(slot):
            case Binary(_, "add" | "sub", _, left, right):
                return self._is_affine(left) and self._is_affine(right)
            case Binary(_, "mul", _, left, right):
                return (self._is_affine(left) and self._stays(right)) or (
                    self._is_affine(right) and self._stays(left)
                )
            case Binary(_, "shl", _, left, right):
                return self._is_affine(left) and self._stays(right)
            case Convert(_, "sext" | "zext" | "trunc" | "ptrtoint", _, _, operand):
                return self._is_affine(operand)
            case Copy(_, _, operand):
                return self._is_affine(operand)
            case Offset(_, pointer, _, terms):
                return self._is_affine(pointer) and all(self._is_affine(i) for i, _ in terms)
            case _:
                return False

    def _needed(self, slots: Sequence[int]) -> tuple[Instruction, ...]:
        found: set[int] = set()
        waiting = list(slots)
        while waiting:
            slot = waiting.pop()
            if slot in self._inside and slot not in found:
                found.add(slot)
                waiting.extend(operands_of(self._inside[slot]))
        return tuple(self._inside[slot] for slot in sorted(found, key=self._order.__getitem__))
