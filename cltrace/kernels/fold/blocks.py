"""The blocks of a kernel as a driver's compiler leaves them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.fold.chains import NOTHING, Chain, carried_chain, longest_chain
from cltrace.kernels.fold.instruction_costs import named_operations
from cltrace.kernels.fold.movement import Moves, counted_values, index_values, is_pure
from cltrace.kernels.fold.unrolling import Unrolled, unrolled_loops
from cltrace.kernels.ir.instructions import (
    Allocate,
    Binary,
    Convert,
    Instruction,
    Load,
    Offset,
    Store,
    Terminator,
)
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.machine import Machine

_FREE_CONVERSIONS: Final = frozenset({"trunc", "zext", "sext"})
"""Between integers: parts of the instructions around them."""
_ADD: Final = {"fmul": frozenset({"fadd", "fsub"}), "shl": frozenset({"add"})}
"""What a multiplication is a part of, where nothing else uses it."""


@dataclass(frozen=True, slots=True)
class FoldedBlock:
    """What is left of a block, for each time it runs.

    `operations` are how often each is done; `chain` is what waits for one another on the longest way
    through the block: operations, and accesses by the number of their site.
    """

    operations: Mapping[Operation, float]
    chain: Chain


def folded_blocks(whole: Prepared, machine: Machine) -> Mapping[int, FoldedBlock]:
    """All blocks of a kernel, by number, as the compiler of such a machine leaves them."""
    return _Folding(whole, machine).blocks()


class _Folding:
    def __init__(self, whole: Prepared, machine: Machine) -> None:
        self._whole = whole
        self._function = whole.function
        self._uses: Counter[int] = Counter()
        self._users: dict[int, Instruction] = {}
        self._defined: dict[int, Instruction] = {}
        for number in whole.graph.order:
            block = self._function.blocks[number]
            for item in block.instructions:
                self._defined[result_of(item)] = item
                for slot in operands_of(item):
                    self._uses[slot] += 1
                    self._users[slot] = item
            self._uses.update(operands_of(block.terminator))
            self._uses.update(slot for phi in block.phis for _, slot in phi.incoming)
        self._constants = frozenset(item.slot for item in whole.function.constants)
        self._products = frozenset(self._joined_products())
        self._indices = index_values(whole.function, whole.graph)
        self._has_item_loops = machine.has_item_loops
        self._free: frozenset[int] = frozenset()
        if machine.has_item_loops:
            self._free = counted_values(whole.function, whole.graph)
        self._loops = unrolled_loops(whole, machine)

    def blocks(self) -> Mapping[int, FoldedBlock]:
        """Each block, by itself or as a part of the loop that is unrolled."""
        return {number: self._block(number) for number in self._whole.graph.order}

    def _joined_products(self) -> Iterator[int]:
        """Products of integers to which a sum adds what follows: one instruction does both."""
        for number in self._whole.graph.order:
            for item in self._function.blocks[number].instructions:
                match item:
                    case Binary(result, "mul", _, _, _) if self._uses[result] == 1:
                        yield result
                    case _:
                        pass

    def _block(self, number: int) -> FoldedBlock:
        block = self._function.blocks[number]
        loop = self._loops.get(self._whole.graph.loop_of[number])
        if loop is None:
            left = self._left([*block.instructions, block.terminator])
            return FoldedBlock(left, self._alone(number))
        left = self._left_of_trip(loop, number)
        alone = self._alone(number, loop)
        together = alone.side_by_side(self._side_by_side(number), with_operations=loop.is_whole)
        carried = carried_chain(self._whole, loop.movement, number, self._is_joined)
        return FoldedBlock(left, max(together, carried, key=lambda one: one.length))

    def _alone(self, number: int, loop: Unrolled | None = None) -> Chain:
        """What waits for what in a block. Where work-items are trips, the next one goes on meanwhile.

        The counting of an unrolled loop is done once for several trips, beside them.
        """
        if self._has_item_loops:
            return NOTHING
        if loop is None:
            return longest_chain(self._whole, number, self._is_joined)
        return longest_chain(
            self._whole, number, lambda item: self._is_joined(item) or loop.counts(item)
        )

    def _side_by_side(self, number: int) -> int:
        """How many times a block stands in the code, for all unrolled loops around it."""
        graph = self._whole.graph
        loop, times = graph.loop_of[number], 1
        while loop in self._loops:
            times *= self._loops[loop].trips
            loop = graph.loops[loop].parent
        return times

    def _left(self, items: Sequence[Instruction | Terminator]) -> Mapping[Operation, float]:
        found: dict[Operation, float] = {}
        for item in items:
            if not self._is_joined(item):
                self._count(found, item, 1.0)
        return found

    def _left_of_trip(self, loop: Unrolled, number: int) -> Mapping[Operation, float]:
        """What is left in each trip of an unrolled loop."""
        block = self._function.blocks[number]
        found: dict[Operation, float] = {}
        for item in block.instructions:
            if not self._is_joined(item):
                share = loop.control if loop.counts(item) else _share(item, loop)
                self._count(found, item, share)
        end = block.terminator
        self._count(found, end, loop.control if loop.counts(end) else 1.0)
        return found

    def _count(
        self, found: dict[Operation, float], item: Instruction | Terminator, share: float
    ) -> None:
        for known, many in named_operations(item, self._constants) if share else ():
            is_index = known.type == "long" and result_of(item) in self._indices
            operation = replace(known, type="int") if is_index else known
            number = 1 if operation.cost is CostClass.ADDRESS else many
            found[operation] = found.get(operation, 0.0) + number * share

    def _is_joined(self, item: Instruction | Terminator) -> bool:
        """Whether an instruction is a part of another one, as of an address or a multiply-add."""
        match item:
            case Convert(_, operator, _, _, _) if operator in _FREE_CONVERSIONS:
                return True
            case Offset(_, _, _, ()):
                return True
            case Load(_, _, pointer, space, _) | Store(_, _, pointer, space, _):
                return space == PRIVATE and self._is_fixed(pointer)
            case Binary():
                return result_of(item) in self._free or self._is_joined_sum(item)
            case _:
                return result_of(item) in self._free

    def _is_joined_sum(self, item: Binary) -> bool:
        """Whether an operation is one instruction with the sum or product beside it."""
        if item.operator == "add":
            return item.left in self._products or item.right in self._products
        user = self._users.get(item.result)
        joins = _ADD.get(item.operator, frozenset())
        is_single = self._uses[item.result] == 1
        return is_single and isinstance(user, Binary) and user.operator in joins

    def _is_fixed(self, pointer: int) -> bool:
        """Whether a private variable is accessed at a place that the compiler knows: it is a register."""
        item = self._defined.get(pointer)
        if isinstance(item, Offset):
            return not item.terms and self._is_fixed(item.pointer)
        return isinstance(item, Allocate)


def _share(item: Instruction, loop: Unrolled) -> float:
    """How much of an instruction is left in each trip."""
    movement = loop.movement
    if isinstance(item, Load | Store) and item.space == PRIVATE:
        is_register = loop.is_whole and movement.moves(item.pointer) <= Moves.STEPS
        return 0.0 if is_register else 1.0
    if not is_pure(item) or result_of(item) < 0:
        return 1.0
    moves = movement.moves(result_of(item))
    if moves <= Moves.STAYS:
        return 0.0
    if moves is Moves.FREELY:
        return 1.0
    return 1.0 if moves is Moves.EVENLY and isinstance(item, Offset) else 0.0
