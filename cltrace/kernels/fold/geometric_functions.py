"""Functions of whole vectors: one root for `length`, and selections for the elements of a `shuffle`."""

from collections.abc import Container
from dataclasses import replace
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.double_functions import has_recipe
from cltrace.kernels.costs.functions import of_shuffle, of_vector
from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.ir.instructions import Call, Instruction, Terminator
from cltrace.kernels.ir.types import FloatType, VectorType, type_name

_SINGLE: Final = FloatType(32)
_GEOMETRIC: Final = frozenset(
    f"{form}{name}" for form in ("", "fast_") for name in ("length", "distance", "normalize")
)

_SHUFFLED_VECTORS: Final = {"shuffle": 1, "shuffle2": 2}
"""Functions that shuffle elements, with the number of vectors that these are of."""


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


def shuffled(
    operation: Operation, item: Instruction | Terminator, constants: Container[int]
) -> Operation | None:
    """Return what each element of a shuffle is by a mask that is not among `constants`.

    None for another instruction: elements at known places are only named.
    """
    match item:
        case Call(_, _, _, (*_, mask), (VectorType(count, _), *_)) if mask not in constants:
            sources = _SHUFFLED_VECTORS.get(base_name(demangle(item.callee)))
            function = of_shuffle(count * sources) if sources else ""
            return (
                replace(operation, cost=CostClass.SELECT, function=function) if function else None
            )
        case _:
            return None
