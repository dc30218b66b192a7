"""Functions and quotients that a GPU's compiler approximates where the program's options allow it.

With `-cl-fast-relaxed-math` or `-cl-unsafe-math-optimizations`, NVIDIA's driver has for these functions
of `float` what it has for their `native_` or `fast_` form, and quotients by the approximate reciprocal
(driver 580). For others, such as `pow` and `tanh`, the options change next to nothing.
"""

from collections.abc import Mapping
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.ir.instructions import Binary, Call, Instruction, Terminator
from cltrace.kernels.ir.types import FloatType, element_of

_SINGLE: Final = FloatType(32)
_QUOTIENTS: Final = frozenset({"native_divide", "native_recip", "half_divide", "half_recip"})
"""Functions that are approximate in any case."""
_FORMS: Final[Mapping[str, str]] = {
    **{
        name: f"native_{name}"
        for name in (
            *("sin", "cos", "tan", "exp", "exp2", "exp10", "log", "log2", "log10", "powr"),
            *("sqrt", "rsqrt", "sincos"),
        )
    },
    **{name: f"fast_{name}" for name in ("length", "distance", "normalize")},
}


def approximated(operation: Operation, item: Instruction | Terminator) -> Operation:
    """Return what a GPU's compiler has in place of an operation of an instruction."""
    function = approximate_function(item)
    return Operation("float", CostClass.SPECIAL, function) if function else operation


def approximate_function(item: Instruction | Terminator) -> str:
    """Return the function that a GPU's compiler has in place of an instruction; "" if it has none."""
    match item:
        case Binary(_, "fdiv", kind, _, _) if item.is_approximate and element_of(kind) == _SINGLE:
            return "native_divide"
        case Call(_, _, _, _, (kind, *_)) if element_of(kind) == _SINGLE:
            name = base_name(demangle(item.callee)).removeprefix("llvm.")
            if name in _QUOTIENTS:
                return name.replace("half_", "native_")
            return _FORMS.get(name.removeprefix("half_"), "") if item.is_approximate else ""
        case _:
            return ""
