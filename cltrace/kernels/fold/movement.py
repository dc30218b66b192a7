"""How values move from trip to trip of a loop that a compiler unrolls."""

import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import IntEnum
from functools import cached_property
from typing import Final

from cltrace.kernels.builtins.function_kinds import is_work_item_function
from cltrace.kernels.builtins.mangling import base_name, demangled
from cltrace.kernels.builtins.table import find_builtin
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.instructions import (
    Binary,
    Call,
    Compare,
    Convert,
    Copy,
    ExtractElement,
    InsertElement,
    Instruction,
    Negate,
    Offset,
    Select,
    Shuffle,
)
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import operands_of, result_of

_PURE = (
    Binary, Negate, Compare, Convert, Copy, Select, Offset, ExtractElement, InsertElement, Shuffle,
)  # fmt: skip


_MOST_TRIPS: Final = 256
_PREDICATES: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq, "ne": operator.ne,
    "slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge,
    "ult": operator.lt, "ule": operator.le, "ugt": operator.gt, "uge": operator.ge,
}  # fmt: skip


class Moves(IntEnum):
    """How a value moves; what is computed from several moves as the last of them."""

    CONSTANT = 0
    """Known to the compiler."""
    STAYS = 1
    """The same in each trip."""
    STEPS = 2
    """By a distance in each trip that the compiler knows."""
    EVENLY = 3
    """By the same distance in each trip, which is known at run time."""
    FREELY = 4


def is_pure(item: Instruction) -> bool:
    """Whether an instruction's result depends on its operands alone, and it does nothing else."""
    if isinstance(item, Call):
        signature = demangled(item.callee)
        return (
            is_work_item_function(signature.name) or find_builtin(base_name(signature)) is not None
        )
    return isinstance(item, _PURE)


def index_values(function: Function, graph: Graph) -> frozenset[int]:
    """The values that are computed from ids, sizes, constants and narrow integers alone.

    However wide the source makes them, a compiler that knows the ranges of ids computes them narrow.
    """
    found = {item.slot for item in function.constants}
    for number in graph.order:
        for item in function.blocks[number].instructions:
            if _is_index(item, found):
                found.add(result_of(item))
    return frozenset(found)


def counted_values(function: Function, graph: Graph) -> frozenset[int]:
    """The values that move evenly from one work-item to the next: ids, and what is added to them.

    Where work-items are trips of a loop, these are its counters, and cost nothing by themselves.
    """
    found = {item.slot for item in function.constants}
    found.update(parameter.slot for parameter in function.parameters)
    for number in graph.order:
        for item in function.blocks[number].instructions:
            if _is_counted(item, found):
                found.add(result_of(item))
    return frozenset(found)


def _is_counted(item: Instruction, known: Collection[int]) -> bool:
    match item:
        case Call():
            return is_work_item_function(demangled(item.callee).name)
        case Binary(_, "add" | "sub" | "mul" | "shl", _, _, _) | Offset():
            return all(slot in known for slot in operands_of(item))
        case Convert(_, "sext" | "zext" | "trunc", _, _, operand):
            return operand in known
        case _:
            return False


def _is_index(item: Instruction, known: Collection[int]) -> bool:
    match item:
        case Call():
            return is_work_item_function(demangled(item.callee).name)
        case Convert(_, "sext" | "zext", _, _, _):
            return True
        case Binary() | Convert() | Select() | Compare():
            return all(slot in known for slot in operands_of(item))
        case _:
            return False


class LoopMovement:
    """How the values of a canonical loop move."""

    def __init__(self, function: Function, graph: Graph, loop: CanonicalLoop) -> None:
        self.loop = loop
        self.blocks = graph.loops[loop.number].blocks
        self._function = function
        self._constants = {
            item.slot: item.value for item in function.constants if isinstance(item.value, int)
        }
        self._all_constants = {item.slot for item in function.constants}
        self._known: dict[int, Moves] = {}

    @cached_property
    def _inside(self) -> Mapping[int, Instruction]:
        return {
            result_of(item): item
            for number in self.blocks
            for item in self._function.blocks[number].instructions
            if result_of(item) >= 0
        }

    @cached_property
    def _phis(self) -> Mapping[int, Moves]:
        """The phis of the loop's blocks, with how those move that the loop's comparison rests on."""
        found = {
            phi.result: Moves.FREELY
            for number in self.blocks
            for phi in self._function.blocks[number].phis
        }
        for phi, following in self.loop.affine:
            found[phi] = self._step(following, phi)
        return found

    def moves(self, slot: int) -> Moves:
        """How a value moves."""
        known = self._known.get(slot)
        if known is None:
            known = self._known[slot] = self._found(slot)
        return known

    def trips(self) -> int | None:
        """How many trips the loop has each time, where the compiler can tell; None for many."""
        comparison = self.loop.comparison
        for moving, bound, is_left in (
            (comparison.left, comparison.right, True), (comparison.right, comparison.left, False),
        ):  # fmt: skip
            limit = self._constants.get(bound)
            for phi, following in self.loop.affine if limit is not None else ():
                step = self._constant_step(phi, following)
                begin = self._begin(phi)
                if moving in {phi, following} and step and begin is not None and limit is not None:
                    first = begin + step if moving == following else begin
                    return self._counted(first, step, limit, is_left=is_left)
        return None

    def _counted(self, first: int, step: int, limit: int, *, is_left: bool) -> int | None:
        """The trips of a loop whose comparison sees `first`, and a `step` more each time."""
        compare = _PREDICATES.get(self.loop.comparison.predicate)
        if compare is None:
            return None
        for trips in range(1, _MOST_TRIPS + 1):
            both = (first, limit) if is_left else (limit, first)
            if compare(*both) != self.loop.continues:
                return trips
            first += step
        return None

    def _found(self, slot: int) -> Moves:
        if slot in self._all_constants:
            return Moves.CONSTANT
        if slot in self._phis:
            return self._phis[slot]
        item = self._inside.get(slot)
        if item is None:
            return Moves.STAYS
        if not is_pure(item):
            return Moves.FREELY
        operands = [self.moves(operand) for operand in operands_of(item)]
        most = max(operands, default=Moves.STAYS)
        if most <= Moves.STAYS:
            return most
        return _moved(item, operands, most)

    def _step(self, slot: int, phi: int) -> Moves:
        """How the distance moves by which a phi's next value is further than the phi."""
        item = self._inside.get(slot)
        if slot == phi or item is None:
            return Moves.STEPS
        fixed = [
            slot in self._all_constants or self._reaches(slot, phi) for slot in operands_of(item)
        ]
        return Moves.STEPS if all(fixed) else Moves.EVENLY

    def _reaches(self, slot: int, phi: int) -> bool:
        """Whether a value is the phi, or is computed from it."""
        item = self._inside.get(slot)
        return slot == phi or (
            item is not None and any(self._reaches(one, phi) for one in operands_of(item))
        )

    def _constant_step(self, phi: int, following: int) -> int:
        match self._inside.get(following):
            case Binary(_, "add", _, left, right):
                other = right if left == phi else left
                return self._constants.get(other, 0) if phi in {left, right} else 0
            case Binary(_, "sub", _, left, right) if left == phi:
                return -self._constants.get(right, 0)
            case _:
                return 0

    def _begin(self, slot: int) -> int | None:
        """The constant with which a phi of the header begins."""
        for phi in self._function.blocks[self.loop.header].phis:
            if phi.result == slot:
                outside = [value for block, value in phi.incoming if block not in self.blocks]
                if len(outside) == 1:
                    return self._constants.get(outside[0])
        return None

    def instructions(self) -> Iterator[Instruction]:
        """The instructions of the loop's blocks."""
        for number in self.blocks:
            yield from self._function.blocks[number].instructions


def _moved(item: Instruction, operands: list[Moves], most: Moves) -> Moves:
    """How the result of an instruction moves of which an operand does."""
    match item:
        case (
            Binary(_, "add" | "sub", _, _, _)
            | Copy()
            | Offset()
            | Convert(_, "sext" | "zext" | "trunc" | "ptrtoint" | "bitcast", _, _, _)
        ):
            return most
        case Binary(_, "mul", _, _, _):
            return _scaled(min(operands), most)
        case Binary(_, "shl", _, _, _) if operands[0] == most:
            return _scaled(operands[1], most)
        case Binary(_, "or", _, _, _) if min(operands) <= Moves.STAYS:
            return most
        case _:
            return Moves.FREELY


def _scaled(by: Moves, most: Moves) -> Moves:
    """How a moving value moves that is multiplied."""
    if by is Moves.CONSTANT:
        return most
    return max(most, Moves.EVENLY) if by is Moves.STAYS else Moves.FREELY
