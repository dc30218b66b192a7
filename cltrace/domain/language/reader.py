"""Reading of functions into typed trees, for given types and ranges of their arguments."""

import ast
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from cltrace.domain.language.environment import Bound, Environment
from cltrace.domain.language.expression_reader import ExpressionReader
from cltrace.domain.language.identifiers import collect_identifiers
from cltrace.domain.language.interfaces import FunctionReading
from cltrace.domain.language.number_types import NumberType
from cltrace.domain.language.operations import Operations
from cltrace.domain.language.ranges import Range
from cltrace.domain.language.scopes import FunctionText
from cltrace.domain.language.statements import read_body
from cltrace.domain.language.tree import (
    ArrayType,
    Call,
    Expression,
    Function,
    Variable,
)
from cltrace.errors import IterationError

MAX_TREE_NODES: Final = 20_000
"""Limit on the nodes of an iteration's tree, called functions included."""
MAX_DEPTH: Final = 100
"""Limit on the depth of expressions and calls."""
_RESULT_OF_PLAIN: Final = {"f": "float64", "i": "int64", "b": "uint8"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of an iteration by name: arrays, and numbers.

    `scalars` are numpy's, which become arguments of the kernel; `constants` are plain numbers, which
    become part of it.
    """

    arrays: Mapping[str, ArrayType] = field(default_factory=dict)
    scalars: Mapping[str, NumberType] = field(default_factory=dict)
    constants: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IterationTree:
    """A function read for a domain: its indices, its value for each position, and the value's type."""

    name: str
    indices: tuple[Variable, ...]
    scalars: tuple[Variable, ...]
    value: Expression
    result_dtype: str
    needed: frozenset[str]


def read_iteration(
    function: FunctionText, extents: Sequence[int], arguments: Arguments
) -> IterationTree:
    """Read a function whose first parameters are the indices of a domain.

    `extents` are the numbers of values of each index. Further parameters are arguments by name.

    Raises: `IterationSourceError` for what a kernel cannot do as Python does it, `IterationError` for a
    function that takes other arguments.
    """
    identifiers = collect_identifiers(function, len(extents))
    reading = Reading(arguments)
    environment = Environment()
    names = _parameters(function)
    if len(names) < len(extents):
        raise IterationError(
            f"{function.name} has {len(names)} parameters, and the domain has {len(extents)} indices"
        )
    indices = tuple(
        environment.bind(name, index_type(extent), Range(0, extent - 1))
        for name, extent in zip(names, extents, strict=False)
    )
    for name in names[len(extents) :]:
        reading.bind_argument(environment, name, function)
    reader = FunctionReader(function, environment, reading)
    value = reader.body()
    dtype = _RESULT_OF_PLAIN[value.type.kind] if value.type.is_plain else value.type.dtype
    value = Operations(function.places).convert(value, NumberType(dtype), function.node)
    return IterationTree(
        function.name,
        indices,
        tuple(reading.scalars.values()),
        value,
        dtype,
        identifiers.needed,
    )


def index_type(extent: int) -> NumberType:
    """Return the type of an index with a number of values: 32 bits, or 64 where they are needed."""
    return NumberType("int32" if extent <= 1 << 31 else "int64", is_plain=True)


class Reading:
    """State that the functions of an iteration share: its arguments, and what was read already."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.scalars: dict[str, Variable] = {}
        self.depth = 0
        self._nodes = 0
        self._functions: dict[tuple[object, ...], Function] = {}

    def count_node(self, reader: FunctionReading, node: ast.AST) -> None:
        """Count a node of the tree, and refuse one too many."""
        self._nodes += 1
        if self._nodes > MAX_TREE_NODES:
            reader.text.places.refuse(node, f"the iteration has more than {MAX_TREE_NODES:,} nodes")
        if self.depth > MAX_DEPTH:
            reader.text.places.refuse(node, f"this is nested deeper than {MAX_DEPTH} levels")

    def argument(self, name: str) -> Bound | int | float | None:
        """Return the argument of a name; None if there is none."""
        if name in self.arguments.arrays:
            return self.arguments.arrays[name]
        if name in self.arguments.scalars:
            kind = self.arguments.scalars[name]
            held = Range.of_dtype(kind.dtype) if kind.is_integer else None
            stem = name if name.isascii() else f"scalar{len(self.scalars)}"
            return self.scalars.setdefault(name, Variable(f"arg_{stem}", kind, held))
        return self.arguments.constants.get(name)

    def bind_argument(self, environment: Environment, name: str, function: FunctionText) -> None:
        """Bind a parameter to the argument of its name. Raises: `IterationError` if there is none."""
        bound = self.argument(name)
        if bound is None:
            raise IterationError(
                f"{function.places.place(function.node)}: the parameter {name} of {function.name} has no "
                "argument: give an array or a number of that name"
            )
        if isinstance(bound, ArrayType):
            environment.bind_array(name, bound)

    def instance(
        self, function: FunctionText, values: Sequence[Expression | ArrayType]
    ) -> tuple[Function, NumberType, Range | None]:
        """Return a function for arguments of certain types, ranges and arrays; read once for each."""
        key = (function, *(_key(value) for value in values))
        cached = self._functions.get(key)
        if cached is None:
            cached = self._functions[key] = self._read(function, values)
        return cached, cached.body.type, cached.body.range

    def _read(self, function: FunctionText, values: Sequence[Expression | ArrayType]) -> Function:
        environment = Environment()
        parameters = []
        for name, value in zip(_parameters(function), values, strict=True):
            if isinstance(value, ArrayType):
                environment.bind_array(name, value)
            else:
                parameters.append(environment.bind(name, value.type, value.range))
        body = FunctionReader(function, environment, self).body()
        types = "_".join(variable.type.dtype for variable in parameters)
        stem = function.name if function.name.isascii() else "function"
        name = f"{body.type.dtype}_{stem}_{types or 'void'}_{len(self._functions)}"
        return Function(name, tuple(parameters), body, function.node.lineno)


class FunctionReader:
    """Reader of one function for arguments of certain types."""

    def __init__(self, text: FunctionText, environment: Environment, reading: Reading) -> None:
        self.text = text
        self.environment = environment
        self.reading = reading
        self.operations = Operations(text.places)
        self._expressions = ExpressionReader(self)

    def body(self) -> Expression:
        """Return the value of the function."""
        return read_body(self, self.text.node.body, self.text.node)

    def expression(self, node: ast.expr) -> Expression:
        """Return the value of an expression."""
        self.reading.count_node(self, node)
        self.reading.depth += 1
        try:
            return self._expressions.read(node)
        finally:
            self.reading.depth -= 1

    def condition(self, node: ast.expr) -> Expression:
        """Return the truth value of an expression."""
        return self.operations.condition(self.expression(node), node)

    def assuming(self, condition: Expression, *, holds: bool) -> AbstractContextManager[None]:
        """Return a context in which a condition holds, or does not."""
        return self.environment.assuming(condition, holds=holds)

    def call(
        self, function: FunctionText, values: Sequence[Expression | ArrayType], node: ast.Call
    ) -> Expression:
        """Return a call of a function of the program."""
        names = _parameters(function)
        if len(names) != len(values):
            self.text.places.refuse(
                node, f"{function.name} takes {len(names)} arguments, not {len(values)}"
            )
        self.reading.depth += 1
        try:
            self.reading.count_node(self, node)
            instance, kind, held = self.reading.instance(function, values)
        finally:
            self.reading.depth -= 1
        given = tuple(value for value in values if not isinstance(value, ArrayType))
        return Call(instance, given, kind, held)


def _parameters(function: FunctionText) -> Sequence[str]:
    """Return the names of a function's parameters. Raises: `IterationSourceError` for starred ones."""
    arguments = function.node.args
    for starred in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults):
        if starred is not None:
            function.places.refuse(starred, "parameters have names only: no *, ** or defaults")
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]


def _key(value: Expression | ArrayType) -> object:
    return value if isinstance(value, ArrayType) else (value.type, value.range)
