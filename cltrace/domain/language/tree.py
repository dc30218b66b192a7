"""Typed expressions of a domain iteration. All are pure; operands have the type that is computed in."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cltrace.domain.language.number_types import NumberType
from cltrace.domain.language.ranges import Range


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array argument: its element type and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def size_bytes(self) -> int:
        """Size of all elements."""
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours by dimension, the last one 1 (equation 3.14)."""
        strides = [1]
        for extent in reversed(self.shape[1:]):
            strides.append(strides[-1] * extent)
        return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or truth value."""

    value: int | float | bool
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """An index, a parameter of a function, a local name or an argument by value.

    `name` is unique in its function; it is an identifier of C.
    """

    name: str
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """An element of an array. `indices` are within the array, or from its end where negative."""

    array: ArrayType
    indices: tuple["Expression", ...]
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Unary:
    """`-`, `~`, `not` or `abs` of an operand."""

    operator: str
    operand: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Binary:
    """An operation on two operands of `type`: arithmetic, bits, `min` or `max`.

    `//` rounds down and `%` has the divisor's sign, as in Python.
    """

    operator: str
    left: "Expression"
    right: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two operands of the same type, or `and` or `or` of two truth values."""

    operator: str
    left: "Expression"
    right: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """A value in another type."""

    operand: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """`chosen` where the condition holds, else `other`; only that which is needed is evaluated."""

    condition: "Expression"
    chosen: "Expression"
    other: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Mathematics:
    """A function of mathematics, by numpy's name, in the type of its operand."""

    function: str
    operand: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """A name for a value, in `body`."""

    variable: Variable
    value: "Expression"
    body: "Expression"

    @property
    def type(self) -> NumberType:
        """Type of the body."""
        return self.body.type

    @property
    def range(self) -> Range | None:
        """Range of the body."""
        return self.body.range


@dataclass(frozen=True, slots=True)
class Loop:
    """Numbers that a variable of a nested iteration takes: `start`, below `stop`, by `step` > 0.

    A `condition` leaves out the numbers for which it does not hold.
    """

    variable: Variable
    start: "Expression"
    stop: "Expression"
    step: int
    condition: "Expression | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A nested iteration: `accumulator` begins as `start` and becomes `body` for each position.

    Later loops are inside earlier ones.
    """

    accumulator: Variable
    start: "Expression"
    loops: tuple[Loop, ...]
    body: "Expression"
    type: NumberType
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the program. Arrays are named in the function itself."""

    function: "Function"
    arguments: tuple["Expression", ...]
    type: NumberType
    range: Range | None = None


Expression: TypeAlias = (
    Literal
    | Variable
    | Read
    | Unary
    | Binary
    | Comparison
    | Conversion
    | Choice
    | Mathematics
    | Binding
    | Fold
    | Call
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function for arguments of certain types and ranges. `name` is unique (equation 3.12)."""

    name: str
    parameters: tuple[Variable, ...]
    body: Expression
    line: int = field(compare=False, default=0)


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions that a node consists of; not those of called functions."""
    match node:
        case Read(indices=parts) | Call(arguments=parts):
            return parts
        case Unary(operand=operand) | Conversion(operand=operand) | Mathematics(operand=operand):
            return (operand,)
        case (
            Binary(left=first, right=second)
            | Comparison(left=first, right=second)
            | Binding(value=first, body=second)
        ):
            return (first, second)
        case Choice():
            return (node.condition, node.chosen, node.other)
        case Fold():
            return (node.start, *_loop_parts(node.loops), node.body)
        case _:
            return ()


def _loop_parts(loops: tuple[Loop, ...]) -> Iterator[Expression]:
    for loop in loops:
        yield from (loop.start, loop.stop)
        if loop.condition is not None:
            yield loop.condition


def walk(node: Expression) -> Iterator[Expression]:
    """Yield a node and all below it, also those of called functions."""
    waiting = [node]
    seen: set[str] = set()
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(children(current))
        if isinstance(current, Call) and current.function.name not in seen:
            seen.add(current.function.name)
            waiting.append(current.function.body)


def functions_in_order(node: Expression) -> tuple[Function, ...]:
    """Return the functions that an expression calls, each after those that it calls itself."""
    ordered: dict[str, Function] = {}

    def visit(current: Expression) -> None:
        for part in _own_nodes(current):
            if isinstance(part, Call) and part.function.name not in ordered:
                visit(part.function.body)
                ordered[part.function.name] = part.function

    visit(node)
    return tuple(ordered.values())


def _own_nodes(node: Expression) -> Iterator[Expression]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(children(current))
