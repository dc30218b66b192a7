"""Functions of whole vectors, such as `length`: a GPU takes one root for all elements."""

from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.double_functions import has_recipe
from cltrace.kernels.costs.functions import of_vector
from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.ir.instructions import Call, Instruction, Terminator
from cltrace.kernels.ir.types import FloatType, VectorType, type_name

_SINGLE: Final = FloatType(32)
_GEOMETRIC: Final = frozenset(
    f"{form}{name}" for form in ("", "fast_") for name in ("length", "distance", "normalize")
)


def whole_vector(operation: Operation, item: Instruction | Terminator) -> Operation | None:
    """Return the operation that stands for those of all elements; None where each has its own.

    `operation` is that of an element, whose function may be an approximation of that of `item`.
    """
    match item:
        case Call(_, _, _, _, (VectorType(count, FloatType() as element), *_)):
            name = base_name(demangle(item.callee))
            function = of_vector(operation.function or name, count)
            if name in _GEOMETRIC and (
                element == _SINGLE or has_recipe(function, type_name(element))
            ):
                return Operation(type_name(element), CostClass.SPECIAL, function)
            return None
        case _:
            return None
