"""LLVM's arithmetic, comparison and conversion operators on values of lanes."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.kernels.ir.types import FloatType, IntegerType, Type, VectorType, element_of
from cltrace.kernels.values import (
    Value,
    as_unsigned,
    dtype_of,
    is_native,
    is_wide,
    reinterpret,
    wrap,
)

Operation = Callable[[Value, Value], Value]


def _on_unsigned(operation: Operation) -> Operation:
    """Apply an operation to integers read as unsigned; store the result as signed."""

    def run(left: Value, right: Value) -> Value:
        return operation(as_unsigned(left), as_unsigned(right)).view(left.dtype)

    return run


def _signed_quotient(left: Value, right: Value) -> Value:
    """Divide, rounding towards zero; numpy rounds down."""
    floored = np.floor_divide(left, right)
    inexact = (floored * right != left) & ((left < 0) != (right < 0))
    return (floored + inexact).astype(left.dtype)


def _shift_left(left: Value, right: Value) -> Value:
    return np.left_shift(left, right & (left.dtype.itemsize * 8 - 1))


def _shift_right(left: Value, right: Value) -> Value:
    return np.right_shift(left, right & (left.dtype.itemsize * 8 - 1))


_BINARY: Final[Mapping[str, Operation]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": _shift_left,
    "ashr": _shift_right,
    "lshr": _on_unsigned(_shift_right),
    "udiv": _on_unsigned(np.floor_divide),
    "urem": _on_unsigned(np.remainder),
    "sdiv": _signed_quotient,
    "srem": np.fmod,
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "frem": np.fmod,
}
_BOOL_OPERATIONS: Final[Mapping[str, Operation]] = {
    "add": np.not_equal,
    "sub": np.not_equal,
    "mul": np.logical_and,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.not_equal,
}
"""Operations of 1-bit integers."""


def binary_operation(operator: str, kind: Type) -> Operation:
    """Return the operation of a binary operator on values of a type."""
    element = element_of(kind)
    if element == IntegerType(1):
        run = _BOOL_OPERATIONS.get(operator, lambda left, _: left)
    elif isinstance(element, IntegerType) and not is_native(element):
        run = _odd_width_operation(operator, element.bits)
    else:
        run = _BINARY[operator]
    return elementwise(run) if isinstance(kind, VectorType) else run


def elementwise(run: Operation) -> Operation:
    """Return an operation that applies `run` to each element of vectors."""

    def vector(left: Value, right: Value) -> Value:
        return tuple(map(run, left, right))

    return vector


def _mask_to_unsigned(value: Value, bits: int) -> Value:
    """Read an integer of a width that numpy lacks as unsigned."""
    return value & ((1 << bits) - 1) if bits > 64 else value & np.int64((1 << bits) - 1)


def _quotient(left: Value, right: Value) -> Value:
    return left // right


_UNSIGNED: Final[Mapping[str, Operation]] = {
    "udiv": _quotient,
    "urem": np.fmod,
    "lshr": np.right_shift,
}


def _odd_width_operation(operator: str, bits: int) -> Operation:
    """Return the operation on integers of a width that numpy lacks."""
    if operator in {"udiv", "urem", "lshr"}:
        plain = _UNSIGNED[operator]
        return lambda left, right: wrap(
            plain(_mask_to_unsigned(left, bits), _mask_to_unsigned(right, bits)), bits
        )
    if bits > 64:
        wide: Mapping[str, Operation] = {
            "shl": lambda left, right: left << right,
            "ashr": lambda left, right: left >> right,
        }
        run = wide.get(operator, _BINARY[operator])
        return lambda left, right: wrap(run(left, right), bits)
    return lambda left, right: wrap(_BINARY[operator](left, right), bits)


def _not(operation: Operation) -> Operation:
    return lambda left, right: np.logical_not(operation(left, right))


def _unequal(left: Value, right: Value) -> Value:
    return (left < right) | (left > right)


def _ordered(left: Value, right: Value) -> Value:
    return (left == left) & (right == right)


_FLOAT_COMPARISONS: Final[Mapping[str, Operation]] = {
    "oeq": np.equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "one": _unequal,
    "ord": _ordered,
    "ueq": _not(_unequal),
    "ugt": _not(np.less_equal),
    "uge": _not(np.less),
    "ult": _not(np.greater_equal),
    "ule": _not(np.greater),
    "une": np.not_equal,
    "uno": _not(_ordered),
    "true": lambda left, _: np.equal(left, left) | True,
    "false": lambda left, _: np.equal(left, left) & False,
}
_COMPARISONS: Final[Mapping[str, Operation]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def comparison(predicate: str, kind: Type) -> Operation:
    """Return the operation of a comparison of operands of a type."""
    element = element_of(kind)
    if isinstance(element, FloatType):
        run = _FLOAT_COMPARISONS[predicate]
    elif predicate in {"eq", "ne"}:
        run = _COMPARISONS[predicate]
    else:
        run = _integer_comparison(predicate, element)
    return elementwise(run) if isinstance(kind, VectorType) else run


def _integer_comparison(predicate: str, element: Type) -> Operation:
    plain = _COMPARISONS[predicate[1:]]
    if isinstance(element, IntegerType) and element.bits == 1:
        if predicate[0] == "s":
            return lambda left, right: plain(right, left)
        return plain
    if predicate[0] == "s":
        return plain
    if isinstance(element, IntegerType) and not is_native(element):
        bits = element.bits
        return lambda left, right: plain(
            _mask_to_unsigned(left, bits), _mask_to_unsigned(right, bits)
        )
    return lambda left, right: plain(as_unsigned(left), as_unsigned(right))


def conversion(operator: str, source: Type, kind: Type) -> Callable[[Value], Value]:
    """Return the operation of a conversion."""
    if operator == "bitcast":
        return lambda value: reinterpret(value, source, kind)
    run = _number_conversion(operator, element_of(source), element_of(kind))
    if isinstance(kind, VectorType):
        return lambda value: tuple(map(run, value))
    return run


def _number_conversion(operator: str, source: Type, kind: Type) -> Callable[[Value], Value]:
    dtype = dtype_of(kind)
    match operator:
        case "trunc" if kind == IntegerType(1):
            return lambda value: (value & 1) != 0
        case "trunc":
            return _narrowing(kind)
        case "zext" | "uitofp":
            return lambda value: _zero_extend(value, source).astype(dtype)
        case "sext" if source == IntegerType(1):
            return lambda value: -value.astype(dtype)
        case "sitofp" if source == IntegerType(1):
            return lambda value: -value.astype(dtype)
        case "fptosi" | "fptoui":
            return _float_to_integer(operator, kind)
        case "addrspacecast":
            return lambda value: value
        case _:
            return lambda value: value.astype(dtype)


def _narrowing(kind: Type) -> Callable[[Value], Value]:
    dtype = dtype_of(kind)
    bits = kind.bits if isinstance(kind, IntegerType) else 64

    def run(value: Value) -> Value:
        if is_wide(value):
            return np.asarray(wrap(value, bits)).astype(dtype)[()]
        return value.astype(dtype) if native else wrap(value.astype(dtype), bits)

    native = is_native(kind)
    return run


def _zero_extend(value: Value, source: Type) -> Value:
    if source == IntegerType(1):
        return value
    if isinstance(source, IntegerType) and not is_native(source):
        return _mask_to_unsigned(value, source.bits)
    return as_unsigned(value)


def _float_to_integer(operator: str, kind: Type) -> Callable[[Value], Value]:
    """Return a conversion that rounds towards zero.

    The result for a number out of range is undefined; this conversion gives what most devices give.
    """
    dtype = dtype_of(kind)
    if operator == "fptoui" and dtype == np.int64:
        top = np.float64(2**63)

        def in_halves(value: Value) -> Value:
            wide = value.astype(np.float64)
            high = wide >= top
            low = np.where(high, wide - top, wide).astype(np.int64)
            return np.where(high, low ^ np.int64(-(2**63)), low)[()]

        return in_halves
    if operator == "fptoui":
        return lambda value: value.astype(np.int64).astype(dtype)
    if kind == IntegerType(1):
        return lambda value: value != 0
    return lambda value: value.astype(dtype)
