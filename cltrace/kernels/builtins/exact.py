"""Floating-point arithmetic with a single rounding where numpy would round twice."""

import numpy as np

from cltrace.kernels.values import Array, Value


def fused_multiply_add(left: Value, right: Value, addend: Value) -> Value:
    """Return `left * right + addend`, rounded once (IEEE 754 fusedMultiplyAdd).

    For types narrower than `double` the product is exact in double precision, and its sum is rounded to
    odd before it is rounded to the type (Boldo and Melquiond, Emulation of FMA and correctly rounded
    sums, 2008).
    """
    dtype = left.dtype
    if dtype == np.float64:
        return _fused_double(left, right, addend)
    product = left.astype(np.float64) * right.astype(np.float64)
    return _sum_to_odd(product, addend.astype(np.float64)).astype(dtype)


def _two_sum(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its rounding error (Knuth)."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def _sum_to_odd(left: Value, right: Value) -> Value:
    """Return a sum rounded to odd: the last bit of an inexact sum is set."""
    total, error = _two_sum(np.asarray(left), np.asarray(right))
    bits = np.ascontiguousarray(total).view(np.int64).reshape(np.shape(total))
    inexact = np.isfinite(total) & (error != 0) & ((bits & 1) == 0)
    direction = np.where((error > 0), np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, direction), total)[()]


def _two_product(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the rounded product and its rounding error (Dekker, with Veltkamp's splitting)."""
    product = left * right
    a, b = _split_halves(left)
    c, d = _split_halves(right)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _split_halves(value: Array) -> tuple[Array, Array]:
    """Split a number into a high and a low half of its bits (Veltkamp)."""
    scaled = value * 134217729.0
    high = scaled - (scaled - value)
    return high, value - high


_SCALE = 2.0**300


def _fused_double(left: Value, right: Value, addend: Value) -> Value:
    """Return the fused multiply-add of `double`; tiny and huge operands are scaled first."""
    left, right, addend = np.asarray(left), np.asarray(right), np.asarray(addend)
    left, right = _balance(*_balance(left, right)[::-1])[::-1]
    product = np.abs(left * right)
    size = np.fmax(product, np.abs(addend))
    result = _fuse_scaled(left, right, addend, 1.0)
    result = np.where(size < 1e-200, _fuse_scaled(left, right, addend, _SCALE), result)
    result = np.where(size > 1e280, _fuse_scaled(left, right, addend, 1.0 / _SCALE), result)
    plain = left * right + addend
    finite = np.isfinite(left) & np.isfinite(right) & np.isfinite(addend)
    exact = finite & (left != 0) & (right != 0)
    return np.where(exact & ~np.isnan(result), result, plain)[()]


def _balance(left: Array, right: Array) -> tuple[Array, Array]:
    """Scale a huge second factor down and a small first factor up, which keeps the product."""
    moves = (np.abs(right) > 1e200) & (np.abs(left) < 1.0)
    return np.where(moves, left * _SCALE, left), np.where(moves, right / _SCALE, right)


def _fuse_scaled(left: Array, right: Array, addend: Array, scale: float) -> Array:
    """Return the fused multiply-add, computed on operands times `scale` and scaled back.

    A subnormal result is rounded to odd before it is scaled back, because scaling back rounds it.
    """
    small = (np.abs(left) < np.abs(right)) == (scale > 1.0)
    a = np.where(small, left * scale, left)
    b = np.where(small, right, right * scale)
    high, middle, rest = _exact_parts(a, b, addend * scale)
    nearest = (high + _sum_to_odd(middle, rest)) / scale
    odd = _sum_to_odd(high, middle + rest) / scale
    result: Array = np.where(np.abs(nearest) < np.finfo(np.float64).smallest_normal, odd, nearest)
    zero = (high + middle == 0) & (rest == 0)
    return np.where(zero, a * b + addend * scale, result)


def _exact_parts(left: Array, right: Array, addend: Array) -> tuple[Array, Array, Array]:
    """Return three numbers whose exact sum is that of the product and the addend."""
    high, low = _two_product(left, right)
    lower, lowest = _two_sum(addend, low)
    upper, middle = _two_sum(high, lower)
    return upper, lowest, middle
