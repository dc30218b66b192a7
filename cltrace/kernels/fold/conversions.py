"""Conversions of integers to numbers with a fraction, by what a GPU executes for them.

Checked on what NVIDIA's assembler makes of the driver's PTX: an integer of 32 bits, and one of 8 or 16
bits without a sign, take one instruction of the pipe of logic (`I2FP`). An element of a vector without
signs is cut out of its register first (`PRMT`). A number of 8 or 16 bits with a sign is converted by the
pipe of special functions (`I2F`), which takes it from a part of a register as well.
"""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.operation import PART_TO_FLOAT, TO_FLOAT
from cltrace.kernels.fold.wide_integers import REGISTER_BITS
from cltrace.kernels.ir.instructions import (
    Call,
    Convert,
    ExtractElement,
    Instruction,
    Terminator,
)
from cltrace.kernels.ir.types import FloatType, IntegerType, Type, VectorType, element_of

_SIGNED_PARTS: Final = frozenset({"a", "c", "s"})
"""The ABI's letters of integers with a sign that are narrower than a register."""


def conversion_function(
    item: Instruction | Terminator, defined: Mapping[int, Instruction]
) -> str | None:
    """Return the function of a conversion to a float of at most 32 bits, None for all others."""
    match item:
        case Convert(operator="uitofp" | "sitofp" as operator):
            is_signed = operator == "sitofp"
            return _function(item.source, item.type, defined.get(item.operand), is_signed=is_signed)
        case Call() if len(item.arguments) == 1 and _is_conversion(item):
            kind = demangle(item.callee).parameters[0]
            is_signed = kind.code in _SIGNED_PARTS
            source = item.argument_types[0]
            origin = defined.get(item.arguments[0])
            return _function(source, item.type, origin, is_signed=is_signed)
        case _:
            return None


def _is_conversion(call: Call) -> bool:
    signature = demangle(call.callee)
    return bool(signature.parameters) and base_name(signature).startswith("convert_float")


def _function(
    source: Type, result: Type, origin: Instruction | None, *, is_signed: bool
) -> str | None:
    element, fraction = element_of(source), element_of(result)
    if not isinstance(element, IntegerType) or not isinstance(fraction, FloatType):
        return None
    if max(element.bits, fraction.bits) > REGISTER_BITS:
        return None
    if element.bits == REGISTER_BITS:
        return TO_FLOAT
    if is_signed:
        return None
    is_part = isinstance(source, VectorType) or isinstance(origin, ExtractElement)
    return PART_TO_FLOAT if is_part else TO_FLOAT
