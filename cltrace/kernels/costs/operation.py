"""Operations as far as their cost depends on them: type, cost class, function."""

from dataclasses import dataclass
from typing import Final

from cltrace.kernels.costs.classes import CostClass

SUM: Final = "sum"
"""Function of a multiply-add whose summand arrives last: only the sum is waited for."""
JOINED: Final = "and sum"
"""Function of a division whose last step, a product, is one instruction with a sum."""
RECIPROCAL: Final = "reciprocal"
"""Function of a division of 1."""
_PRIVATE: Final = "private "


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: the type that it works on, its class, and its function within the class.

    `function` is a function's name, or `shift`, `remainder`, `divide by a literal`, `SUM`, `JOINED`,
    `RECIPROCAL`; "" for others.
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
