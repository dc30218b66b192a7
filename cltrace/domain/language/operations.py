"""Operations on typed expressions, with numpy's types and with ranges of integers."""

import ast
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.domain.language import ranges
from cltrace.domain.language.number_types import (
    BOOL,
    PLAIN_FLOAT,
    PLAIN_INT,
    PLAIN_LONG,
    NumberType,
    common_type,
    quotient_type,
)
from cltrace.domain.language.places import SourcePlaces
from cltrace.domain.language.ranges import INT, LONG, Range
from cltrace.domain.language.tree import Binary, Comparison, Conversion, Expression, Literal, Unary

_EXACT: Final = Range(-(1 << 53), 1 << 53)
"""Integers that a 64-bit float holds exactly."""
_RANGES: Final[Mapping[str, Callable[[Range, Range], Range]]] = {
    "+": ranges.add,
    "-": ranges.subtract,
    "*": ranges.multiply,
    "//": ranges.floor_divide,
    "%": ranges.remainder,
    "&": ranges.bit_and,
    "|": ranges.bit_or,
    "^": ranges.bit_or,
    "<<": ranges.shift_left,
    ">>": ranges.shift_right,
    "min": ranges.lesser,
    "max": ranges.greater,
}
_OF_FLOATS: Final = frozenset({"+", "-", "*", "/", "min", "max"})


class Operations:
    """Builder of operations, which refuses those that a kernel cannot do as Python does them."""

    def __init__(self, places: SourcePlaces) -> None:
        self._places = places

    def number(self, value: float, node: ast.AST) -> Literal:
        """Return a plain number, or a truth value."""
        if isinstance(value, bool):
            return Literal(value, BOOL)
        if isinstance(value, float):
            return Literal(value, PLAIN_FLOAT)
        held = Range(value, value)
        return Literal(value, self._plain_type(node, held), held)

    def arithmetic(
        self, operator: str, left: Expression, right: Expression, node: ast.AST
    ) -> Expression:
        """Return an operation on two numbers."""
        left, right = self._as_number(left), self._as_number(right)
        if operator == "/":
            kind = quotient_type(left.type, right.type)
            return Binary(
                "/", self.convert(left, kind, node), self.convert(right, kind, node), kind
            )
        kind = common_type(left.type, right.type)
        if kind.is_float:
            if operator not in _OF_FLOATS:
                self._places.refuse(
                    node, f"{operator} takes integers, not {left.type} and {right.type}"
                )
            return Binary(
                operator, self.convert(left, kind, node), self.convert(right, kind, node), kind
            )
        return self._integers(operator, left, right, kind, node)

    def _integers(
        self, operator: str, left: Expression, right: Expression, kind: NumberType, node: ast.AST
    ) -> Expression:
        left_range, right_range = _range_of(left), _range_of(right)
        self._check_right(operator, right_range, kind, node)
        computed = _RANGES[operator](left_range, right_range)
        if (
            operator == "%"
            and kind.is_plain
            and computed == left_range
            and right_range.low > left_range.high
        ):
            return left  # x % d is x for 0 ≤ x < d
        if kind.is_plain:
            kind = self._plain_type(node, computed, left_range, right_range)
            if computed.low == computed.high:
                return Literal(computed.low, self._plain_type(node, computed), computed)
        elif not computed.fits(kind.dtype):
            computed = Range.of_dtype(kind.dtype)
        operands = (self.convert(left, kind, node), self.convert(right, kind, node))
        return Binary(operator, *operands, kind, computed)

    def _check_right(self, operator: str, right: Range, kind: NumberType, node: ast.AST) -> None:
        """Refuse a divisor that may be 0, and a shift by more bits than there are."""
        if operator in {"//", "%"} and right.low <= 0 <= right.high:
            self._places.refuse(node, f"the divisor may be 0: it is {right}")
        bits = ranges.MAX_SHIFT if kind.is_plain else np.dtype(kind.dtype).itemsize * 8 - 1
        if operator in {"<<", ">>"} and not (right.low >= 0 and right.high <= bits):
            self._places.refuse(node, f"a shift is by 0 to {bits} bits, not by {right}")

    def unary(self, operator: str, operand: Expression, node: ast.AST) -> Expression:
        """Return `-`, `~` or `abs` of a number, or `not` of a truth value."""
        if operator == "not":
            return Unary("not", self.condition(operand, node), BOOL)
        operand = self._as_number(operand)
        if operator == "+":
            return operand
        if not operand.type.is_float:
            return self._unary_integer(operator, operand, node)
        if operator == "~":
            self._places.refuse(node, f"~ takes integers, not {operand.type}")
        if operator == "-" and isinstance(operand, Literal):
            return Literal(-operand.value, operand.type)
        return Unary(operator, operand, operand.type)

    def _unary_integer(self, operator: str, operand: Expression, node: ast.AST) -> Expression:
        held = _range_of(operand)
        computed = {
            "-": Range(-held.high, -held.low),
            "~": Range(~held.high, ~held.low),
            "abs": Range(max(held.low, -held.high, 0), max(-held.low, held.high)),
        }[operator]
        kind = operand.type
        if kind.is_plain:
            kind = self._plain_type(node, computed, held)
            operand = self.convert(operand, kind, node)
        elif not computed.fits(kind.dtype):
            computed = Range.of_dtype(kind.dtype)
        if operator == "-" and isinstance(operand, Literal):
            return Literal(-operand.value, kind, computed)
        return Unary(operator, operand, kind, computed)

    def compare(
        self, operator: str, left: Expression, right: Expression, node: ast.AST
    ) -> Expression:
        """Return a comparison of two numbers."""
        left, right = self._as_number(left), self._as_number(right)
        kind = common_type(left.type, right.type)
        if kind.is_float and {left.type.kind, right.type.kind} == {"i", "u"}:
            self._places.refuse(node, f"{left.type} and {right.type} have no common integer type")
        return Comparison(
            operator, self.convert(left, kind, node), self.convert(right, kind, node), BOOL
        )

    def condition(self, operand: Expression, node: ast.AST) -> Expression:
        """Return a truth value. A number is refused: write a comparison."""
        if operand.type != BOOL:
            self._places.refuse(
                node, f"a condition is a comparison, not {operand.type}: write != 0"
            )
        return operand

    def unified(
        self, left: Expression, right: Expression, node: ast.AST
    ) -> tuple[Expression, Expression]:
        """Return two values in their common type."""
        if left.type == right.type:
            return left, right
        left, right = self._as_number(left), self._as_number(right)
        kind = common_type(left.type, right.type)
        return self.convert(left, kind, node), self.convert(right, kind, node)

    def convert(self, value: Expression, kind: NumberType, node: ast.AST) -> Expression:
        """Return a value in another type; a plain integer has to fit."""
        if value.type == kind:
            return value
        value = self._as_number(value)
        held = value.range
        if held is not None and value.type.is_plain:
            if kind.is_float and not _EXACT.holds(held):
                self._places.refuse(node, f"this integer may be inexact as {kind}: it is {held}")
            if kind.is_integer and not held.fits(kind.dtype):
                self._places.refuse(node, f"this integer may not fit {kind.dtype}: it is {held}")
        if kind.is_integer and held is not None and not held.fits(kind.dtype):
            held = Range.of_dtype(kind.dtype)
        if kind.is_integer and held is None:
            held = Range.of_dtype(kind.dtype)
        if isinstance(value, Literal):
            return _converted_literal(value, kind, held)
        return Conversion(value, kind, held if kind.is_integer else None)

    def _as_number(self, value: Expression) -> Expression:
        if value.type != BOOL:
            return value
        if isinstance(value, Literal):
            return Literal(int(value.value), PLAIN_INT, Range(int(value.value), int(value.value)))
        return Conversion(value, PLAIN_INT, Range(0, 1))

    def _plain_type(self, node: ast.AST, *held: Range) -> NumberType:
        """Return the type of 32 or 64 bits in which plain integers of these ranges are computed."""
        if all(each.fits(INT) for each in held):
            return PLAIN_INT
        for each in held:
            if not each.fits(LONG):
                self._places.refuse(
                    node, f"this integer may exceed 64 bits: it is {each}. Use % or a numpy type"
                )
        return PLAIN_LONG


def _range_of(value: Expression) -> Range:
    return value.range if value.range is not None else Range.of_dtype(value.type.dtype)


def _converted_literal(value: Literal, kind: NumberType, held: Range | None) -> Literal:
    number = value.value
    with np.errstate(all="ignore"):
        if kind.is_float:
            return Literal(float(np.dtype(kind.dtype).type(number)), kind)
    return Literal(int(number), kind, held if held is not None else Range(int(number), int(number)))
