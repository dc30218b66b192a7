"""Operations by what they cost: a type, a class, and the function where its name matters."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.builtins.mangling import demangled
from cltrace.kernels.builtins.table import base_name
from cltrace.kernels.cost_classes import CostClass
from cltrace.kernels.counts.operations import operations_of
from cltrace.kernels.ir.instructions import Binary, Call, Instruction, Terminator

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


def named_operations(
    item: Instruction | Terminator, constants: Collection[int] = ()
) -> Iterator[tuple[Operation, int]]:
    """The operations that an instruction is. `constants` are slots that the compiler knows."""
    for kind, cost, many in operations_of(item):
        yield Operation(kind, cost, _function(item, cost, constants)), many


def _function(item: Instruction | Terminator, cost: CostClass, constants: Collection[int]) -> str:
    match item:
        case Call() if cost in {CostClass.SPECIAL, CostClass.OTHER}:
            return base_name(demangled(item.callee))
        case Binary(_, "shl" | "lshr" | "ashr", _, _, _):
            return "shift"
        case Binary(_, _, _, _, right) if cost is CostClass.INT_DIVIDE and right in constants:
            return "divide by a literal"
        case Binary(_, "srem" | "urem", _, _, _):
            return "remainder"
        case _:
            return ""
