"""Functions of Python, `math`, `numpy` and `functools` that can be called in an iteration."""

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from cltrace.domain.language.folds import read_extreme, read_reduce, read_sum
from cltrace.domain.language.interfaces import ExpressionReading, FunctionReading
from cltrace.domain.language.number_types import ARRAY_DTYPES, PLAIN_FLOAT, NumberType
from cltrace.domain.language.scopes import LibraryFunction
from cltrace.domain.language.tree import Conversion, Expression, Mathematics

EXACT: Final = frozenset({"sqrt", "floor", "ceil", "trunc", "fabs"})
"""Functions that give the same bits everywhere."""
_OTHERS: Final = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
        *("arcsin", "arccos", "arctan", "cbrt"),
    }
)
FUNCTIONS: Final = EXACT | _OTHERS
_OF_MATH: Final[Mapping[str, str]] = {
    **{name: name for name in FUNCTIONS - {"floor", "ceil", "trunc"}},
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
}
"""Names of numpy's functions by those of `math`; its `floor` returns an integer, numpy's a float."""
_WIDE_INTEGERS: Final = frozenset({"int32", "int64", "uint32", "uint64"})


def call_library(
    reader: FunctionReading,
    expressions: ExpressionReading,
    function: LibraryFunction,
    node: ast.Call,
) -> Expression:
    """Return a call of a library's function. Raises: `IterationSourceError`."""
    if (function.module, function.name) == ("functools", "reduce"):
        return read_reduce(reader, expressions, node)
    if function.module == "builtins":
        return _call_builtin(reader, expressions, function.name, node)
    arguments = [reader.expression(argument) for argument in node.args]
    value = arguments[0] if len(arguments) == 1 else None
    result = _call_on_value(reader, function, value, node) if value is not None else None
    return result if result is not None else _refuse_call(reader, str(function), node)


def _call_on_value(
    reader: FunctionReading, function: LibraryFunction, value: Expression, node: ast.Call
) -> Expression | None:
    """Return a function of `numpy` or `math` of a value; None for one that kernels lack."""
    name = function.name
    if function.module == "math" and name in _OF_MATH:
        value = reader.operations.convert(value, PLAIN_FLOAT, node)
        return Mathematics(_OF_MATH[name], value, PLAIN_FLOAT)
    if function.module != "numpy":
        return None
    if name in ARRAY_DTYPES:
        return _cast(reader, value, NumberType(name), node)
    if name == "abs":
        return reader.operations.unary("abs", value, node)
    return _numpy_function(reader, name, value, node) if name in FUNCTIONS else None


def _refuse_call(reader: FunctionReading, name: str, node: ast.Call) -> Expression:
    return reader.text.places.refuse(
        node, f"{name}() cannot be called so in an iteration; see `cltrace help domain`"
    )


def _call_builtin(
    reader: FunctionReading, expressions: ExpressionReading, name: str, node: ast.Call
) -> Expression:
    array = expressions.array(node.args[0]) if name == "len" and len(node.args) == 1 else None
    if array is not None:
        return reader.operations.number(array.shape[0], node)
    if len(node.args) == 1 and name in {"min", "max"}:
        return read_extreme(reader, expressions, name, node)
    if node.args and name == "sum":
        return read_sum(reader, expressions, node)
    return _call_on_values(reader, name, node)


def _call_on_values(reader: FunctionReading, name: str, node: ast.Call) -> Expression:
    """Return a builtin of values."""
    arguments = [reader.expression(argument) for argument in node.args]
    match name, arguments:
        case (("min" | "max"), [_, _, *_]):
            return _extreme_of(reader, name, arguments, node)
        case "abs", [value]:
            return reader.operations.unary("abs", value, node)
        case "float", [value]:
            return _cast(reader, value, PLAIN_FLOAT, node)
        case _:
            return _refuse_call(reader, name, node)


def _extreme_of(
    reader: FunctionReading, name: str, arguments: Sequence[Expression], node: ast.Call
) -> Expression:
    result = arguments[0]
    for argument in arguments[1:]:
        result = reader.operations.arithmetic(name, result, argument, node)
    return result


def _cast(
    reader: FunctionReading, value: Expression, kind: NumberType, node: ast.Call
) -> Expression:
    """Return a value in a type that the function names."""
    if value.type.is_float and kind.is_integer and kind.dtype not in _WIDE_INTEGERS:
        reader.text.places.refuse(node, f"a float becomes int32 or wider, not {kind.dtype}")
    converted = reader.operations.convert(value, kind, node)
    if converted.type == kind or not isinstance(value, Conversion):
        return converted
    return Conversion(value, kind, converted.range)


def _numpy_function(
    reader: FunctionReading, name: str, value: Expression, node: ast.Call
) -> Expression:
    """Return a function of numpy, which computes plain numbers and integers in 64 bits."""
    is_own = value.type.is_float and not value.type.is_plain
    kind = value.type if is_own else NumberType("float64")
    if value.type.is_integer and not value.type.is_plain and value.type.dtype not in _WIDE_INTEGERS:
        reader.text.places.refuse(node, f"{name} of {value.type}: convert it to float32 first")
    return Mathematics(name, reader.operations.convert(value, kind, node), kind)
