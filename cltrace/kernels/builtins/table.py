"""The table of builtin functions that compute values from values."""

from functools import cache
from typing import Final

from cltrace.kernels.builtins.builtin import Builtin, BuiltinCall, Compute, Table
from cltrace.kernels.builtins.conversions import find_conversion
from cltrace.kernels.builtins.geometric import GEOMETRIC
from cltrace.kernels.builtins.integers import INTEGERS
from cltrace.kernels.builtins.intrinsics import INTRINSICS
from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.builtins.maths import COMMON, MATHS
from cltrace.kernels.builtins.relational import RELATIONAL
from cltrace.kernels.ir.types import Type, VectorType
from cltrace.kernels.values import Value

_TABLES: Final[tuple[Table, ...]] = (MATHS, COMMON, INTEGERS, RELATIONAL, GEOMETRIC, INTRINSICS)


@cache
def find_builtin(name: str) -> Builtin | None:
    """Return the builtin of that name, or None."""
    for table in _TABLES:
        if name in table:
            return table[name]
    return find_conversion(name)


def find_computation(callee: str, result: Type) -> Compute | None:
    """Return the implementation of a call of `callee`, or None if it is no builtin of these tables."""
    signature = demangle(callee)
    builtin = find_builtin(base_name(signature))
    if builtin is None:
        return None
    compute = builtin.make(BuiltinCall(base_name(signature), signature.parameters, result))
    if builtin.elementwise and isinstance(result, VectorType):
        return _per_element(compute, result.count)
    return compute


def _per_element(compute: Compute, count: int) -> Compute:
    """Return a function of vectors made from one of numbers. A number is used with each element."""

    def run(*values: Value) -> Value:
        return tuple(
            [
                compute(*[v[index] if type(v) is tuple else v for v in values])
                for index in range(count)
            ]
        )

    return run
