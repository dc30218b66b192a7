"""Functions of integers (OpenCL C 3.0, section 6.15.3)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Array, Value, dtype_of, unsigned

_Function = Callable[..., Value]


def _typed(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """A function of integers that have the signs of its parameters."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        kinds = call.parameters

        def run(*values: Value) -> Value:
            read = [
                unsigned(value) if kind.is_unsigned else value
                for value, kind in zip(values, kinds, strict=True)
            ]
            return _kept(function(*read), dtype)

        return run

    return make


def _kept(value: Value, dtype: np.dtype[Any]) -> Value:
    """An integer as it is kept: with a sign."""
    found = np.asarray(value)
    return found.astype(dtype)[()]


def _difference(left: Value, right: Value) -> Value:
    larger, smaller = np.maximum(left, right), np.minimum(left, right)
    return unsigned(larger) - unsigned(smaller)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    information = np.iinfo(dtype)
    return int(information.min), int(information.max)


def add_saturated(left: Value, right: Value) -> Value:
    """A sum, at most and at least what its type holds."""
    low, high = _limits(left.dtype)
    total = left + right
    if low == 0:
        return np.where(total < left, left.dtype.type(high), total)
    over = (left >= 0) & (right >= 0) & (total < 0)
    under = (left < 0) & (right < 0) & (total >= 0)
    return np.where(over, left.dtype.type(high), np.where(under, left.dtype.type(low), total))


def subtract_saturated(left: Value, right: Value) -> Value:
    """A difference, at most and at least what its type holds."""
    low, high = _limits(left.dtype)
    rest = left - right
    if low == 0:
        return np.where(left < right, left.dtype.type(0), rest)
    over = (left >= 0) & (right < 0) & (rest < 0)
    under = (left < 0) & (right >= 0) & (rest >= 0)
    return np.where(over, left.dtype.type(high), np.where(under, left.dtype.type(low), rest))


def _half_sum(left: Value, right: Value) -> Value:
    return (left & right) + ((left ^ right) >> 1)


def _rounded_half_sum(left: Value, right: Value) -> Value:
    return (left | right) - ((left ^ right) >> 1)


def multiply_high(left: Value, right: Value) -> Value:
    """The upper half of a product of twice the width."""
    bits = left.dtype.itemsize * 8
    if bits < 64:
        wide = np.int64 if left.dtype.kind == "i" else np.uint64
        return ((left.astype(wide) * right.astype(wide)) >> bits).astype(left.dtype)
    high = _high_of_unsigned(left.astype(np.uint64), right.astype(np.uint64))
    if left.dtype.kind == "u":
        return high
    correction = np.where(left < 0, right, 0) + np.where(right < 0, left, 0)
    return high.astype(np.int64) - correction


def _high_of_unsigned(left: Array, right: Array) -> Array:
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = left >> half, left & mask
    c, d = right >> half, right & mask
    low = b * d
    middle = a * d + (low >> half)
    other = b * c + (middle & mask)
    found: Array = a * c + (middle >> half) + (other >> half)
    return found


def _multiply_add_saturated(left: Value, right: Value, addend: Value) -> Value:
    low, high = _limits(left.dtype)
    exact = left.astype(object) * right.astype(object) + addend.astype(object)
    clipped = np.minimum(np.maximum(exact, low), high)
    return np.asarray(clipped).astype(left.dtype)[()]


def _of_24_bits(value: Value) -> Value:
    eight = value.dtype.type(8)
    return (value << eight) >> eight


def leading_zeros(value: Value) -> Value:
    """How many of the highest bits are zero."""
    found = unsigned(value)
    bits = value.dtype.itemsize * 8
    count = np.full(np.shape(found), bits, found.dtype)
    step = bits // 2
    rest = found
    while step:
        upper = rest >> found.dtype.type(step)
        count = np.where(upper != 0, count - found.dtype.type(step), count)
        rest = np.where(upper != 0, upper, rest)
        step //= 2
    return count - rest.astype(found.dtype)


def population(value: Value) -> Value:
    """How many bits are set."""
    raw = np.ascontiguousarray(np.atleast_1d(value)).view(np.uint8)
    counts = _BITS_SET[raw].reshape(*np.atleast_1d(value).shape, value.dtype.itemsize).sum(axis=-1)
    return counts.reshape(np.shape(value))


_BITS_SET: Final = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def trailing_zeros(value: Value) -> Value:
    """How many of the lowest bits are zero."""
    found = unsigned(value)
    one = found.dtype.type(1)
    return population(~found & (found - one))


def rotate_left(value: Value, amount: Value) -> Value:
    """Bits moved up, those that leave at the top coming in at the bottom."""
    found = unsigned(value)
    bits = found.dtype.type(value.dtype.itemsize * 8)
    by = unsigned(amount) & (bits - found.dtype.type(1))
    back = (bits - by) & (bits - found.dtype.type(1))
    return (found << by) | (found >> back)


def reverse_bits(value: Value) -> Value:
    """Bits in the other order."""
    raw = np.ascontiguousarray(np.atleast_1d(value)).view(np.uint8)
    rows = raw.reshape(-1, value.dtype.itemsize)
    turned = _TURNED[rows[:, ::-1]]
    return np.ascontiguousarray(turned).view(value.dtype).reshape(np.shape(value))


_TURNED: Final = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


def _upsample(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)
    bits = dtype.itemsize * 4

    def run(high: Value, low: Value) -> Value:
        return (high.astype(dtype) << dtype.type(bits)) | unsigned(low).astype(dtype)

    return run


INTEGERS: Final[Mapping[str, Builtin]] = {
    "abs": Builtin(_typed(np.abs), CostClass.INT_LOGIC),
    "abs_diff": Builtin(_typed(_difference), CostClass.INT_ADD),
    "add_sat": Builtin(_typed(add_saturated), CostClass.INT_ADD),
    "sub_sat": Builtin(_typed(subtract_saturated), CostClass.INT_ADD),
    "hadd": Builtin(_typed(_half_sum), CostClass.INT_ADD),
    "rhadd": Builtin(_typed(_rounded_half_sum), CostClass.INT_ADD),
    "clz": Builtin(_typed(leading_zeros), CostClass.INT_LOGIC),
    "ctz": Builtin(_typed(trailing_zeros), CostClass.INT_LOGIC),
    "popcount": Builtin(_typed(population), CostClass.INT_LOGIC),
    "bit_reverse": Builtin(_typed(reverse_bits), CostClass.INT_LOGIC),
    "mad_hi": Builtin(_typed(lambda a, b, c: multiply_high(a, b) + c), CostClass.INT_MULTIPLY),
    "mad_sat": Builtin(_typed(_multiply_add_saturated), CostClass.INT_MULTIPLY),
    "mad24": Builtin(
        _typed(lambda a, b, c: _of_24_bits(a) * _of_24_bits(b) + c), CostClass.INT_MULTIPLY
    ),
    "mul24": Builtin(_typed(lambda a, b: _of_24_bits(a) * _of_24_bits(b)), CostClass.INT_MULTIPLY),
    "mul_hi": Builtin(_typed(multiply_high), CostClass.INT_MULTIPLY),
    "rotate": Builtin(_typed(rotate_left), CostClass.INT_LOGIC),
    "upsample": Builtin(_upsample, CostClass.INT_LOGIC),
}
"""Functions of integers; those that floating-point numbers have too are among the common ones."""
