"""Functions of integers (OpenCL C 3.0, section 6.15.3)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.values import Array, Value, as_unsigned, dtype_of

_Function = Callable[..., Value]


def _with_signs(function: _Function) -> Callable[[BuiltinCall], Compute]:
    """Make a builtin from a function of integers, which get the signedness of its parameters."""

    def make(call: BuiltinCall) -> Compute:
        dtype = dtype_of(call.element)
        kinds = call.parameters

        def run(*values: Value) -> Value:
            operands = [
                as_unsigned(value) if kind.is_unsigned else value
                for value, kind in zip(values, kinds, strict=True)
            ]
            return _as_signed(function(*operands), dtype)

        return run

    return make


def _as_signed(value: Value, dtype: np.dtype[Any]) -> Value:
    """Convert an integer to `dtype`, the signed type in which integers are kept."""
    array = np.asarray(value)
    return array.astype(dtype)[()]


def _difference(left: Value, right: Value) -> Value:
    larger, smaller = np.maximum(left, right), np.minimum(left, right)
    return as_unsigned(larger) - as_unsigned(smaller)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    information = np.iinfo(dtype)
    return int(information.min), int(information.max)


def add_saturated(left: Value, right: Value) -> Value:
    """Return a sum, saturated to the range of its type."""
    low, high = _limits(left.dtype)
    total = left + right
    if low == 0:
        return np.where(total < left, left.dtype.type(high), total)
    over = (left >= 0) & (right >= 0) & (total < 0)
    under = (left < 0) & (right < 0) & (total >= 0)
    return np.where(over, left.dtype.type(high), np.where(under, left.dtype.type(low), total))


def subtract_saturated(left: Value, right: Value) -> Value:
    """Return a difference, saturated to the range of its type."""
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
    """Return the upper half of the double-width product."""
    bits = left.dtype.itemsize * 8
    if bits < 64:
        wide = np.int64 if left.dtype.kind == "i" else np.uint64
        return ((left.astype(wide) * right.astype(wide)) >> bits).astype(left.dtype)
    high = _multiply_high_unsigned(left.astype(np.uint64), right.astype(np.uint64))
    if left.dtype.kind == "u":
        return high
    correction = np.where(left < 0, right, 0) + np.where(right < 0, left, 0)
    return high.astype(np.int64) - correction


def _multiply_high_unsigned(left: Array, right: Array) -> Array:
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = left >> half, left & mask
    c, d = right >> half, right & mask
    low = b * d
    middle = a * d + (low >> half)
    other = b * c + (middle & mask)
    high: Array = a * c + (middle >> half) + (other >> half)
    return high


def _multiply_add_saturated(left: Value, right: Value, addend: Value) -> Value:
    low, high = _limits(left.dtype)
    exact = left.astype(object) * right.astype(object) + addend.astype(object)
    clipped = np.minimum(np.maximum(exact, low), high)
    return np.asarray(clipped).astype(left.dtype)[()]


def _to_24_bits(value: Value) -> Value:
    """Keep the low 24 bits of an integer, with its sign extended from them."""
    eight = value.dtype.type(8)
    return (value << eight) >> eight


def count_leading_zeros(value: Value) -> Value:
    """Return the number of leading zero bits."""
    raw = as_unsigned(value)
    bits = value.dtype.itemsize * 8
    count = np.full(np.shape(raw), bits, raw.dtype)
    step = bits // 2
    rest = raw
    while step:
        upper = rest >> raw.dtype.type(step)
        count = np.where(upper != 0, count - raw.dtype.type(step), count)
        rest = np.where(upper != 0, upper, rest)
        step //= 2
    return count - rest.astype(raw.dtype)


def count_set_bits(value: Value) -> Value:
    """Return the number of bits that are set."""
    raw = np.ascontiguousarray(np.atleast_1d(value)).view(np.uint8)
    counts = _BITS_SET[raw].reshape(*np.atleast_1d(value).shape, value.dtype.itemsize).sum(axis=-1)
    return counts.reshape(np.shape(value))


_BITS_SET: Final = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def count_trailing_zeros(value: Value) -> Value:
    """Return the number of trailing zero bits."""
    raw = as_unsigned(value)
    return count_set_bits(~raw & (raw - raw.dtype.type(1)))


def rotate_left(value: Value, amount: Value) -> Value:
    """Return the bits rotated left by `amount`, modulo the width."""
    raw = as_unsigned(value)
    bits = raw.dtype.type(value.dtype.itemsize * 8)
    left = as_unsigned(amount) & (bits - raw.dtype.type(1))
    right = (bits - left) & (bits - raw.dtype.type(1))
    return (raw << left) | (raw >> right)


def reverse_bits(value: Value) -> Value:
    """Return the bits in reverse order."""
    raw = np.ascontiguousarray(np.atleast_1d(value)).view(np.uint8)
    rows = raw.reshape(-1, value.dtype.itemsize)
    reversed_bytes = _REVERSED_BYTES[rows[:, ::-1]]
    return np.ascontiguousarray(reversed_bytes).view(value.dtype).reshape(np.shape(value))


_REVERSED_BYTES: Final = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


def _make_upsample(call: BuiltinCall) -> Compute:
    dtype = dtype_of(call.element)
    bits = dtype.itemsize * 4

    def run(high: Value, low: Value) -> Value:
        return (high.astype(dtype) << dtype.type(bits)) | as_unsigned(low).astype(dtype)

    return run


INTEGERS: Final[Mapping[str, Builtin]] = {
    "abs": Builtin(_with_signs(np.abs), CostClass.INT_LOGIC),
    "abs_diff": Builtin(_with_signs(_difference), CostClass.INT_ADD),
    "add_sat": Builtin(_with_signs(add_saturated), CostClass.INT_ADD),
    "sub_sat": Builtin(_with_signs(subtract_saturated), CostClass.INT_ADD),
    "hadd": Builtin(_with_signs(_half_sum), CostClass.INT_ADD),
    "rhadd": Builtin(_with_signs(_rounded_half_sum), CostClass.INT_ADD),
    "clz": Builtin(_with_signs(count_leading_zeros), CostClass.INT_LOGIC),
    "ctz": Builtin(_with_signs(count_trailing_zeros), CostClass.INT_LOGIC),
    "popcount": Builtin(_with_signs(count_set_bits), CostClass.INT_LOGIC),
    "bit_reverse": Builtin(_with_signs(reverse_bits), CostClass.INT_LOGIC),
    "mad_hi": Builtin(_with_signs(lambda a, b, c: multiply_high(a, b) + c), CostClass.INT_MULTIPLY),
    "mad_sat": Builtin(_with_signs(_multiply_add_saturated), CostClass.INT_MULTIPLY),
    "mad24": Builtin(
        _with_signs(lambda a, b, c: _to_24_bits(a) * _to_24_bits(b) + c), CostClass.INT_MULTIPLY
    ),
    "mul24": Builtin(
        _with_signs(lambda a, b: _to_24_bits(a) * _to_24_bits(b)), CostClass.INT_MULTIPLY
    ),
    "mul_hi": Builtin(_with_signs(multiply_high), CostClass.INT_MULTIPLY),
    "rotate": Builtin(_with_signs(rotate_left), CostClass.INT_LOGIC),
    "upsample": Builtin(_make_upsample, CostClass.INT_LOGIC),
}
"""Functions of integers. `min`, `max` and `clamp` are in `maths.COMMON`."""
