"""Values as sums of another one and a constant, as far as signed numbers make them so."""

from typing import Final

from cltrace.kernels.ir.instructions import Binary, Convert, Copy
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import result_of

SIGNED: Final = frozenset({"slt", "sle", "sgt", "sge"})
"""Predicates of signed numbers."""


class SignedSums:
    """Sums of the values of a function and constants.

    `is_signed` is whether they are compared as signed numbers: these are sums of such, whose overflow is
    not defined.
    """

    def __init__(self, function: Function, *, is_signed: bool) -> None:
        self._is_signed = is_signed
        self._constants = function.integer_constants()
        self._defined = {
            result_of(item): item for block in function.blocks for item in block.instructions
        }

    def of(self, slot: int) -> tuple[int | None, int]:
        """Return the value and the constant whose sum a value is; no value for a constant."""
        constant = 0
        while slot not in self._constants:
            match self._defined.get(slot):
                case Binary(_, "add" | "sub" as operator, _, left, right) as item if (
                    right in self._constants and (self._is_signed or item.is_signed)
                ):
                    sign = 1 if operator == "add" else -1
                    slot, constant = left, constant + sign * self._constants[right]
                case Convert(_, "sext", _, _, operand) | Copy(_, _, operand):
                    slot = operand
                case _:
                    return slot, constant
        return None, constant + self._constants[slot]
