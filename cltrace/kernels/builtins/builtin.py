"""A builtin function of OpenCL C: how its calls are computed, and its cost class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cltrace.kernels.builtins.mangling import ParameterKind
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.ir.types import Type, element_of
from cltrace.kernels.values import Value

Compute = Callable[..., Value]
"""A function of values, one an argument."""


@dataclass(frozen=True, slots=True)
class BuiltinCall:
    """A call that is to be computed: the function's name and parameters, and what the IR returns."""

    name: str
    parameters: tuple[ParameterKind, ...]
    result: Type

    @property
    def element(self) -> Type:
        """The type of an element of the result."""
        return element_of(self.result)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function: `make` gives what computes a call, from numbers if `elementwise`, else from values."""

    make: Callable[[BuiltinCall], Compute]
    cost: CostClass
    elementwise: bool = True


Table = Mapping[str, Builtin]
