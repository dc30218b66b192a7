"""Nested iterations: sum, min and max of generators, and `functools.reduce`."""

import ast
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from cltrace.domain.language.interfaces import ExpressionReading, FunctionReading
from cltrace.domain.language.number_types import (
    BOOL,
    PLAIN_INT,
    PLAIN_LONG,
    NumberType,
    common_type,
)
from cltrace.domain.language.ranges import INT, Range
from cltrace.domain.language.scopes import PROJECTIONS, LibraryFunction
from cltrace.domain.language.tree import (
    Binding,
    Comparison,
    Expression,
    Fold,
    Literal,
    Loop,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable


_MAX_ROUNDS: Final = 6
"""Readings of a body until the type and range of its accumulator are settled."""


@dataclass(frozen=True, slots=True)
class _Nest:
    """The loops of a nested iteration, with the least and the greatest number of positions."""

    loops: tuple[Loop, ...]
    min_count: int
    max_count: int


def read_sum(reader: FunctionReading, expressions: ExpressionReading, node: ast.Call) -> Expression:
    """Return `sum` of a generator, which begins as 0 or as the second argument."""
    generator = _generator(reader, node, max_arguments=2)
    with reader.environment.scope(), ExitStack() as stack:
        nest = _read_nest(reader, expressions, generator, stack)
        start = (
            reader.expression(node.args[1])
            if len(node.args) == 2
            else Literal(0, PLAIN_INT, Range(0, 0))
        )
        element = reader.expression(generator.elt)
        if element.type.is_plain and element.type.is_float:
            reader.text.places.refuse(
                node, "Python compensates sums of its own floats: convert the first to a numpy type"
            )
        held = _sum_range(start, element, nest)

        def body(accumulator: Variable) -> Expression:
            return reader.operations.arithmetic("+", accumulator, element, node)

        return _fold(reader, nest, start, body, node, held)


def _sum_range(start: Expression, element: Expression, nest: _Nest) -> Range | None:
    if start.range is None or element.range is None:
        return None
    low = min(0, element.range.low * nest.max_count)
    high = max(0, element.range.high * nest.max_count)
    return Range(start.range.low + low, start.range.high + high)


def read_extreme(
    reader: FunctionReading, expressions: ExpressionReading, name: str, node: ast.Call
) -> Expression:
    """Return `min` or `max` of a generator, which must have an element."""
    generator = _generator(reader, node, max_arguments=1)
    with reader.environment.scope(), ExitStack() as stack:
        nest = _read_nest(reader, expressions, generator, stack)
        if nest.min_count < 1 or any(loop.condition is not None for loop in nest.loops):
            reader.text.places.refuse(node, f"{name}() of a generator that may be empty")
        element = reader.expression(generator.elt)
        first = element
        for loop in reversed(nest.loops):
            first = _bound_to(loop.variable, loop.start, first)

        def body(accumulator: Variable) -> Expression:
            return reader.operations.arithmetic(name, accumulator, element, node)

        return _fold(reader, nest, first, body, node, element.range)


def _bound_to(variable: Variable, value: Expression, body: Expression) -> Expression:
    return Binding(variable, value, body)


def read_reduce(
    reader: FunctionReading, expressions: ExpressionReading, node: ast.Call
) -> Expression:
    """Return `functools.reduce(lambda accumulator, position: …, range(…), start)`."""
    match node.args:
        case [
            ast.Lambda(args=ast.arguments(args=[accumulated, position])) as function,
            over,
            begin,
        ]:
            start = reader.expression(begin)
        case _:
            return reader.text.places.refuse(
                node, "reduce takes a lambda of two names, a range and a start"
            )
    with reader.environment.scope():
        target = ast.copy_location(ast.Name(position.arg, ast.Store()), position)
        nest = _Nest(*_read_iterable(reader, expressions, target, over))

        def body(accumulator: Variable) -> Expression:
            with reader.environment.scope():
                reader.environment.bind_variable(accumulated.arg, accumulator)
                return reader.expression(function.body)

        return _fold(reader, nest, start, body, node, None)


def _fold(
    reader: FunctionReading,
    nest: _Nest,
    start: Expression,
    body: "Callable[[Variable], Expression]",
    node: ast.AST,
    held: Range | None,
) -> Expression:
    """Return a fold whose accumulator has a type and a range that its body keeps.

    `held` is the range that the accumulator is known to have, None to derive it.
    """
    kind, current = start.type, held if held is not None else start.range
    for _ in range(_MAX_ROUNDS):
        if kind.is_plain and kind.is_integer:
            kind = PLAIN_INT if current is not None and current.fits(INT) else PLAIN_LONG
        accumulator = reader.environment.fresh("total", kind, current if kind.is_integer else None)
        value = body(accumulator)
        settled = kind if value.type == kind else common_type(kind, value.type)
        is_kept = (
            held is not None
            or value.range is None
            or (current is not None and current.holds(value.range))
        )
        if settled == kind and (is_kept or not kind.is_plain):
            return Fold(
                accumulator=accumulator,
                start=reader.operations.convert(start, kind, node),
                loops=nest.loops,
                body=reader.operations.convert(value, kind, node),
                type=kind,
                range=accumulator.range,
            )
        kind, current = settled, _widened(settled, current, value.range)
    return reader.text.places.refuse(
        node, "the range of this accumulator is not bounded: begin with numpy.int64(0) or a float"
    )


def _widened(kind: NumberType, current: Range | None, value: Range | None) -> Range | None:
    if not kind.is_integer:
        return None
    if not kind.is_plain or current is None or value is None:
        return Range.of_dtype(kind.dtype)
    return current.united(value)


def _generator(
    reader: FunctionReading, node: ast.Call, max_arguments: int
) -> ast.GeneratorExp | ast.ListComp:
    generator = node.args[0]
    if not isinstance(generator, ast.GeneratorExp | ast.ListComp) or len(node.args) > max_arguments:
        reader.text.places.refuse(node, "this takes a generator: (… for i in range(n))")
    return generator


def _read_nest(
    reader: FunctionReading,
    expressions: ExpressionReading,
    generator: ast.GeneratorExp | ast.ListComp,
    stack: ExitStack,
) -> _Nest:
    """Read the loops of a generator, and assume their conditions until the stack is closed."""
    loops: tuple[Loop, ...] = ()
    min_count = max_count = 1
    for clause in generator.generators:
        more, least, greatest = _read_iterable(reader, expressions, clause.target, clause.iter)
        for test in clause.ifs:
            condition = reader.condition(test)
            earlier = more[-1].condition
            if earlier is not None:
                condition = _both(earlier, condition)
            more = (*more[:-1], replace(more[-1], condition=condition))
            stack.enter_context(reader.assuming(condition, holds=True))
        loops += more
        min_count, max_count = min_count * least, max_count * greatest
    return _Nest(loops, min_count, max_count)


def _both(first: Expression, second: Expression) -> Expression:
    return Comparison("and", first, second, BOOL)


def _read_iterable(
    reader: FunctionReading,
    expressions: ExpressionReading,
    target: ast.expr,
    iterable: ast.expr,
) -> tuple[tuple[Loop, ...], int, int]:
    """Return the loops over a range or a projection, with the least and greatest number of positions."""
    function = expressions.meaning(iterable.func) if isinstance(iterable, ast.Call) else None
    if isinstance(function, LibraryFunction) and isinstance(iterable, ast.Call):
        if str(function) == "range" and isinstance(target, ast.Name):
            bounds = [reader.expression(argument) for argument in iterable.args]
            return _range_loop(reader, target, bounds, iterable)
        if function.name in PROJECTIONS and isinstance(target, ast.Tuple):
            return _projection_loops(reader, function.name, target, iterable)
    return reader.text.places.refuse(
        iterable, "a nested iteration is over range(), trace(), utriag() or ltriag()"
    )


def _range_loop(
    reader: FunctionReading, target: ast.Name, bounds: Sequence[Expression], node: ast.Call
) -> tuple[tuple[Loop, ...], int, int]:
    zero: Expression = Literal(0, PLAIN_INT, Range(0, 0))
    step = 1
    match bounds:
        case [stop]:
            start = zero
        case [start, stop]:
            pass
        case [start, stop, Literal(value=int() as step)] if step > 0:
            pass
        case _:
            reader.text.places.refuse(
                node, "range takes a stop, a start and a step, a number above 0"
            )
    if start.range is None or stop.range is None:
        reader.text.places.refuse(node, f"a range is of integers, not {start.type} and {stop.type}")
    last = max(stop.range.high - 1, start.range.low)
    held = Range(start.range.low, last)
    # The variable is compared with the bounds, and goes one step past them.
    kind = (
        PLAIN_INT
        if Range(held.low, max(held.high, stop.range.high) + step).fits(INT)
        else PLAIN_LONG
    )
    start = reader.operations.convert(start, kind, node)
    stop = reader.operations.convert(stop, kind, node)
    if reader.environment.lookup(target.id) is not None:
        reader.text.places.refuse(target, f"{target.id} has a value already: use another name")
    variable = reader.environment.bind(target.id, kind, held)
    counts = (
        max(0, -(-(stop.range.low - start.range.high) // step))
        if stop.range and start.range
        else 0,
        max(0, -(-(stop.range.high - start.range.low) // step))
        if stop.range and start.range
        else 0,
    )
    return (Loop(variable, start, stop, step),), *counts


def _projection_loops(
    reader: FunctionReading, name: str, target: ast.Tuple, node: ast.Call
) -> tuple[tuple[Loop, ...], int, int]:
    """Return the loops over the diagonal or a triangle of a square (equations 7.3 to 7.5)."""
    match target.elts, node.args:
        case [ast.Name() as row, ast.Name() as column], [extent_node]:
            extent = reader.expression(extent_node)
        case _:
            reader.text.places.refuse(node, f"{name}(n) gives two names their values")
    zero = Literal(0, PLAIN_INT, Range(0, 0))
    (outer,), least, greatest = _range_loop(reader, row, [zero, extent], node)
    after = reader.operations.arithmetic(
        "+", outer.variable, Literal(1, PLAIN_INT, Range(1, 1)), node
    )
    bounds_of: Mapping[str, Sequence[Expression]] = {
        "trace": [outer.variable, after],
        "utriag": [after, extent],
        "ltriag": [zero, outer.variable],
    }
    (inner,), _, _ = _range_loop(reader, column, bounds_of[name], node)
    if name == "trace":
        return (outer, inner), least, greatest
    return (outer, inner), least * (least - 1) // 2, greatest * (greatest - 1) // 2
