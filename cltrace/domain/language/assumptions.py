"""Ranges of variables where a condition holds, so that an access that it guards is in its array."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from cltrace.domain.language.ranges import Range
from cltrace.domain.language.tree import (
    Binary,
    Comparison,
    Conversion,
    Expression,
    Literal,
    Unary,
    Variable,
)

_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def assumed_ranges(condition: Expression, *, holds: bool) -> Iterator[tuple[Variable, Range]]:
    """Yield variables with their ranges where a condition holds, or where it does not."""
    match condition:
        case Unary(operator="not", operand=operand):
            yield from assumed_ranges(operand, holds=not holds)
        case Comparison(operator=("and" | "or") as operator, left=left, right=right):
            if holds == (operator == "and"):
                yield from assumed_ranges(left, holds=holds)
                yield from assumed_ranges(right, holds=holds)
        case Comparison(operator=operator, left=left, right=right):
            actual = operator if holds else _NEGATED[operator]
            yield from _bounded(left, actual, right)
            yield from _bounded(right, _MIRRORED[actual], left)
        case _:
            return


def _bounded(
    left: Expression, operator: str, right: Expression
) -> Iterator[tuple[Variable, Range]]:
    """Yield the variable on the left with its range, if it is a variable plus a constant."""
    place = _variable_and_offset(left)
    if place is None or right.range is None or place[0].range is None:
        return
    variable, offset = place
    held = place[0].range
    low, high = right.range.low - offset, right.range.high - offset
    narrow = _NARROWED[operator]
    yield variable, narrow(held, Range(low, high))


def _without(held: Range, value: Range) -> Range:
    """Return a range without a value at one of its ends."""
    if value.low == value.high == held.low:
        return held.above(value.low + 1)
    return held.below(value.high - 1) if value.low == value.high == held.high else held


_NARROWED: Final[Mapping[str, Callable[[Range, Range], Range]]] = {
    "<": lambda held, value: held.below(value.high - 1),
    "<=": lambda held, value: held.below(value.high),
    ">": lambda held, value: held.above(value.low + 1),
    ">=": lambda held, value: held.above(value.low),
    "==": lambda held, value: held.above(value.low).below(value.high),
    "!=": _without,
}


def _variable_and_offset(value: Expression) -> tuple[Variable, int] | None:
    """Return a plain variable and the constant that is added to it; None for other values."""
    match value:
        case Conversion(operand=operand) if value.type.is_integer and value.type.is_plain:
            return _variable_and_offset(operand)
        case Variable() if value.type.is_plain and value.type.is_integer:
            return value, 0
        case Binary(operator=("+" | "-") as sign, left=left, right=Literal(value=int(number))):
            inner = _variable_and_offset(left)
            if inner is not None and value.type.is_plain:
                return inner[0], inner[1] + (number if sign == "+" else -number)
            return None
        case _:
            return None
