"""Operations by what they cost: the name of a measured series, and the pipe that executes them."""

from collections.abc import Container, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import Final

from cltrace.events.cost_names import CostName
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.double_functions import DOUBLE_RECIPES
from cltrace.kernels.costs.functions import (
    NARROW_SATURATION,
    RECIPES,
    SATURATING,
    Recipe,
    of_vector,
)
from cltrace.kernels.costs.operation import (
    INVARIANT_DIVISOR,
    INVERTED,
    LEFT_SHIFT,
    LITERAL_POWER,
    OF_INTS,
    OF_LONG,
    PART_TO_FLOAT,
    SHIFT,
    SUM,
    TO_FLOAT,
    UNSIGNED_DIVIDE,
    UNSIGNED_INVARIANT,
    AddressForm,
)
from cltrace.kernels.counts.records import FoldedCount


class Pipe(StrEnum):
    """Execution pipe of a compute unit. Pipes work at the same time."""

    ISSUE = "issue"
    """Every instruction takes an issue slot; sums and products of floats take nothing else."""
    LOGIC = "logic and comparison"
    """Bits, shifts, comparisons and selections, and sums of 64 bits."""
    MULTIPLY = "integer multiply"
    DOUBLE = "double"
    SPECIAL = "special functions"


ACCESS: Final = CostName("memory", "access")
"""Name of a memory access, which takes an issue slot. No series measures it, no profile stores it."""
_INT_ADD: Final = CostName("int", "add")
_INT_MULTIPLY: Final = CostName("int", "multiply")
LOGIC: Final = CostName("int", "logic")
"""Name of the cost of bits and comparisons; a profile of a GPU has it."""
_WIDE_PRODUCT: Final = CostName("long", "multiply-add of ints")
_CONVERSION: Final = CostName("int", "to float and back")
_ARITHMETIC: Final[Mapping[CostClass, CostName]] = {
    CostClass.INT_ADD: _INT_ADD,
    CostClass.INT_LOGIC: LOGIC,
    CostClass.INT_COMPARE: LOGIC,
    CostClass.SELECT: LOGIC,
    CostClass.ADDRESS: _INT_ADD,
    CostClass.WORK_ITEM: _INT_ADD,
    CostClass.BRANCH: _INT_ADD,
    CostClass.INT_MULTIPLY: _INT_MULTIPLY,
    CostClass.INT_DIVIDE: CostName("int", "divide"),
    CostClass.FLOAT_ADD: CostName("float", "add"),
    CostClass.FLOAT_MULTIPLY: CostName("float", "multiply"),
    CostClass.FLOAT_MULTIPLY_ADD: CostName("float", "multiply-add"),
    CostClass.FLOAT_DIVIDE: CostName("float", "divide"),
    CostClass.FLOAT_COMPARE: CostName("float", "compare and select"),
    CostClass.CONVERT: _CONVERSION,
}
"""Name of the cost of each class. Classes that are missing here cost what memory takes for them."""
_FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    LITERAL_POWER: ("multiply", "multiply", "multiply"),
    "powr": ("pow",), "pown": ("pow",), "rootn": ("pow", "pow"),
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
    "fmod": ("divide", "divide"),
    "native_sincos": ("native_sin", "native_sin"), "native_cos": ("native_sin",),
    "native_tan": ("native_sin", "native_sin"),
    "native_exp2": ("native_exp",), "native_exp10": ("native_exp",),
    "native_log": ("native_exp",), "native_log2": ("native_exp",), "native_log10": ("native_exp",),
    "native_sqrt": ("native_rsqrt",), "native_recip": ("native_rsqrt",),
    "mad": ("multiply-add",),
    "native_divide": ("native_rsqrt",), "native_powr": ("native_exp", "native_exp"),
    "sincos": ("sin", *("multiply",) * 7),
    **{
        of_vector(f"fast_{name}", count): (
            root,
            *("add",) * (count if name == "distance" else 0),
            *("multiply",) * (count + 1 if name == "normalize" else 1),
            *("multiply-add",) * (count - 1),
        )
        for name, root in (("length", "sqrt"), ("distance", "sqrt"), ("normalize", "rsqrt"))
        for count in (2, 3, 4)
    },
}  # fmt: skip
"""Functions that are not measured, by those that they are made of, or that cost as much."""
_FUNCTIONS_OF_DOUBLE: Final[Mapping[str, tuple[str, ...]]] = {"cos": ("sin",)}
"""The same of functions of `double`, where these differ."""
_SPECIAL_PIPE: Final = frozenset(
    {"sqrt", "rsqrt", "exp", "exp2", "divide", "native_sin", "native_exp", "native_rsqrt"}
)
"""Functions of float that are little more than one instruction of the special functions' pipe."""
_LOGIC_PIPE: Final = frozenset(
    {
        LOGIC, CostName("int", SHIFT), CostName("float", "compare and select"),
        CostName("long", "add"), CostName("long", SHIFT),
    }
)  # fmt: skip
_SLOT: Final = CostName("float", "multiply")
_INVERTED: Final = (_SLOT,) * 3
"""Names of what a division by an inverted number costs: two factors of scale, and the product."""
_INSTRUCTIONS: Final[Mapping[str, tuple[CostName, ...]]] = {
    TO_FLOAT: (LOGIC,),
    PART_TO_FLOAT: (LOGIC, LOGIC),
}
"""Names of the costs of what a GPU executes as a few instructions, by function."""
_SHIFTS: Final = {SHIFT: LOGIC, LEFT_SHIFT: _INT_MULTIPLY}
"""Names of the costs of shifts of 32 bits on a GPU."""
_DOUBLE: Final = CostName("double", "multiply-add")
_NARROW: Final = frozenset({"char", "short"})
_NARROWER: Final[Mapping[str, str]] = {"long": "int", "double": "float"}
_FALLBACKS: Final[Mapping[str, str]] = {
    UNSIGNED_INVARIANT: INVARIANT_DIVISOR,
    INVARIANT_DIVISOR: "divide",
    UNSIGNED_DIVIDE: "divide",
}
"""Divisions that stand for those which a profile has no costs of."""
_ADDRESSES: Final[Mapping[str, tuple[CostName, ...]]] = {
    AddressForm.NEAR: (),
    AddressForm.HALVES: (LOGIC, LOGIC),
    AddressForm.PRODUCT: (_WIDE_PRODUCT,),
}
"""Names of the costs of an address by its form, where these have been measured."""


def cost_names(row: FoldedCount, measured: Container[CostName]) -> tuple[CostName, ...]:
    """Return the names of what an operation costs; none if it costs nothing by itself.

    `measured` are the names that have a cost. Where a name of `long` or `double` has none, the name of
    `int` or `float` stands for it.
    """
    if row.cost is CostClass.ADDRESS and row.function and _WIDE_PRODUCT in measured:
        return _ADDRESSES[row.function]
    if row.function == OF_INTS and _WIDE_PRODUCT in measured:
        return (_WIDE_PRODUCT,)
    if row.function == INVERTED:
        return _INVERTED
    names = _gpu_names(row) if LOGIC in measured else None
    if names is None:
        names = _own_names(row)
    return tuple(candidate for name in names for candidate in _first_measured(name, measured))


def waited_names(row: FoldedCount, measured: Container[CostName]) -> tuple[CostName, ...]:
    """Return the names of what an operation is waited for.

    Constants of 64 bits are at hand before a function of `double` needs them.
    """
    names = cost_names(row, measured)
    if row.type == "double" and LOGIC in measured and _recipe(row) is not None:
        return tuple(name for name in names if name != _SLOT)
    return names


def _gpu_names(row: FoldedCount) -> tuple[CostName, ...] | None:
    """Return the names of the costs of the instructions that a GPU has for an operation.

    None if the operation has a cost of its own.
    """
    if row.type != "long" and row.function in _SHIFTS:
        return (_SHIFTS[row.function],)
    if row.function in _INSTRUCTIONS:
        return _INSTRUCTIONS[row.function]
    recipe = _recipe(row)
    return _recipe_names(recipe, row.type) if recipe is not None else None


def _recipe(row: FoldedCount) -> Recipe | None:
    if row.cost is CostClass.INT_DIVIDE:  # its functions are named as those of floats
        return None
    if row.type == "double":
        return DOUBLE_RECIPES.get(row.function)
    if row.function in SATURATING and row.type in _NARROW:
        return NARROW_SATURATION
    return RECIPES.get(row.function)


@cache
def _recipe_names(recipe: Recipe, kind: str) -> tuple[CostName, ...]:
    """Return the names of the costs of a recipe's instructions; those of `long` are twice as many."""
    counts = {
        _SLOT: recipe.slots,
        LOGIC: recipe.logic,
        _CONVERSION: recipe.special,
        _DOUBLE: recipe.double,
    }
    halves = 2 if kind == "long" else 1
    return tuple(name for name, count in counts.items() for _ in range(halves * count))


def _first_measured(name: CostName, measured: Container[CostName]) -> tuple[CostName, ...]:
    narrower = replace(name, type=_NARROWER.get(name.type, name.type))
    if name.operation == "logic" and name not in measured:
        if narrower in measured:  # a half at a time
            return (narrower, narrower)
        return _first_measured(replace(name, operation="add"), measured)
    chosen = tuple(candidate for candidate in (name, narrower) if candidate in measured)[:1]
    if not chosen and name.operation in _FALLBACKS:
        return _first_measured(replace(name, operation=_FALLBACKS[name.operation]), measured)
    return chosen


def _own_names(row: FoldedCount) -> tuple[CostName, ...]:
    """Return the names of an operation's cost, measured or not."""
    if row.cost is CostClass.SPECIAL:
        kind = "double" if row.type == "double" else "float"
        function = row.function.removeprefix("half_").removeprefix("llvm.")
        parts = _FUNCTIONS_OF_DOUBLE.get(function) if kind == "double" else None
        return tuple(
            CostName(kind, part) for part in parts or _FUNCTIONS.get(function, (function,))
        )
    is_sum = row.cost is CostClass.FLOAT_MULTIPLY_ADD and row.function == SUM
    name = _ARITHMETIC.get(CostClass.FLOAT_ADD if is_sum else row.cost)
    if name is None:
        return ()
    return (CostName(_own_type(row, name), _own_operation(row, name)),)


def _own_type(row: FoldedCount, name: CostName) -> str:
    if row.cost is CostClass.CONVERT:
        return "long" if row.function == OF_LONG else name.type
    if name.type == "int" and row.type == "long":
        return "long"
    return "double" if name.type == "float" and row.type == "double" else name.type


def _own_operation(row: FoldedCount, name: CostName) -> str:
    if row.cost is CostClass.INT_LOGIC and row.function in _SHIFTS:
        return SHIFT
    if row.cost is CostClass.INT_DIVIDE and row.function:
        return row.function
    return name.operation


def pipe_of(name: CostName) -> Pipe:
    """Return the pipe that executes an operation."""
    if name.type == "double":
        return Pipe.DOUBLE
    if name == _CONVERSION or (name.type == "float" and name.operation in _SPECIAL_PIPE):
        return Pipe.SPECIAL
    if name in {_INT_MULTIPLY, _WIDE_PRODUCT}:
        return Pipe.MULTIPLY
    return Pipe.LOGIC if name in _LOGIC_PIPE else Pipe.ISSUE


def is_conversion(name: CostName) -> bool:
    """Return True for conversions between integers and floats, which are instructions by themselves."""
    return name == _CONVERSION
