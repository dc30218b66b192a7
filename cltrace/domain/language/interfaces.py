"""Interfaces of readers, through which the parts of a reading use each other."""

import ast
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from cltrace.domain.language.environment import Bound, Environment
from cltrace.domain.language.operations import Operations
from cltrace.domain.language.scopes import FunctionText, Meaning
from cltrace.domain.language.tree import ArrayType, Expression


class TreeReading(Protocol):
    """The reading of a whole tree; `depth` is that of the expression being read."""

    depth: int

    def count_node(self, reader: "FunctionReading", node: ast.AST) -> None:
        """Count a node of the tree, and refuse one too many."""

    def argument(self, name: str) -> Bound | int | float | None:
        """Return the argument of a name; None if there is none."""


class FunctionReading(Protocol):
    """The reading of a function."""

    @property
    def text(self) -> FunctionText:
        """Text of the function."""

    @property
    def environment(self) -> Environment:
        """Names that are bound."""

    @property
    def operations(self) -> Operations:
        """Operations on values."""

    @property
    def reading(self) -> TreeReading:
        """Reading of the tree that the function is in."""

    def expression(self, node: ast.expr) -> Expression:
        """Return the value of an expression."""

    def condition(self, node: ast.expr) -> Expression:
        """Return the truth value of an expression."""

    def assuming(self, condition: Expression, *, holds: bool) -> AbstractContextManager[None]:
        """Return a context in which a condition holds, or does not."""

    def call(
        self, function: FunctionText, values: Sequence[Expression | ArrayType], node: ast.Call
    ) -> Expression:
        """Return a call of a function of the program."""


class ExpressionReading(Protocol):
    """The reading of a function's expressions."""

    def array(self, node: ast.expr) -> ArrayType | None:
        """Return the array that an expression names; None if it names none."""

    def meaning(self, node: ast.expr) -> Meaning | None:
        """Return what a name of the program or of a library means; None for others."""
