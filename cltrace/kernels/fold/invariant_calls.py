"""Calls with the same operands in each trip of a loop, as a GPU's compiler leaves them.

The compiler inlines built-in functions first. What has no branches, or few, moves in front of the loop;
what has more stays in each trip. What the options let it approximate has none. Of constants, it computes
functions that the C library has. Read from
the code of NVIDIA's compiler 580.159 for 43 functions of both types: with constant operands, and in a
loop with operands that are arguments.
"""

from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.fold.approximations import approximate_function
from cltrace.kernels.ir.instructions import Call
from cltrace.kernels.ir.types import FloatType, VectorType

_STAY: Final = frozenset(
    {
        *("sin", "cos", "tan", "sincos", "sinpi", "cospi", "log1p", "erfc", "tgamma", "lgamma"),
        *("pow", "powr", "pown", "rootn", "fmod", "remainder", "remquo", "ldexp", "nextafter"),
        *("logb", "asinh", "acosh", "lgamma_r"),
    }
)
"""Functions of both types that stay in a loop."""
_STAY_IN_DOUBLE: Final = _STAY | {"acos", "sinh", "log", "log2", "log10", "cbrt", "hypot", "atanh"}
_KNOWN_OF_CONSTANTS: Final = frozenset(
    {
        *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "atan2"),
        *("exp", "exp2", "log", "log10", "sqrt", "pow", "fmod", "nextafter"),
    }
)
"""Functions that the compiler computes where their operands are constants."""


def stays_in_loops(call: Call, *, of_constants: bool) -> bool:
    """Return True if a call of a function is executed in each trip, though its operands are the same."""
    name = base_name(demangle(call.callee))
    if (of_constants and name in _KNOWN_OF_CONSTANTS) or approximate_function(call):
        return False
    kind = call.type.element if isinstance(call.type, VectorType) else call.type
    return name in (_STAY_IN_DOUBLE if kind == FloatType(64) else _STAY)
