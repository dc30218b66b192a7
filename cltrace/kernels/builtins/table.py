"""The one table of functions that compute values from values: name, meaning, cost class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from cltrace.kernels.builtins.mangling import ParameterKind, Signature, demangled
from cltrace.kernels.cost_classes import CostClass
from cltrace.kernels.ir.types import Type, VectorType, element_of
from cltrace.kernels.values import Value

Compute = Callable[..., Value]
"""A function of values, one an argument."""


@dataclass(frozen=True, slots=True)
class Call:
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

    make: Callable[[Call], Compute]
    cost: CostClass
    elementwise: bool = True


Table = Mapping[str, Builtin]


@cache
def find_builtin(name: str) -> Builtin | None:
    """The function of a name, or None."""
    for table in _tables():
        if name in table:
            return table[name]
    return _conversion(name)


@cache
def _tables() -> tuple[Table, ...]:
    from cltrace.kernels.builtins.geometric import GEOMETRIC  # noqa: PLC0415 - they import this module
    from cltrace.kernels.builtins.integers import INTEGERS  # noqa: PLC0415
    from cltrace.kernels.builtins.intrinsics import INTRINSICS  # noqa: PLC0415
    from cltrace.kernels.builtins.maths import COMMON, MATHS  # noqa: PLC0415
    from cltrace.kernels.builtins.relational import RELATIONAL  # noqa: PLC0415

    return (MATHS, COMMON, INTEGERS, RELATIONAL, GEOMETRIC, INTRINSICS)


def _conversion(name: str) -> Builtin | None:
    from cltrace.kernels.builtins.conversions import conversion_of  # noqa: PLC0415

    return conversion_of(name)


def computation(callee: str, result: Type) -> Compute | None:
    """What computes a call of the function `callee`, or None where it is no such function."""
    signature = demangled(callee)
    builtin = find_builtin(base_name(signature))
    if builtin is None:
        return None
    compute = builtin.make(Call(base_name(signature), signature.parameters, result))
    if builtin.elementwise and isinstance(result, VectorType):
        return _by_element(compute, result.count)
    return compute


def base_name(signature: Signature) -> str:
    """A function's name, of an intrinsic without its types: `llvm.fmuladd.f32` is `llvm.fmuladd`."""
    if signature.name.startswith("llvm."):
        parts = signature.name.split(".")
        kept = [part for part in parts if not _is_type_word(part)]
        return ".".join(kept)
    return signature.name


def _is_type_word(part: str) -> bool:
    return part[:1] in {"f", "i", "v", "p"} and part[1:2].isdigit()


def _by_element(compute: Compute, count: int) -> Compute:
    """A function of vectors, from one of numbers. A number among vectors goes with each element."""

    def run(*values: Value) -> Value:
        return tuple(
            [
                compute(*[v[index] if type(v) is tuple else v for v in values])
                for index in range(count)
            ]
        )

    return run
