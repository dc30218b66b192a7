"""What operations cost by: the name of a measured series, and the pipe that does it."""

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import SUM
from cltrace.kernels.counts.records import FoldedCount


class Pipe(StrEnum):
    """A part of a compute unit that works beside the others."""

    ISSUE = "issue"
    """Everything takes a slot of it; what is a sequence of simple instructions takes nothing else."""
    MULTIPLY = "integer multiply"
    DOUBLE = "double"
    SPECIAL = "special functions"


_ARITHMETIC: Final[Mapping[CostClass, str]] = {
    CostClass.INT_ADD: "int add",
    CostClass.INT_LOGIC: "int add",
    CostClass.INT_COMPARE: "int add",
    CostClass.SELECT: "int add",
    CostClass.ADDRESS: "int add",
    CostClass.WORK_ITEM: "int add",
    CostClass.BRANCH: "int add",
    CostClass.INT_MULTIPLY: "int multiply",
    CostClass.INT_DIVIDE: "int divide",
    CostClass.FLOAT_ADD: "float add",
    CostClass.FLOAT_MULTIPLY: "float multiply",
    CostClass.FLOAT_MULTIPLY_ADD: "float multiply-add",
    CostClass.FLOAT_DIVIDE: "float divide",
    CostClass.FLOAT_COMPARE: "float compare and select",
    CostClass.CONVERT: "int to float and back",
}
"""By class: the name of what it costs. Others cost what memory makes of them."""
_FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "sincos": ("sin", "cos"),
    "powr": ("pow",), "pown": ("pow",), "rootn": ("pow",),
    "exp10": ("exp",), "expm1": ("exp",),
    "log10": ("log",), "log1p": ("log",),
    "cbrt": ("log", "exp"),
    "sinh": ("exp", "exp"), "cosh": ("exp", "exp"),
    "sinpi": ("sin",), "cospi": ("cos",), "tanpi": ("tan",),
    "asin": ("atan", "sqrt"), "acos": ("atan", "sqrt"), "atan2": ("atan", "divide"),
    "asinh": ("log", "sqrt"), "acosh": ("log", "sqrt"), "atanh": ("log", "divide"),
    "asinpi": ("atan", "sqrt"), "acospi": ("atan", "sqrt"), "atanpi": ("atan",),
    "atan2pi": ("atan", "divide"),
    "erfc": ("erf",), "tgamma": ("erf", "exp"), "lgamma": ("erf", "log"),
    "hypot": ("sqrt",), "length": ("sqrt",), "distance": ("sqrt",), "normalize": ("rsqrt",),
    "fast_length": ("sqrt",), "fast_distance": ("sqrt",), "fast_normalize": ("rsqrt",),
    "fmod": ("divide", "divide"), "remainder": ("divide", "divide"), "remquo": ("divide", "divide"),
    "native_cos": ("native_sin",), "native_tan": ("native_sin", "native_sin"),
    "native_exp2": ("native_exp",), "native_exp10": ("native_exp",),
    "native_log": ("native_exp",), "native_log2": ("native_exp",), "native_log10": ("native_exp",),
    "native_sqrt": ("native_rsqrt",), "native_recip": ("native_rsqrt",),
    "native_divide": ("native_rsqrt",), "native_powr": ("native_exp", "native_exp"),
}  # fmt: skip
"""Functions that are not measured, by those that they are made of or cost like."""
_ONE_BY_ONE: Final = frozenset(
    {"sqrt", "rsqrt", "exp", "exp2", "divide", "native_sin", "native_exp", "native_rsqrt"}
)
"""Functions of float that are little more than one instruction of the special functions' pipe."""
_WIDE: Final[Mapping[str, str]] = {"long": "int", "double": "float"}


def cost_names(row: FoldedCount, known: Container[str]) -> tuple[str, ...]:
    """The names of what an operation costs; none if it costs nothing by itself.

    `known` are the names that are measured: `long` is `int` where it is not, `double` `float`.
    """
    found = []
    for name in _wanted(row):
        kind, _, rest = name.partition(" ")
        narrow = f"{_WIDE.get(kind, kind)} {rest}"
        found.append(next((one for one in (name, narrow) if one in known), ""))
    return tuple(name for name in found if name)


def _wanted(row: FoldedCount) -> tuple[str, ...]:
    if row.cost is CostClass.SPECIAL:
        kind = "double" if row.type == "double" else "float"
        base = row.function.removeprefix("half_")
        plain = base.removeprefix("llvm.")
        return tuple(f"{kind} {one}" for one in _FUNCTIONS.get(plain, (plain,)))
    is_sum = row.cost is CostClass.FLOAT_MULTIPLY_ADD and row.function == SUM
    series = _ARITHMETIC.get(CostClass.FLOAT_ADD if is_sum else row.cost)
    if series is None:
        return ()
    kind, _, rest = series.partition(" ")
    if row.cost is CostClass.INT_LOGIC and row.function == "shift":
        rest = "shift"
    if row.cost is CostClass.INT_DIVIDE and row.function:
        rest = row.function
    if kind == "int" and row.type == "long":
        kind = "long" if row.cost is not CostClass.CONVERT else "int"
    if kind == "float" and row.type == "double":
        kind = "double"
    return (f"{kind} {rest}",)


def pipe_of(name: str) -> Pipe:
    """Which pipe an operation keeps busy, by the name of what it costs."""
    kind, _, rest = name.partition(" ")
    if kind == "double":
        return Pipe.DOUBLE
    if kind == "float" and rest in _ONE_BY_ONE:
        return Pipe.SPECIAL
    if name == "int to float and back":
        return Pipe.SPECIAL
    return Pipe.MULTIPLY if name == "int multiply" else Pipe.ISSUE
