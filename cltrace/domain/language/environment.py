"""Names inside a function while it is read: variables, arrays, and their ranges where conditions hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

from cltrace.domain.language.assumptions import assumed_ranges
from cltrace.domain.language.number_types import NumberType
from cltrace.domain.language.ranges import Range
from cltrace.domain.language.tree import ArrayType, Expression, Variable

Bound: TypeAlias = Variable | ArrayType
_MAX_NAME: Final = 40


class Environment:
    """The names that a function binds, each once, with numbers that make them unique."""

    def __init__(self) -> None:
        self._bound: dict[str, Bound] = {}
        self._ranges: dict[str, Range] = {}
        self._number = 0

    def bind(self, name: str, kind: NumberType, held: Range | None) -> Variable:
        """Bind a name to a new variable and return it."""
        variable = self.fresh(name, kind, held)
        self._bound[name] = variable
        return variable

    def bind_variable(self, name: str, variable: Variable) -> None:
        """Bind a name to a variable that exists already."""
        self._bound[name] = variable

    def bind_array(self, name: str, array: ArrayType) -> None:
        """Bind a name to an array."""
        self._bound[name] = array

    def fresh(self, name: str, kind: NumberType, held: Range | None) -> Variable:
        """Return a variable that no name is bound to."""
        stem = name[:_MAX_NAME] if name.isascii() else "v"
        self._number += 1
        return Variable(f"{stem}_{self._number}", kind, held)

    def lookup(self, name: str) -> Bound | None:
        """Return what a name is bound to, with the range that holds here; None if it is free."""
        bound = self._bound.get(name)
        if isinstance(bound, Variable) and bound.name in self._ranges:
            return replace(bound, range=self._ranges[bound.name])
        return bound

    @contextmanager
    def assuming(self, condition: Expression, *, holds: bool) -> Iterator[None]:
        """Narrow ranges to those where a condition holds, or does not, within the block."""
        before = dict(self._ranges)
        for variable, held in assumed_ranges(condition, holds=holds):
            self._ranges[variable.name] = held
        try:
            yield
        finally:
            self._ranges = before

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget the names that are bound within the block."""
        before = dict(self._bound)
        try:
            yield
        finally:
            self._bound = before
