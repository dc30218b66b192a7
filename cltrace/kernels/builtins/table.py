"""The one table of functions that compute values from values: name, meaning, cost class."""

from functools import cache
from typing import Final

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute, Table
from cltrace.kernels.builtins.conversions import conversion_of
from cltrace.kernels.builtins.geometric import GEOMETRIC
from cltrace.kernels.builtins.integers import INTEGERS
from cltrace.kernels.builtins.intrinsics import INTRINSICS
from cltrace.kernels.builtins.mangling import base_name, demangled
from cltrace.kernels.builtins.maths import COMMON, MATHS
from cltrace.kernels.builtins.relational import RELATIONAL
from cltrace.kernels.ir.types import Type, VectorType
from cltrace.kernels.values import Value

_TABLES: Final[tuple[Table, ...]] = (
    MATHS, COMMON, INTEGERS, RELATIONAL, GEOMETRIC, INTRINSICS,
)  # fmt: skip


@cache
def find_builtin(name: str) -> Builtin | None:
    """The function of a name, or None."""
    for table in _TABLES:
        if name in table:
            return table[name]
    return conversion_of(name)


def computation(callee: str, result: Type) -> Compute | None:
    """What computes a call of the function `callee`, or None where it is no such function."""
    signature = demangled(callee)
    builtin = find_builtin(base_name(signature))
    if builtin is None:
        return None
    compute = builtin.make(BuiltinCall(base_name(signature), signature.parameters, result))
    if builtin.elementwise and isinstance(result, VectorType):
        return _by_element(compute, result.count)
    return compute


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
