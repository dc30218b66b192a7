"""Relational functions (OpenCL C 3.0, section 6.15.6): true is 1 for numbers, -1 for vectors."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.ir.types import VectorType
from cltrace.kernels.values import Value, dtype_of, select


def _test(function: Callable[..., Value]) -> Builtin:
    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        true = dtype.type(-1 if isinstance(call.result, VectorType) else 1)
        return lambda *values: select(function(*values), true, dtype.type(0))

    return Builtin(make, CostClass.FLOAT_COMPARE)


def _is_normal(value: Value) -> Value:
    return np.isfinite(value) & (np.abs(value) >= np.finfo(value.dtype).smallest_normal)


def _make_select(call: BuiltinCall) -> Compute:
    """Make `c ? b : a` for numbers; for vectors the highest bit of `c` decides."""
    if isinstance(call.result, VectorType):
        return lambda a, b, c: select(c < 0, b, a)
    return lambda a, b, c: select(c != 0, b, a)


def _make_bit_select(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)
    integer = np.dtype(f"i{dtype.itemsize}")

    def run(a: Value, b: Value, c: Value) -> Value:
        a, b, c = (value.view(integer) for value in (a, b, c))
        return ((a & ~c) | (b & c)).view(dtype)

    return run


def _combine_sign_bits(
    combine: Callable[[Value, Value], Value],
) -> Callable[[BuiltinCall], Compute]:
    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.result)

        def run(vector: Value) -> Value:
            elements = vector if type(vector) is tuple else (vector,)
            combined = elements[0] < 0
            for element in elements[1:]:
                combined = combine(combined, element < 0)
            return combined.astype(dtype)

        return run

    return make


RELATIONAL: Final[Mapping[str, Builtin]] = {
    "isequal": _test(np.equal),
    "isnotequal": _test(np.not_equal),
    "isgreater": _test(np.greater),
    "isgreaterequal": _test(np.greater_equal),
    "isless": _test(np.less),
    "islessequal": _test(np.less_equal),
    "islessgreater": _test(lambda x, y: (x < y) | (x > y)),
    "isfinite": _test(np.isfinite),
    "isinf": _test(np.isinf),
    "isnan": _test(np.isnan),
    "isnormal": _test(_is_normal),
    "isordered": _test(lambda x, y: ~(np.isnan(x) | np.isnan(y))),
    "isunordered": _test(lambda x, y: np.isnan(x) | np.isnan(y)),
    "signbit": _test(np.signbit),
    "select": Builtin(_make_select, CostClass.SELECT),
    "bitselect": Builtin(_make_bit_select, CostClass.INT_LOGIC),
    "any": Builtin(_combine_sign_bits(np.logical_or), CostClass.INT_LOGIC, elementwise=False),
    "all": Builtin(_combine_sign_bits(np.logical_and), CostClass.INT_LOGIC, elementwise=False),
}
"""Comparisons, tests and selections."""
