"""Types of values: numpy's dtypes, and Python's own numbers, which take the type of the other operand."""

from dataclasses import dataclass
from typing import Final

import numpy as np

ARRAY_DTYPES: Final = (
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)
"""Element types of arrays and results."""


@dataclass(frozen=True, slots=True)
class NumberType:
    """Type of a value. `is_plain` marks Python's own numbers.

    A plain integer is computed in 32 bits, or in 64 where its range needs them. A plain float has 64
    bits.
    """

    dtype: str
    is_plain: bool = False

    @property
    def kind(self) -> str:
        """`b` for bool, `i` for signed, `u` for unsigned, `f` for floating-point numbers."""
        return np.dtype(self.dtype).kind

    @property
    def is_integer(self) -> bool:
        """True for integers, not for bool."""
        return self.kind in "iu"

    @property
    def is_float(self) -> bool:
        """True for floating-point numbers."""
        return self.kind == "f"

    def __str__(self) -> str:
        if not self.is_plain:
            return self.dtype
        return {"b": "bool", "f": "float"}.get(self.kind, "int")


BOOL: Final = NumberType("bool", is_plain=True)
PLAIN_FLOAT: Final = NumberType("float64", is_plain=True)
PLAIN_INT: Final = NumberType("int32", is_plain=True)
PLAIN_LONG: Final = NumberType("int64", is_plain=True)


def common_type(left: NumberType, right: NumberType) -> NumberType:
    """Return the type of a sum of two values, as numpy 2 decides it (NEP 50)."""
    if left.is_plain and right.is_plain:
        if left.is_float or right.is_float:
            return PLAIN_FLOAT
        return PLAIN_LONG if PLAIN_LONG in (left, right) else PLAIN_INT
    if left.is_plain or right.is_plain:
        plain, own = (left, right) if left.is_plain else (right, left)
        return NumberType("float64") if plain.is_float and not own.is_float else own
    return NumberType(str(np.result_type(left.dtype, right.dtype)))


def quotient_type(left: NumberType, right: NumberType) -> NumberType:
    """Return the type of `left / right`: integers are divided as 64-bit floats."""
    both = common_type(left, right)
    return both if both.is_float else NumberType("float64", is_plain=both.is_plain)
