"""Geometric functions (OpenCL C 3.0, section 6.15.5), and shuffles of vectors (6.15.14)."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.ir.types import VectorType
from cltrace.kernels.values import Value, dtype_of

_Vector = tuple[Value, ...]


def _elements(value: Value) -> _Vector:
    elements = value if type(value) is tuple else (value,)
    return tuple(element.astype(np.float64) for element in elements)


def _dot(left: _Vector, right: _Vector) -> Value:
    return sum((a * b for a, b in zip(left[1:], right[1:], strict=True)), left[0] * right[0])


def _reduce_to_number(function: Callable[..., Value]) -> Callable[[BuiltinCall], Compute]:
    """Make a builtin that computes a number from vectors in double precision."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.result)
        return lambda *values: function(*map(_elements, values)).astype(dtype)

    return make


def _length(vector: _Vector) -> Value:
    size = np.fmax.reduce([np.abs(element) for element in np.broadcast_arrays(*vector)])
    scale = np.where((size > 0) & np.isfinite(size), size, 1.0)
    parts = tuple(element / scale for element in vector)
    return np.sqrt(_dot(parts, parts)) * scale


def _distance(left: _Vector, right: _Vector) -> Value:
    return _length(tuple(a - b for a, b in zip(left, right, strict=True)))


def _make_normalize(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)

    def run(value: Value) -> Value:
        vector = _elements(value)
        length = _length(vector)
        normalized = tuple(
            np.where(length == 0, element, element / np.where(length == 0, 1.0, length)).astype(
                dtype
            )
            for element in vector
        )
        return normalized if type(value) is tuple else normalized[0]

    return run


def _make_cross(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)

    def run(left: Value, right: Value) -> Value:
        a, b = _elements(left), _elements(right)
        product = [
            (a[1] * b[2] - a[2] * b[1]).astype(dtype),
            (a[2] * b[0] - a[0] * b[2]).astype(dtype),
            (a[0] * b[1] - a[1] * b[0]).astype(dtype),
        ]
        return (*product, dtype.type(0)) if len(a) == 4 else tuple(product)

    return run


def _make_shuffle(call: BuiltinCall) -> Compute:
    """Make a function that picks elements of one or two vectors by a vector of positions."""
    count = call.result.count if isinstance(call.result, VectorType) else 1

    def run(*values: Value) -> Value:
        *vectors, mask = values
        pool = [element for vector in vectors for element in vector]
        return tuple(_pick(pool, mask[index]) for index in range(count))

    return run


def _pick(pool: list[Value], position: Value) -> Value:
    within = position & (len(pool) - 1)
    if type(within) is not np.ndarray:
        return pool[int(within)]
    stacked = np.stack([np.broadcast_to(element, within.shape) for element in pool])
    return stacked[within, np.arange(len(within))]


GEOMETRIC: Final[Mapping[str, Builtin]] = {
    "dot": Builtin(_reduce_to_number(_dot), CostClass.FLOAT_MULTIPLY_ADD, elementwise=False),
    "length": Builtin(_reduce_to_number(_length), CostClass.SPECIAL, elementwise=False),
    "fast_length": Builtin(_reduce_to_number(_length), CostClass.SPECIAL, elementwise=False),
    "distance": Builtin(_reduce_to_number(_distance), CostClass.SPECIAL, elementwise=False),
    "fast_distance": Builtin(_reduce_to_number(_distance), CostClass.SPECIAL, elementwise=False),
    "normalize": Builtin(_make_normalize, CostClass.SPECIAL, elementwise=False),
    "fast_normalize": Builtin(_make_normalize, CostClass.SPECIAL, elementwise=False),
    "cross": Builtin(_make_cross, CostClass.FLOAT_MULTIPLY_ADD, elementwise=False),
    "shuffle": Builtin(_make_shuffle, CostClass.MOVE, elementwise=False),
    "shuffle2": Builtin(_make_shuffle, CostClass.MOVE, elementwise=False),
}
"""Functions of whole vectors."""
