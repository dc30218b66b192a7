"""Places that are computed with fractions from a work-item's ids and from contents.

A rotation or a flow moves what lies at `(int)(x + dx[i])`: a work-item reads around the place of its own
ids, and its neighbours around theirs. Where only contents give the place, as in a table or a histogram,
nothing is known of it.
"""

from collections.abc import Callable
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.flow.dependencies import DataDependencies, is_pure
from cltrace.kernels.flow.id_quotients import is_id
from cltrace.kernels.flow.taint import Taint
from cltrace.kernels.ir.instructions import (
    Binary,
    Call,
    Convert,
    Copy,
    ExtractElement,
    InsertElement,
    Instruction,
    Negate,
    Offset,
    Select,
)
from cltrace.kernels.ir.uses import operands_of, result_of

_TO_FRACTION: Final = frozenset({"sitofp", "uitofp"})
_TO_INTEGER: Final = frozenset({"fptosi", "fptoui"})
_INTEGERS: Final = ("convert_int", "convert_uint")
_MAX_FACTOR: Final = 1 << 16
"""Largest constant that a place is multiplied by: those of random numbers are larger."""


def find_near_places(dependencies: DataDependencies, taint: Taint) -> frozenset[int]:
    """Return the slots of values that unknown contents move, with fractions, away from ids."""
    if not any(_converts(item, _TO_INTEGER, *_INTEGERS) for _, item in dependencies.instructions):
        return frozenset()
    ids = _computed_from(dependencies, is_id)
    fractions = _computed_from(dependencies, lambda item: _is_fraction_of(item, ids))
    moved = {
        result_of(item)
        for number, item in dependencies.instructions
        if _converts(item, _TO_INTEGER, *_INTEGERS)
        and not fractions.isdisjoint(operands_of(item))
        and taint.reaches(operands_of(item), number)
    }
    return (
        _computed_from(dependencies, lambda item: result_of(item) in moved)
        if moved
        else frozenset()
    )


def _is_fraction_of(item: Instruction, ids: frozenset[int]) -> bool:
    is_fraction = _converts(item, _TO_FRACTION, "convert_float", "convert_double")
    return is_fraction and not ids.isdisjoint(operands_of(item))


def _converts(item: Instruction, operators: frozenset[str], *functions: str) -> bool:
    """Return True for a conversion by LLVM, or by one of OpenCL's functions of any width and rounding."""
    if isinstance(item, Convert):
        return item.operator in operators
    return isinstance(item, Call) and base_name(demangle(item.callee)).startswith(functions)


def _computed_from(
    dependencies: DataDependencies, is_source: Callable[[Instruction], bool]
) -> frozenset[int]:
    """Return the slots of sources and of what is computed from them without reading memory."""
    constants = dependencies.function.integer_constants().items()
    factors = frozenset(slot for slot, value in constants if abs(value) > _MAX_FACTOR)
    return dependencies.forward_slice(is_source, passes_on=lambda item: _keeps_order(item, factors))


def _keeps_order(item: Instruction, factors: frozenset[int]) -> bool:
    """Return True for arithmetic but for that of random numbers, which has one of large `factors`."""
    if isinstance(item, Binary):
        is_mixed = item.operator == "xor" or not factors.isdisjoint((item.left, item.right))
        return not is_mixed
    if isinstance(item, Call):
        return result_of(item) >= 0 and is_pure(item)
    return isinstance(
        item,
        Convert | Copy | ExtractElement | InsertElement | Negate | Offset | Select,
    )
