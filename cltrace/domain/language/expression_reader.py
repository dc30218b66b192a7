"""Expressions of functions: operators, names, elements of arrays, and calls."""

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from cltrace.domain.language.environment import Bound
from cltrace.domain.language.interfaces import FunctionReading
from cltrace.domain.language.library import call_library
from cltrace.domain.language.number_types import BOOL, NumberType
from cltrace.domain.language.ranges import Range
from cltrace.domain.language.scopes import FunctionText, LibraryFunction, Meaning, Module
from cltrace.domain.language.statements import read_conditional
from cltrace.domain.language.tree import ArrayType, Comparison, Expression, Read, Variable

_BINARY: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_UNARY: Final[Mapping[type[ast.unaryop], str]] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class ExpressionReader:
    """Reader of the expressions of a function."""

    def __init__(self, reader: FunctionReading) -> None:
        self._reader = reader
        self._readers: Mapping[type[ast.expr], Callable[[Any], Expression]] = {
            ast.Name: self._name,
            ast.BinOp: self._binary,
            ast.Compare: self._comparison,
            ast.BoolOp: self._logical,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
            ast.Attribute: self._attribute,
        }

    def read(self, node: ast.expr) -> Expression:
        """Return a typed expression. Raises: `IterationSourceError`."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self._reader.operations.number(value, node)
            case ast.UnaryOp(op=operator, operand=operand):
                return self._reader.operations.unary(
                    _UNARY[type(operator)], self._reader.expression(operand), node
                )
            case ast.IfExp():
                return read_conditional(self._reader, node)
            case _:
                pass
        read: Callable[[Any], Expression] | None = self._readers.get(type(node))
        if read is None:
            return self._refuse(node, f"{_expression_text(node)} cannot stand in an iteration")
        return read(node)

    def _refuse(self, node: ast.AST, message: str) -> Expression:
        return self._reader.text.places.refuse(node, message)

    def _name(self, node: ast.Name) -> Expression:
        bound = self._bound(node.id)
        match bound:
            case int() | float():
                return self._reader.operations.number(bound, node)
            case FunctionText() | LibraryFunction() | Module():
                return self._refuse(node, f"{node.id} can only be called")
            case None:
                return self._refuse(
                    node,
                    f"{node.id} has no value here: give an argument of that name, or define it",
                )
            case ArrayType(shape=shape):
                indices = ", ".join("ijklmn"[: len(shape)])
                return self._refuse(
                    node, f"{node.id} is an array: name an element, as {node.id}[{indices}]"
                )
            case Variable(type=kind, range=Range(low=low, high=high)) if (
                kind.is_plain and low == high
            ):
                return self._reader.operations.number(low, node)
            case _:
                return bound

    def _bound(self, name: str) -> Bound | Meaning | None:
        """Return the meaning of a name: in the function, among the arguments, or around it."""
        bound = self._reader.environment.lookup(name)
        if bound is not None:
            return bound
        argument = self._reader.reading.argument(name)
        return argument if argument is not None else self._reader.text.scope.resolve(name)

    def _binary(self, node: ast.BinOp) -> Expression:
        operator = _BINARY.get(type(node.op))
        if operator is None:
            hint = "write x * x" if isinstance(node.op, ast.Pow) else "write sum() of products"
            return self._refuse(node, f"this operator cannot stand in an iteration: {hint}")
        left, right = self._reader.expression(node.left), self._reader.expression(node.right)
        return self._reader.operations.arithmetic(operator, left, right, node)

    def _comparison(self, node: ast.Compare) -> Expression:
        values = [self._reader.expression(each) for each in (node.left, *node.comparators)]
        result: Expression | None = None
        for operator, left, right in zip(node.ops, values, values[1:], strict=False):
            text = _COMPARISONS.get(type(operator))
            if text is None:
                return self._refuse(node, "`in` and `is` cannot stand in an iteration")
            part = self._reader.operations.compare(text, left, right, node)
            result = part if result is None else Comparison("and", result, part, BOOL)
        return result if result is not None else self._refuse(node, "an empty comparison")

    def _logical(self, node: ast.BoolOp) -> Expression:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        result = self._reader.condition(node.values[0])
        for value in node.values[1:]:
            with self._reader.assuming(result, holds=operator == "and"):
                result = Comparison(operator, result, self._reader.condition(value), BOOL)
        return result

    def _subscript(self, node: ast.Subscript) -> Expression:
        shape = self._shape(node.value)
        if shape is not None:
            return self._extent(node, shape)
        array = self.array(node.value)
        if array is None:
            return self._refuse(node, "only arrays have elements: write name[i, j]")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) != len(array.shape):
            return self._refuse(
                node, f"{array.name} has {len(array.shape)} dimensions, and {len(parts)} indices"
            )
        indices = tuple(self._index(part, array, dimension) for dimension, part in enumerate(parts))
        kind = NumberType(array.dtype)
        return Read(array, indices, kind, Range.of_dtype(array.dtype) if kind.is_integer else None)

    def _index(self, node: ast.expr, array: ArrayType, dimension: int) -> Expression:
        index = self._reader.expression(node)
        extent = array.shape[dimension]
        if not index.type.is_integer or index.range is None:
            return self._refuse(node, f"an index is an integer, not {index.type}")
        if not Range(-extent, extent - 1).holds(index.range):
            return self._refuse(
                node,
                f"this index may be outside {array.name}: it is {index.range}, and dimension "
                f"{dimension} has {extent}. Use % {extent}, or a condition",
            )
        return index

    def array(self, node: ast.expr) -> ArrayType | None:
        """Return the array that an expression names; None if it names none."""
        if not isinstance(node, ast.Name):
            return None
        bound = self._reader.environment.lookup(node.id)
        if bound is None:
            argument = self._reader.reading.argument(node.id)
            return argument if isinstance(argument, ArrayType) else None
        return bound if isinstance(bound, ArrayType) else None

    def _shape(self, node: ast.expr) -> tuple[int, ...] | None:
        """Return the shape that `array.shape` stands for; None for other expressions."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            array = self.array(node.value)
            return None if array is None else array.shape
        return None

    def _extent(self, node: ast.Subscript, shape: tuple[int, ...]) -> Expression:
        index = node.slice
        if (
            isinstance(index, ast.Constant)
            and isinstance(index.value, int)
            and index.value < len(shape)
        ):
            return self._reader.operations.number(shape[index.value], node)
        return self._refuse(node, f"a shape's dimension is a number from 0 to {len(shape) - 1}")

    def _attribute(self, node: ast.Attribute) -> Expression:
        array = self.array(node.value)
        if array is not None and node.attr in {"size", "ndim"}:
            number = array.size if node.attr == "size" else len(array.shape)
            return self._reader.operations.number(number, node)
        return self._refuse(node, f".{node.attr} cannot stand in an iteration")

    def meaning(self, node: ast.expr) -> Meaning | None:
        """Return the function that an expression names; None if it names none."""
        match node:
            case ast.Name(id=name):
                if self._reader.environment.lookup(name) is not None:
                    return None
                return self._reader.text.scope.resolve(name)
            case ast.Attribute(value=value, attr=attr):
                inner = self.meaning(value)
                return LibraryFunction(inner.name, attr) if isinstance(inner, Module) else None
            case _:
                return None

    def _call(self, node: ast.Call) -> Expression:
        if node.keywords:
            return self._refuse(node, "arguments are given by place, not by name")
        meaning = self.meaning(node.func)
        if isinstance(meaning, LibraryFunction):
            return call_library(self._reader, self, meaning, node)
        if not isinstance(meaning, FunctionText):
            return self._refuse(
                node, f"{ast.unparse(node.func)[:60]} is no function that is known here"
            )
        values = [
            array
            if (array := self.array(argument)) is not None
            else self._reader.expression(argument)
            for argument in node.args
        ]
        return self._reader.call(meaning, values, node)


def _expression_text(node: ast.expr) -> str:
    """Return the kind of an expression in the words of Python."""
    words = {
        "Constant": "this constant",
        "Lambda": "a lambda outside reduce()",
        "List": "a list",
        "ListComp": "a list",
        "GeneratorExp": "a generator outside sum(), min() or max()",
        "Tuple": "a tuple",
        "NamedExpr": "an assignment in an expression",
        "JoinedStr": "a text",
    }
    name = type(node).__name__
    return words.get(name, f"`{name.lower()}`")
