"""A builtin function of OpenCL C: the implementation of its calls, and its cost class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cltrace.kernels.builtins.mangling import ParameterKind
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.ir.types import Type, element_of
from cltrace.kernels.values import Value

Compute = Callable[..., Value]
"""A function of values, one per argument."""


@dataclass(frozen=True, slots=True)
class BuiltinCall:
    """A call of a builtin: the function's name and parameters, and the result's type in the IR."""

    name: str
    parameters: tuple[ParameterKind, ...]
    result: Type

    @property
    def element(self) -> Type:
        """The element type of the result."""
        return element_of(self.result)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A builtin function.

    Attributes:
        make: returns the implementation of a call.
        cost: the cost class of its operations.
        elementwise: whether the implementation takes numbers, and vectors are computed per element.
    """

    make: Callable[[BuiltinCall], Compute]
    cost: CostClass
    elementwise: bool = True


Table = Mapping[str, Builtin]
