"""Operations as far as their cost depends on them: type, cost class, function."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cltrace.kernels.costs.classes import CostClass

SUM: Final = "sum"
"""Function of a multiply-add whose summand arrives last: only the sum is waited for."""
JOINED: Final = "and sum"
"""Function of a division whose last step, a product, is one instruction with a sum."""
INVERTED: Final = "by an inverted number"
"""Function of a division by a number whose reciprocal an earlier division has taken."""
RECIPROCAL: Final = "reciprocal"
"""Function of a division of 1."""
OF_INTS: Final = "of ints"
"""Function of a product whose factors have 32 bits and whose result has 64."""
TO_FLOAT: Final = "to float"
"""Function of a conversion of an integer of up to 32 bits to a number with a fraction of 32 bits."""
PART_TO_FLOAT: Final = "of a part to float"
"""The same of an element that shares a register with others, which is cut out first."""
OF_LONG: Final = "of 64 bits"
"""Function of a conversion on a CPU between an integer of 64 bits and a number with a fraction."""
SHIFT: Final = "shift"
"""Function of a shift of bits."""
LEFT_SHIFT: Final = "shift left"
"""Function of a shift to the left by a literal on a GPU, which is a product."""
LITERAL_POWER: Final = "to the power of a literal"
"""Function of a power whose exponent is a small integer constant: a few products."""
LITERAL_DIVISOR: Final = "divide by a literal"
"""Function of a division of integers by a compile-time constant."""
INVARIANT_DIVISOR: Final = "divide by an invariant"
"""Function of a division of integers by a number whose reciprocal is at hand."""
UNSIGNED_DIVIDE: Final = "unsigned divide"
"""Function of a division of unsigned integers on a GPU, or of its remainder."""
UNSIGNED_INVARIANT: Final = "unsigned divide by an invariant"
"""The same by a number whose reciprocal is at hand."""
_PRIVATE: Final = "private "
KEPT_TYPE: Final = f"{_PRIVATE}value behind a barrier"
"""Type of the values that a CPU keeps in memory for each work-item, across a barrier."""


class AddressForm(StrEnum):
    """Form in which a GPU computes an address: the function of an operation of class `ADDRESS`."""

    NEAR = "at a constant distance"
    """Part of the access."""
    HALVES = "in halves"
    """An index of 64 bits is shifted and added."""
    PRODUCT = "wide product"
    """An index of 32 bits is multiplied and added, with a result of 64 bits."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: the type that it works on, its class, and its function within the class.

    `function` is a function's name, or `remainder`, one of the constants of this module, or an
    `AddressForm`; "" for others.
    """

    type: str
    cost: CostClass
    function: str = ""


def private_type(name: str) -> str:
    """Return the type under which accesses to private memory of a type are counted."""
    return f"{_PRIVATE}{name}"


def is_private_type(name: str) -> bool:
    """Return True for a type that `private_type` made."""
    return name.startswith(_PRIVATE)
