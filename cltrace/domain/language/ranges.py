"""Ranges of integers: bounds that decide widths, and that prove accesses to be inside arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np


@dataclass(frozen=True, slots=True)
class Range:
    """All integers from `low` to `high`, both included."""

    low: int
    high: int

    @classmethod
    def of(cls, *values: int) -> "Range":
        """Return the smallest range that holds all values."""
        return cls(min(values), max(values))

    @classmethod
    def of_dtype(cls, dtype: str) -> "Range":
        """Return the range of an integer type."""
        info = np.iinfo(dtype)
        return cls(int(info.min), int(info.max))

    def fits(self, dtype: str) -> bool:
        """Return whether an integer type holds the range."""
        return Range.of_dtype(dtype).holds(self)

    def holds(self, other: "Range") -> bool:
        """Return whether the range holds another."""
        return self.low <= other.low and other.high <= self.high

    def united(self, other: "Range") -> "Range":
        """Return the smallest range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def above(self, low: int) -> "Range":
        """Return the part of at least `low`; the range itself if there is none."""
        return Range(max(self.low, low), self.high) if low <= self.high else self

    def below(self, high: int) -> "Range":
        """Return the part of at most `high`; the range itself if there is none."""
        return Range(self.low, min(self.high, high)) if high >= self.low else self

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


INT: Final = "int32"
LONG: Final = "int64"
MAX_SHIFT: Final = 63


def add(left: Range, right: Range) -> Range:
    """Return the range of sums."""
    return Range(left.low + right.low, left.high + right.high)


def subtract(left: Range, right: Range) -> Range:
    """Return the range of differences."""
    return Range(left.low - right.high, left.high - right.low)


def multiply(left: Range, right: Range) -> Range:
    """Return the range of products."""
    return _of_corners(left, right, lambda a, b: a * b)


def floor_divide(left: Range, right: Range) -> Range:
    """Return the range of quotients, rounded down. The divisor's range holds no 0."""
    return _of_corners(left, right, lambda a, b: a // b)


def remainder(left: Range, right: Range) -> Range:
    """Return the range of remainders, which have the divisor's sign. Its range holds no 0."""
    if left.low == left.high and right.low == right.high:
        return Range.of(left.low % right.low)
    if right.low > 0:
        if left.low >= 0 and left.high < right.low:
            return left
        return Range(0, min(left.high, right.high - 1) if left.low >= 0 else right.high - 1)
    return Range(right.low + 1, 0)


def bit_and(left: Range, right: Range) -> Range:
    """Return a range that holds all `a & b`."""
    if left.low >= 0 and right.low >= 0:
        return Range(0, min(left.high, right.high))
    if left.low >= 0 or right.low >= 0:
        return Range(0, left.high if left.low >= 0 else right.high)
    return _signed_bits(left, right)


def bit_or(left: Range, right: Range) -> Range:
    """Return a range that holds all `a | b` and all `a ^ b`."""
    if left.low >= 0 and right.low >= 0:
        return Range(0, (1 << max(left.high.bit_length(), right.high.bit_length())) - 1)
    return _signed_bits(left, right)


def shift_left(left: Range, right: Range) -> Range:
    """Return the range of `a << b`, for 0 ≤ b ≤ `MAX_SHIFT`."""
    return _of_corners(left, right, lambda a, b: a << b)


def shift_right(left: Range, right: Range) -> Range:
    """Return the range of `a >> b`, for 0 ≤ b ≤ `MAX_SHIFT`."""
    return _of_corners(left, right, lambda a, b: a >> b)


def lesser(left: Range, right: Range) -> Range:
    """Return the range of the lesser of two values."""
    return Range(min(left.low, right.low), min(left.high, right.high))


def greater(left: Range, right: Range) -> Range:
    """Return the range of the greater of two values."""
    return Range(max(left.low, right.low), max(left.high, right.high))


def _of_corners(left: Range, right: Range, apply: Callable[[int, int], int]) -> Range:
    return Range.of(*(apply(a, b) for a in (left.low, left.high) for b in (right.low, right.high)))


def _signed_bits(left: Range, right: Range) -> Range:
    bits = max(abs(v).bit_length() for v in (left.low, left.high, right.low, right.high))
    return Range(-(1 << bits), (1 << bits) - 1)
