"""Floating-point arithmetic that rounds once where numpy would round twice."""

import numpy as np

from cltrace.kernels.values import Array, Value


def fused_multiply_add(left: Value, right: Value, addend: Value) -> Value:
    """`left * right + addend`, rounded once (IEEE 754 fusedMultiplyAdd).

    For narrower types the product is exact in double precision, and its sum is rounded to odd before it
    is rounded to the type (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008).
    """
    dtype = left.dtype
    if dtype == np.float64:
        return _fused_double(left, right, addend)
    product = left.astype(np.float64) * right.astype(np.float64)
    return _sum_to_odd(product, addend.astype(np.float64)).astype(dtype)


def _two_sum(left: Array, right: Array) -> tuple[Array, Array]:
    """The sum, rounded, and what rounding took away (Knuth)."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def _sum_to_odd(left: Value, right: Value) -> Value:
    """A sum rounded to odd: where it is not exact, its last bit is one."""
    total, rest = _two_sum(np.asarray(left), np.asarray(right))
    bits = np.ascontiguousarray(total).view(np.int64).reshape(np.shape(total))
    inexact = np.isfinite(total) & (rest != 0) & ((bits & 1) == 0)
    towards = np.where((rest > 0), np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, towards), total)[()]


def _two_product(left: Array, right: Array) -> tuple[Array, Array]:
    """The product, rounded, and what rounding took away (Dekker, after Veltkamp's splitting)."""
    product = left * right
    a, b = _halves(left)
    c, d = _halves(right)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(value: Array) -> tuple[Array, Array]:
    scaled = value * 134217729.0
    high = scaled - (scaled - value)
    return high, value - high


_SCALE = 2.0**300


def _fused_double(left: Value, right: Value, addend: Value) -> Value:
    """As above, of `double`. Where numbers are tiny or huge it is computed scaled."""
    left, right, addend = np.asarray(left), np.asarray(right), np.asarray(addend)
    left, right = _balanced(*_balanced(left, right)[::-1])[::-1]
    product = np.abs(left * right)
    size = np.fmax(product, np.abs(addend))
    found = _scaled(left, right, addend, 1.0)
    found = np.where(size < 1e-200, _scaled(left, right, addend, _SCALE), found)
    found = np.where(size > 1e280, _scaled(left, right, addend, 1.0 / _SCALE), found)
    plain = left * right + addend
    finite = np.isfinite(left) & np.isfinite(right) & np.isfinite(addend)
    exact = finite & (left != 0) & (right != 0)
    return np.where(exact & ~np.isnan(found), found, plain)[()]


def _balanced(left: Array, right: Array) -> tuple[Array, Array]:
    """Two factors, a huge second one made smaller at the cost of the first."""
    moves = (np.abs(right) > 1e200) & (np.abs(left) < 1.0)
    return np.where(moves, left * _SCALE, left), np.where(moves, right / _SCALE, right)


def _scaled(left: Array, right: Array, addend: Array, scale: float) -> Array:
    """The result of operands that are scaled before, and scaled back after.

    A result without all of its bits is rounded to odd before it is scaled back, which rounds it.
    """
    small = (np.abs(left) < np.abs(right)) == (scale > 1.0)
    a = np.where(small, left * scale, left)
    b = np.where(small, right, right * scale)
    high, middle, rest = _parts(a, b, addend * scale)
    nearest = (high + _sum_to_odd(middle, rest)) / scale
    odd = _sum_to_odd(high, middle + rest) / scale
    found: Array = np.where(np.abs(nearest) < np.finfo(np.float64).smallest_normal, odd, nearest)
    zero = (high + middle == 0) & (rest == 0)
    return np.where(zero, a * b + addend * scale, found)


def _parts(left: Array, right: Array, addend: Array) -> tuple[Array, Array, Array]:
    """Three numbers whose sum is exactly that of the product and the addend."""
    high, low = _two_product(left, right)
    lower, lowest = _two_sum(addend, low)
    upper, middle = _two_sum(high, lower)
    return upper, lowest, middle
