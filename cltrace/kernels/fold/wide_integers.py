"""Integers of 64 bits that a GPU's compiler takes for pairs of 32.

A register has 32 bits. The product of two numbers of 32 bits with a result of 64 is one instruction,
and the upper or the lower half of a value is a register: shifting and rotating by 32 and masking 32 bits
cost nothing.
"""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.ir.instructions import Binary, Call, Convert, Instruction, Terminator
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.types import IntegerType

REGISTER_BITS: Final = 32
"""Bits of a register of a GPU, half of an address."""
_HALF: Final = (1 << REGISTER_BITS) - 1
_FUNNEL_SHIFTS: Final = frozenset({"llvm.fshl.i64", "llvm.fshr.i64"})
_UPPER_PRODUCTS: Final = frozenset({"mul_hi", "mad_hi"})


class WideIntegers:
    """The integers of 64 bits of a function. `defined` are its instructions by their results."""

    def __init__(self, function: Function, defined: Mapping[int, Instruction]) -> None:
        self._defined = defined
        self._constants = function.integer_constants()

    def is_product(self, item: Instruction | Terminator) -> bool:
        """Return True for a product of two numbers of 32 bits of which 64, or the upper 32, are used."""
        match item:
            case Binary(_, "mul", IntegerType(64), left, right):
                return self._is_half(left) and self._is_half(right)
            case Call(_, IntegerType(bits)) if bits == REGISTER_BITS:
                return base_name(demangle(item.callee)) in _UPPER_PRODUCTS
            case _:
                return False

    def is_half(self, item: Instruction | Terminator) -> bool:
        """Return True for a half of a value, one that is moved to the upper, and swapped halves."""
        match item:
            case Call(_, IntegerType(64), callee, arguments):
                is_rotation = callee in _FUNNEL_SHIFTS or base_name(demangle(callee)) == "rotate"
                return is_rotation and self._constants.get(arguments[-1]) == REGISTER_BITS
            case Binary(_, "lshr" | "ashr" | "shl", IntegerType(64), _, right):
                return self._constants.get(right) == REGISTER_BITS
            case Binary(_, "and", IntegerType(64), _, right):
                return self._constants.get(right) == _HALF
            case _:
                return False

    def _is_half(self, slot: int) -> bool:
        """Return True for a value that 32 bits hold."""
        constant = self._constants.get(slot)
        if constant is not None:
            return -(1 << (REGISTER_BITS - 1)) <= constant <= _HALF
        match self._defined.get(slot):
            case Convert(_, "zext" | "sext", IntegerType(bits), _, _):
                return bits <= REGISTER_BITS
            case Binary(_, "lshr" | "ashr", _, _, right):
                return self._constants.get(right, 0) >= REGISTER_BITS
            case Binary(_, "and", _, _, right):
                return 0 <= self._constants.get(right, -1) <= _HALF
            case _:
                return False
