"""Operations as a CPU's compiler leaves them that does not inline built-in functions, as that of PoCL."""

import math
from dataclasses import replace
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import OF_LONG, Operation
from cltrace.kernels.fold.item_loops import is_function_call
from cltrace.kernels.ir.instructions import Call, Convert, Instruction, Terminator
from cltrace.kernels.ir.types import IntegerType, element_of, size_bytes

_CALLED_ANYWAY: Final = frozenset(
    {
        CostClass.SPECIAL, CostClass.BARRIER, CostClass.COLLECTIVE, CostClass.ATOMIC, CostClass.IMAGE,
        CostClass.LOAD, CostClass.STORE,
    }
)  # fmt: skip
"""Operations whose cost contains that of calling their function, or is that of memory."""
_FRACTIONS: Final = frozenset({"uitofp", "sitofp", "fptoui", "fptosi"})
_LONG_BITS: Final = 64
_CALL_BYTES: Final = 16
"""Bytes of a vector that one call of a function works on."""


def called(operation: Operation, item: Instruction | Terminator) -> Operation:
    """Return an operation as a CPU's compiler leaves it that does not inline built-in functions.

    Simple functions cost what calling one does. A product and a sum that are not a call are one
    instruction, as a product is.
    """
    if operation.cost is CostClass.CONVERT and _is_of_long(item):
        return replace(operation, function=OF_LONG)
    if operation.cost is CostClass.FLOAT_MULTIPLY_ADD and not is_function_call(item):
        return replace(operation, cost=CostClass.FLOAT_MULTIPLY, function="")
    if operation.cost in _CALLED_ANYWAY or not is_function_call(item):
        return operation
    kind = operation.type if operation.type == "double" else "float"
    return Operation(kind, CostClass.SPECIAL, "mad")


def _is_of_long(item: Instruction | Terminator) -> bool:
    """Return True for a conversion between an integer of 64 bits and a number with a fraction."""
    if not isinstance(item, Convert) or item.operator not in _FRACTIONS:
        return False
    kinds = (element_of(item.type), element_of(item.source))
    return any(isinstance(kind, IntegerType) and kind.bits == _LONG_BITS for kind in kinds)


def number_of_calls(item: Instruction | Terminator, elements: int) -> int:
    """Return how often a function of so many elements is called: a call works on a part of a vector.

    Other operations are as many as there are elements.
    """
    if elements == 1 or not isinstance(item, Call) or not is_function_call(item):
        return elements
    widest = max(map(size_bytes, (item.type, *item.argument_types)))
    return math.ceil(widest / _CALL_BYTES)
