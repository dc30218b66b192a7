"""Divisions of integers by numbers that a GPU's compiler has inverted before.

A GPU divides 32-bit integers by a product with a reciprocal and a correction. The reciprocal of a number
that a loop does not change is taken once per block of an unrolled body, for all copies. Other loops take
it before they begin, which is left out here. Two divisions that just follow each other share next to
nothing on an H200 (4 of 34 issue slots), nor do those of 64 bits, which call a function.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from cltrace.kernels.costs.operation import (
    INVARIANT_DIVISOR,
    LITERAL_DIVISOR,
    UNSIGNED_DIVIDE,
    UNSIGNED_INVARIANT,
)
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.ir.instructions import Binary, Instruction, Terminator
from cltrace.kernels.ir.types import IntegerType, element_of
from cltrace.kernels.ir.uses import result_of

_UNSIGNED: Final = frozenset({"udiv", "urem"})
_REMAINDERS: Final = frozenset({"srem", "urem"})
_OPERATORS: Final = _UNSIGNED | _REMAINDERS | {"sdiv"}
_INT32: Final = IntegerType(32)


@dataclass(frozen=True, slots=True)
class Divisions:
    """Divisions of integers in a kernel, by what their divisors are.

    Attributes:
        literals: the slots of compile-time constants, also of those in each copy of an unrolled body.
        powers: those of them that are powers of two: an unsigned division by them is a shift or a mask.
        inverted: the results of divisions by a number whose reciprocal is at hand; none on a CPU.
        takers: those of them that are the first in their block by their number.
        has_unsigned: whether unsigned divisions have costs of their own, as on a GPU.
    """

    literals: frozenset[int]
    powers: frozenset[int] = frozenset()
    inverted: frozenset[int] = frozenset()
    takers: frozenset[int] = frozenset()
    has_unsigned: bool = False

    @classmethod
    def of(
        cls,
        kernel: PreparedKernel,
        constants: frozenset[int] = frozenset(),
        powers: frozenset[int] = frozenset(),
        *,
        has_item_loops: bool,
    ) -> "Divisions":
        """Return the divisions of a kernel. Without item loops, it runs on a GPU.

        `constants` are the slots that are constants in each copy of an unrolled body, `powers` those of
        them that are powers of two.
        """
        literals = frozenset(item.slot for item in kernel.function.constants)
        if has_item_loops:
            return cls(literals)
        literals |= constants
        inverted = [pair for pair in _inverted(kernel) if pair[1].right not in literals]
        first = {(block, item.right): item.result for block, item in reversed(inverted)}
        return cls(
            literals,
            powers,
            frozenset(item.result for _, item in inverted),
            frozenset(first.values()),
            has_unsigned=True,
        )

    def is_mask(self, item: Instruction | Terminator) -> bool:
        """Return True for an unsigned division by a power of two that the compiler knows."""
        return _is_division(item) and item.operator in _UNSIGNED and item.right in self.powers

    def takes_reciprocal(self, item: Instruction) -> bool:
        """Return True for the first division of a block by a number that its loop does not change."""
        return isinstance(item, Binary) and item.result in self.takers

    def not_inverted(self) -> "Divisions":
        """Return the divisions of a kernel that takes each reciprocal anew."""
        return replace(self, inverted=frozenset())

    def function(self, item: Binary) -> str:
        """Return the function of a division, by which its cost is looked up."""
        if item.right in self.literals:
            return LITERAL_DIVISOR
        is_inverted = item.result in self.inverted
        if self.has_unsigned and item.operator in _UNSIGNED and element_of(item.type) == _INT32:
            return UNSIGNED_INVARIANT if is_inverted else UNSIGNED_DIVIDE
        if is_inverted:
            return INVARIANT_DIVISOR
        return "remainder" if item.operator in _REMAINDERS else ""


NO_DIVISIONS: Final = Divisions(frozenset())
"""Nothing is known of the divisors."""


def _inverted(kernel: PreparedKernel) -> Iterator[tuple[int, Binary]]:
    """Yield divisions by numbers that their loop does not change, in order, each with its block."""
    for loop_number, loop in enumerate(kernel.graph.loops):
        changing = _defined_in(kernel, loop.blocks)
        for number in loop.blocks:
            if kernel.graph.loop_of[number] == loop_number:
                for item in kernel.function.blocks[number].instructions:
                    if _is_division(item) and item.right not in changing:
                        yield number, item


def _is_division(item: Instruction | Terminator) -> TypeGuard[Binary]:
    return (
        isinstance(item, Binary) and item.operator in _OPERATORS and element_of(item.type) == _INT32
    )


def _defined_in(kernel: PreparedKernel, numbers: frozenset[int]) -> frozenset[int]:
    """Return the values that the blocks of a loop define."""
    blocks = [kernel.function.blocks[number] for number in numbers]
    phis = {phi.result for block in blocks for phi in block.phis}
    return frozenset(phis | {result_of(item) for block in blocks for item in block.instructions})
