"""LLVM intrinsics that an optimiser substitutes for the code as written."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.builtins.exact import fused_multiply_add
from cltrace.kernels.builtins.integers import (
    add_saturated,
    count_leading_zeros,
    count_set_bits,
    count_trailing_zeros,
    reverse_bits,
    subtract_saturated,
)
from cltrace.kernels.builtins.maths import MATHS
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Value, as_unsigned, dtype_of


def _untyped(compute: Compute, cost: CostClass) -> Builtin:
    return Builtin(lambda _: compute, cost)


def _on_unsigned(compute: Compute, cost: CostClass) -> Builtin:
    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        return lambda *values: compute(*map(as_unsigned, values)).astype(dtype)

    return Builtin(make, cost)


def _bit_operation(compute: Compute) -> Builtin:
    """Make a bit operation. A second argument, the flag that a zero is undefined, is ignored."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        return lambda value, *_: np.asarray(compute(value)).astype(dtype)[()]

    return Builtin(make, CostClass.INT_LOGIC)


def _funnel_left(high: Value, low: Value, amount: Value) -> Value:
    bits = high.dtype.itemsize * 8
    shift = as_unsigned(amount) % as_unsigned(amount).dtype.type(bits)
    rest = shift.dtype.type(bits) - shift
    left = as_unsigned(high) << shift
    right = np.where(
        shift == 0, shift.dtype.type(0), as_unsigned(low) >> (rest % shift.dtype.type(bits))
    )
    return (left | right).view(high.dtype)


def _funnel_right(high: Value, low: Value, amount: Value) -> Value:
    bits = high.dtype.itemsize * 8
    shift = as_unsigned(amount) % as_unsigned(amount).dtype.type(bits)
    rest = shift.dtype.type(bits) - shift
    right = as_unsigned(low) >> shift
    left = np.where(
        shift == 0, shift.dtype.type(0), as_unsigned(high) << (rest % shift.dtype.type(bits))
    )
    return (left | right).view(high.dtype)


def _multiply_add(left: Value, right: Value, addend: Value) -> Value:
    """Return `llvm.fmuladd`, which may be contracted, as a device with fused multiply-add does."""
    return fused_multiply_add(left, right, addend)


def _three_way_comparison(sign: str) -> Builtin:
    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)

        def run(left: Value, right: Value) -> Value:
            if sign == "u":
                left, right = as_unsigned(left), as_unsigned(right)
            above = (left > right).astype(dtype)
            return above - (left < right).astype(dtype)

        return run

    return Builtin(make, CostClass.INT_COMPARE)


def _with_overflow(operator: str, sign: str) -> Builtin:
    """Make an operation that returns its result and an overflow flag."""

    def make(_: BuiltinCall) -> Compute:
        def run(left: Value, right: Value) -> Value:
            a, b = (as_unsigned(left), as_unsigned(right)) if sign == "u" else (left, right)
            exact = _OPERATORS[operator](np.asarray(a).astype(object), np.asarray(b).astype(object))
            result = _OPERATORS[operator](a, b)
            overflow = np.asarray(np.asarray(result).astype(object) != exact).astype(np.bool_)
            return result.view(left.dtype), overflow[()]

        return run

    return Builtin(make, CostClass.INT_ADD, elementwise=False)


_OPERATORS: Final[Mapping[str, Compute]] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def _vector_reduction(name: str) -> Builtin:
    compute, cost = _REDUCTIONS[name]

    def make(_: BuiltinCall) -> Compute:
        def run(*values: Value) -> Value:
            *start, vector = values
            total = start[0] if start else vector[0]
            for element in vector[0 if start else 1 :]:
                total = compute(total, element)
            return total

        return run

    return Builtin(make, cost, elementwise=False)


_REDUCTIONS: Final[Mapping[str, tuple[Compute, CostClass]]] = {
    "add": (np.add, CostClass.INT_ADD),
    "mul": (np.multiply, CostClass.INT_MULTIPLY),
    "and": (np.bitwise_and, CostClass.INT_LOGIC),
    "or": (np.bitwise_or, CostClass.INT_LOGIC),
    "xor": (np.bitwise_xor, CostClass.INT_LOGIC),
    "smax": (np.maximum, CostClass.SELECT),
    "smin": (np.minimum, CostClass.SELECT),
    "umax": (
        lambda a, b: np.maximum(as_unsigned(a), as_unsigned(b)).view(a.dtype),
        CostClass.SELECT,
    ),
    "umin": (
        lambda a, b: np.minimum(as_unsigned(a), as_unsigned(b)).view(a.dtype),
        CostClass.SELECT,
    ),
    "fadd": (np.add, CostClass.FLOAT_ADD),
    "fmul": (np.multiply, CostClass.FLOAT_MULTIPLY),
    "fmax": (np.fmax, CostClass.FLOAT_COMPARE),
    "fmin": (np.fmin, CostClass.FLOAT_COMPARE),
}
_SAME_NAME: Final = (
    "sqrt",
    "sin",
    "cos",
    "tan",
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "pow",
    "fabs",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "copysign",
    "fma",
)
"""Intrinsics that are OpenCL builtins of the same name."""

INTRINSICS: Final[Mapping[str, Builtin]] = {
    **{f"llvm.{name}": MATHS[name] for name in _SAME_NAME},
    **{f"llvm.vector.reduce.{name}": _vector_reduction(name) for name in _REDUCTIONS},
    **{
        f"llvm.{sign}{operator}.with.overflow": _with_overflow(operator, sign)
        for sign in "su"
        for operator in _OPERATORS
    },
    "llvm.nearbyint": MATHS["rint"],
    "llvm.roundeven": MATHS["rint"],
    "llvm.fmuladd": _untyped(_multiply_add, CostClass.FLOAT_MULTIPLY_ADD),
    "llvm.maxnum": _untyped(np.fmax, CostClass.FLOAT_COMPARE),
    "llvm.minnum": _untyped(np.fmin, CostClass.FLOAT_COMPARE),
    "llvm.maximumnum": _untyped(np.fmax, CostClass.FLOAT_COMPARE),
    "llvm.minimumnum": _untyped(np.fmin, CostClass.FLOAT_COMPARE),
    "llvm.maximum": _untyped(np.maximum, CostClass.FLOAT_COMPARE),
    "llvm.minimum": _untyped(np.minimum, CostClass.FLOAT_COMPARE),
    "llvm.smax": _untyped(np.maximum, CostClass.SELECT),
    "llvm.smin": _untyped(np.minimum, CostClass.SELECT),
    "llvm.umax": _on_unsigned(np.maximum, CostClass.SELECT),
    "llvm.umin": _on_unsigned(np.minimum, CostClass.SELECT),
    "llvm.abs": _untyped(lambda value, _: np.abs(value), CostClass.INT_LOGIC),
    "llvm.scmp": _three_way_comparison("s"),
    "llvm.ucmp": _three_way_comparison("u"),
    "llvm.ctlz": _bit_operation(count_leading_zeros),
    "llvm.cttz": _bit_operation(count_trailing_zeros),
    "llvm.ctpop": _bit_operation(count_set_bits),
    "llvm.bitreverse": _bit_operation(reverse_bits),
    "llvm.bswap": _untyped(lambda value: value.byteswap(), CostClass.INT_LOGIC),
    "llvm.fshl": _untyped(_funnel_left, CostClass.INT_LOGIC),
    "llvm.fshr": _untyped(_funnel_right, CostClass.INT_LOGIC),
    "llvm.sadd.sat": _untyped(add_saturated, CostClass.INT_ADD),
    "llvm.ssub.sat": _untyped(subtract_saturated, CostClass.INT_ADD),
    "llvm.uadd.sat": _on_unsigned(add_saturated, CostClass.INT_ADD),
    "llvm.usub.sat": _on_unsigned(subtract_saturated, CostClass.INT_ADD),
    "llvm.expect": _untyped(lambda value, _: value, CostClass.MOVE),
    "llvm.canonicalize": _untyped(lambda value: value, CostClass.MOVE),
}
"""Intrinsics by name, without type suffixes."""
