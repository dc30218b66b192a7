"""An operation by what it costs: a type, a class, and the function where its name matters."""

from dataclasses import dataclass
from typing import Final

from cltrace.kernels.costs.classes import CostClass

SUM: Final = "sum"
"""The function of a multiply-add of which only the sum is waited for."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: the type that it works on, its class, and which of the class it is.

    `function` is a function's name, or `shift`, `remainder`, `divide by a literal`, `SUM`; "" for others.
    """

    type: str
    cost: CostClass
    function: str = ""
