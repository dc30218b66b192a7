"""The identifiers that an iteration needs, and the order of its functions (Pöppl 2014, 3.2.1 and 3.3.1).

The set of all identifiers joins those of the function's syntax tree and those of the bodies of the
functions that it names (equations 3.1 and 3.2). Iteration arguments and local names are not needed from
outside. Functions are ordered so that each comes after those that it calls; recursion is refused.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cltrace.domain.language.scopes import FunctionText, LibraryFunction, Module

MAX_FUNCTIONS: Final = 200
"""Limit on the functions of an iteration."""


@dataclass(frozen=True, slots=True)
class Identifiers:
    """Identifiers of an iteration.

    Attributes:
        all_names: every name in the function and in those that it calls, without libraries' names.
        needed: those that come from outside: arrays, values by name, and functions.
        functions: the called functions in order of dependency.
    """

    all_names: frozenset[str]
    needed: frozenset[str]
    functions: tuple[FunctionText, ...]


def collect_identifiers(function: FunctionText, rank: int) -> Identifiers:
    """Return the identifiers of an iteration whose first `rank` parameters are indices.

    Raises: `IterationSourceError` for recursion, which names the functions of the cycle.
    """
    search = _Search()
    search.visit(function)
    parameters = [argument.arg for argument in function.node.args.args]
    indices = set(parameters[:rank])
    outside = (search.free | set(parameters[rank:])) - indices
    return Identifiers(frozenset(search.names), frozenset(outside), tuple(search.ordered))


class _Search:
    """Depth-first search of the functions that an iteration calls."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.free: set[str] = set()
        self.ordered: list[FunctionText] = []
        self._path: list[FunctionText] = []
        self._finished: set[FunctionText] = set()

    def visit(self, function: FunctionText) -> None:
        self._path.append(function)
        bound = set(_bound_names(function.node))
        self.names.update(bound)
        for name in _loaded_names(function.node):
            if name.id not in bound:
                self._visit_free(function, name)
        self._path.pop()
        self._finished.add(function)

    def _visit_free(self, function: FunctionText, name: ast.Name) -> None:
        meaning = function.scope.resolve(name.id)
        if isinstance(meaning, LibraryFunction | Module):
            return
        self.names.add(name.id)
        self.free.add(name.id)
        if not isinstance(meaning, FunctionText) or meaning in self._finished:
            return
        names = [caller.name for caller in self._path]
        if meaning in self._path:
            cycle = " → ".join([*names[names.index(meaning.name) :], meaning.name])
            function.places.refuse(
                name, f"{meaning.name} calls itself ({cycle}): OpenCL C has no recursion"
            )
        if len(self.ordered) + len(self._path) >= MAX_FUNCTIONS:
            function.places.refuse(name, f"more than {MAX_FUNCTIONS} functions are called")
        self.visit(meaning)
        self.ordered.append(meaning)


def _bound_names(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the names that a function binds: parameters, local names, and those of nested iterations."""
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                continue


def _loaded_names(function: ast.FunctionDef) -> Iterator[ast.Name]:
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node
