"""Intrinsics of LLVM that an optimiser puts in the place of what was written."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.builtins.exact import fused_multiply_add
from cltrace.kernels.builtins.integers import (
    add_saturated,
    leading_zeros,
    population,
    reverse_bits,
    subtract_saturated,
    trailing_zeros,
)
from cltrace.kernels.builtins.maths import MATHS
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Value, dtype_of, unsigned


def _plain(compute: Compute, cost: CostClass) -> Builtin:
    return Builtin(lambda _: compute, cost)


def _read_unsigned(compute: Compute, cost: CostClass) -> Builtin:
    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        return lambda *values: compute(*map(unsigned, values)).astype(dtype)

    return Builtin(make, cost)


def _count(compute: Compute) -> Builtin:
    """A count of bits. The second argument, whether zero is undefined, changes nothing."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        return lambda value, *_: np.asarray(compute(value)).astype(dtype)[()]

    return Builtin(make, CostClass.INT_LOGIC)


def _funnel_left(high: Value, low: Value, amount: Value) -> Value:
    bits = high.dtype.itemsize * 8
    by = unsigned(amount) % unsigned(amount).dtype.type(bits)
    back = by.dtype.type(bits) - by
    left = unsigned(high) << by
    right = np.where(by == 0, by.dtype.type(0), unsigned(low) >> (back % by.dtype.type(bits)))
    return (left | right).view(high.dtype)


def _funnel_right(high: Value, low: Value, amount: Value) -> Value:
    bits = high.dtype.itemsize * 8
    by = unsigned(amount) % unsigned(amount).dtype.type(bits)
    back = by.dtype.type(bits) - by
    right = unsigned(low) >> by
    left = np.where(by == 0, by.dtype.type(0), unsigned(high) << (back % by.dtype.type(bits)))
    return (left | right).view(high.dtype)


def _multiply_add(left: Value, right: Value, addend: Value) -> Value:
    """What may be contracted. It is computed as a device with the instruction does."""
    return fused_multiply_add(left, right, addend)


def _compared(sign: str) -> Builtin:
    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)

        def run(left: Value, right: Value) -> Value:
            if sign == "u":
                left, right = unsigned(left), unsigned(right)
            above = (left > right).astype(dtype)
            return above - (left < right).astype(dtype)

        return run

    return Builtin(make, CostClass.INT_COMPARE)


def _with_overflow(operator: str, sign: str) -> Builtin:
    """A result and whether it is not the true one."""

    def make(_: BuiltinCall) -> Compute:
        def run(left: Value, right: Value) -> Value:
            a, b = (unsigned(left), unsigned(right)) if sign == "u" else (left, right)
            exact = _EXACT[operator](np.asarray(a).astype(object), np.asarray(b).astype(object))
            found = _EXACT[operator](a, b)
            over = np.asarray(np.asarray(found).astype(object) != exact).astype(np.bool_)
            return found.view(left.dtype), over[()]

        return run

    return Builtin(make, CostClass.INT_ADD, elementwise=False)


_EXACT: Final[Mapping[str, Compute]] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def _reduced(name: str) -> Builtin:
    compute, cost = _REDUCTIONS[name]

    def make(_: BuiltinCall) -> Compute:
        def run(*values: Value) -> Value:
            *start, vector = values
            found = start[0] if start else vector[0]
            for element in vector[0 if start else 1 :]:
                found = compute(found, element)
            return found

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
    "umax": (lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype), CostClass.SELECT),
    "umin": (lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype), CostClass.SELECT),
    "fadd": (np.add, CostClass.FLOAT_ADD),
    "fmul": (np.multiply, CostClass.FLOAT_MULTIPLY),
    "fmax": (np.fmax, CostClass.FLOAT_COMPARE),
    "fmin": (np.fmin, CostClass.FLOAT_COMPARE),
}
_SAME: Final = (
    "sqrt", "sin", "cos", "tan", "exp", "exp2", "log", "log2", "log10", "pow", "fabs", "floor", "ceil",
    "trunc", "rint", "round", "copysign", "fma",
)  # fmt: skip
"""Intrinsics that are OpenCL's functions of the same name."""

INTRINSICS: Final[Mapping[str, Builtin]] = {
    **{f"llvm.{name}": MATHS[name] for name in _SAME},
    **{f"llvm.vector.reduce.{name}": _reduced(name) for name in _REDUCTIONS},
    **{
        f"llvm.{sign}{operator}.with.overflow": _with_overflow(operator, sign)
        for sign in "su"
        for operator in _EXACT
    },
    "llvm.nearbyint": MATHS["rint"],
    "llvm.roundeven": MATHS["rint"],
    "llvm.fmuladd": _plain(_multiply_add, CostClass.FLOAT_MULTIPLY_ADD),
    "llvm.maxnum": _plain(np.fmax, CostClass.FLOAT_COMPARE),
    "llvm.minnum": _plain(np.fmin, CostClass.FLOAT_COMPARE),
    "llvm.maximumnum": _plain(np.fmax, CostClass.FLOAT_COMPARE),
    "llvm.minimumnum": _plain(np.fmin, CostClass.FLOAT_COMPARE),
    "llvm.maximum": _plain(np.maximum, CostClass.FLOAT_COMPARE),
    "llvm.minimum": _plain(np.minimum, CostClass.FLOAT_COMPARE),
    "llvm.smax": _plain(np.maximum, CostClass.SELECT),
    "llvm.smin": _plain(np.minimum, CostClass.SELECT),
    "llvm.umax": _read_unsigned(np.maximum, CostClass.SELECT),
    "llvm.umin": _read_unsigned(np.minimum, CostClass.SELECT),
    "llvm.abs": _plain(lambda value, _: np.abs(value), CostClass.INT_LOGIC),
    "llvm.scmp": _compared("s"),
    "llvm.ucmp": _compared("u"),
    "llvm.ctlz": _count(leading_zeros),
    "llvm.cttz": _count(trailing_zeros),
    "llvm.ctpop": _count(population),
    "llvm.bitreverse": _count(reverse_bits),
    "llvm.bswap": _plain(lambda value: value.byteswap(), CostClass.INT_LOGIC),
    "llvm.fshl": _plain(_funnel_left, CostClass.INT_LOGIC),
    "llvm.fshr": _plain(_funnel_right, CostClass.INT_LOGIC),
    "llvm.sadd.sat": _plain(add_saturated, CostClass.INT_ADD),
    "llvm.ssub.sat": _plain(subtract_saturated, CostClass.INT_ADD),
    "llvm.uadd.sat": _read_unsigned(add_saturated, CostClass.INT_ADD),
    "llvm.usub.sat": _read_unsigned(subtract_saturated, CostClass.INT_ADD),
    "llvm.expect": _plain(lambda value, _: value, CostClass.MOVE),
    "llvm.canonicalize": _plain(lambda value: value, CostClass.MOVE),
}
"""Intrinsics by name, without the types that the name ends in."""
