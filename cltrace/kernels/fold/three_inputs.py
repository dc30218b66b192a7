"""Operations on integers that a GPU's compiler makes parts of others: instructions have three inputs.

Checked on what NVIDIA's assembler makes of the driver's PTX: bitwise operations on up to three numbers
are one instruction (`LOP3`), and so is a sum of three (`IADD3`). A comparison takes a condition to
combine its result with (`ISETP.AND`). Bits that are compared with zero set a condition themselves, but
not the lowest bit, which the driver's compiler makes a condition of its own. Numbers of 64 bits are
pairs, whose halves join alike: a sum of three has two carries. That such bits are zero takes one more
operation.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.wide_integers import REGISTER_BITS
from cltrace.kernels.ir.instructions import Binary, Compare, Instruction, Select
from cltrace.kernels.ir.module import ConstantValue
from cltrace.kernels.ir.types import IntegerType, Type, element_of
from cltrace.kernels.ir.uses import operands_of, result_of

_BITWISE: Final = frozenset({"and", "or", "xor"})
_SUMS: Final = frozenset({"add", "sub"})
_SCALES: Final = frozenset({"mul", "shl"})
"""Operators that a sum is fused with: such a sum has no room for a third number."""
_MAX_INPUTS: Final = 3
_MAX_BITS: Final = 2 * REGISTER_BITS


class ThreeInputs:
    """The operations of a kernel that are parts of those which use them, by the slots of their results.

    `apart` are slots of sums that are parts of addresses already.
    """

    def __init__(
        self, kernel: PreparedKernel, values: Definitions, apart: Collection[int] = frozenset()
    ) -> None:
        self._inverts: Final = frozenset(
            item.slot for item in kernel.function.constants if _is_all_ones(item.value)
        )
        integers = kernel.function.integer_constants()
        self._zeros: Final = frozenset(slot for slot, value in integers.items() if value == 0)
        self._ones: Final = frozenset(slot for slot, value in integers.items() if value == 1)
        self._values = values
        self._apart = apart
        self._inputs: dict[int, tuple[int, ...]] = {}
        self.parts: frozenset[int] = frozenset(self._find_parts(kernel))

    def _find_parts(self, kernel: PreparedKernel) -> Iterator[int]:
        for number in kernel.graph.order:
            for item in kernel.function.blocks[number].instructions:
                if self._is_condition(item):
                    yield from self._conditions(item)
                elif isinstance(item, Compare) and self._is_test_of_bits(item):
                    yield item.result
                elif self._is_bitwise(item) or self._is_sum(item):
                    yield from self._join(item)

    def _join(self, item: Instruction) -> Iterator[int]:
        """Yield the operands that an operation computes itself, the first ones first."""
        inputs: list[int] = []
        operands = operands_of(item)
        for position, slot in enumerate(operands):
            if slot in self._inverts and self._is_bitwise(item):
                continue
            own = self._inputs.get(slot, ()) if self._is_joined(slot, item) else ()
            left = len(operands) - position - 1
            if own and len({*inputs, *own}) + left <= _MAX_INPUTS:
                inputs.extend(own)
                yield slot
            else:
                inputs.append(slot)
        unique = dict.fromkeys(inputs) if self._is_bitwise(item) else inputs
        self._inputs[result_of(item)] = tuple(unique)

    def _is_joined(self, slot: int, user: Instruction) -> bool:
        """Return True for the result of an operation of the user's kind that only the user needs."""
        item = self._values.defined.get(slot)
        if item is None or self._values.uses[slot] != 1:
            return False
        return self._is_bitwise(item) if self._is_bitwise(user) else self._is_sum(item)

    def _conditions(self, item: Instruction) -> Iterator[int]:
        """Yield a combination of conditions if a comparison that it alone uses can take the other one."""
        for slot in operands_of(item):
            is_compared = isinstance(self._values.defined.get(slot), Compare)
            if is_compared and self._values.uses[slot] == 1:
                yield result_of(item)
                return

    def _is_test_of_bits(self, item: Compare) -> bool:
        """Return True for a comparison with zero that the operation on the bits makes."""
        if item.predicate not in {"eq", "ne"} or item.right not in self._zeros:
            return False
        bits = self._values.defined.get(item.left)
        return (
            isinstance(bits, Binary)
            and self._is_bitwise(bits)
            and _bits(bits.type) <= REGISTER_BITS
            and not {bits.left, bits.right} & self._ones
        )

    def _is_condition(self, item: Instruction) -> bool:
        match item:
            case Binary(_, operator, IntegerType(1), _, _):
                return operator in _BITWISE
            case Select(type=IntegerType(1)):
                return True
            case _:
                return False

    def _is_bitwise(self, item: Instruction) -> bool:
        match item:
            case Binary(_, operator, kind, _, _):
                return operator in _BITWISE and 1 < _bits(kind) <= _MAX_BITS
            case _:
                return False

    def _is_sum(self, item: Instruction) -> bool:
        match item:
            case Binary(result, operator, kind, left, right):
                is_sum = operator in _SUMS and 0 < _bits(kind) <= _MAX_BITS
                return is_sum and result not in self._apart and not self._is_scaled(left, right)
            case _:
                return False

    def _is_scaled(self, *slots: int) -> bool:
        """Return True if one of the slots is a product that a sum is fused with."""
        defined: Mapping[int, Instruction] = self._values.defined
        return any(
            isinstance(item := defined.get(slot), Binary)
            and item.operator in _SCALES
            and self._values.uses[slot] == 1
            for slot in slots
        )


def _is_all_ones(value: ConstantValue) -> bool:
    """Return True for the constant that inverts all bits, or those of each element."""
    elements = value if isinstance(value, tuple) else (value,)
    return all(element == -1 for element in elements)


def _bits(kind: Type) -> int:
    """Return the bits of an integer, or of each of a vector; 0 for others."""
    element = element_of(kind)
    return element.bits if isinstance(element, IntegerType) else 0
