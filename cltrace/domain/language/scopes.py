"""Meanings of the names in a function: other functions, constants, and functions of libraries.

`FileScope` takes them from the text of a file, which is not executed. `LiveScope` takes them from a
function that the caller already has.
"""

import ast
import builtins
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from cltrace.domain.language.places import SourcePlaces
from cltrace.errors import IterationError, IterationSourceError

MAX_SOURCE_BYTES: Final = 1 << 20
"""Limit on the text of a file."""
MAX_SOURCE_NODES: Final = 200_000
"""Limit on the syntax tree of a file."""
_MODULES: Final[Mapping[str, ModuleType]] = {
    "builtins": builtins,
    "functools": functools,
    "math": math,
    "numpy": np,
}
PROJECTIONS: Final = ("trace", "utriag", "ltriag")
_DOMAIN: Final = "cltrace.domain"


@dataclass(frozen=True, slots=True)
class Module:
    """A library whose functions can be called."""

    name: str


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function of a library, by module and name."""

    module: str
    name: str

    def __str__(self) -> str:
        return self.name if self.module == "builtins" else f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class FunctionText:
    """The syntax tree of a function, with its places and the scope of its free names."""

    node: ast.FunctionDef
    places: SourcePlaces
    scope: "Scope"

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.node.name


Meaning: TypeAlias = FunctionText | Module | LibraryFunction | int | float


class Scope(Protocol):
    """Names around a function."""

    def resolve(self, name: str) -> Meaning | None:
        """Return the meaning of a name; None if it has none that a kernel can use."""


class FileScope:
    """The functions, constants and imports at the top of a file. Nothing of it is executed."""

    def __init__(self, text: str, file: str) -> None:
        """Raises: `IterationSourceError` for a text that is not Python."""
        self._places = SourcePlaces(file)
        self._meanings: dict[str, Meaning] = {}
        for statement in _parse(text, self._places).body:
            self._meanings.update(self._statement_meanings(statement))

    def function(self, name: str) -> FunctionText:
        """Return a function of the file. Raises: `IterationError`, which lists the functions."""
        meaning = self._meanings.get(name)
        if isinstance(meaning, FunctionText):
            return meaning
        names = [key for key, value in self._meanings.items() if isinstance(value, FunctionText)]
        listed = ", ".join(names) or "none"
        raise IterationError(f"{self._places.file} has no function {name!r}; it has {listed}")

    def resolve(self, name: str) -> Meaning | None:
        """Return the meaning of a name of the file, or of a builtin."""
        meaning = self._meanings.get(name)
        if meaning is None and hasattr(builtins, name):
            return LibraryFunction("builtins", name)
        return meaning

    def _statement_meanings(self, statement: ast.stmt) -> Iterator[tuple[str, Meaning]]:
        match statement:
            case ast.FunctionDef(name=name):
                yield name, FunctionText(statement, self._places, self)
            case ast.Import(names=names):
                for alias in names:
                    yield alias.asname or alias.name, Module(alias.name)
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    yield alias.asname or alias.name, _imported(module, alias.name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                number = _constant(value)
                if number is not None:
                    yield name, number
            case _:
                return


class LiveScope:
    """The names that a function of the caller's program sees."""

    def __init__(self, function: FunctionType, texts: "dict[FunctionType, FunctionText]") -> None:
        """`texts` are the functions that were read already, so that each is read once."""
        self._texts = texts
        self._globals: Mapping[str, Any] = function.__globals__
        self._nonlocals = dict(inspect.getclosurevars(function).nonlocals)

    def resolve(self, name: str) -> Meaning | None:
        """Return the meaning of a name of the function's module, of those around it, or of a builtin."""
        for names in (self._nonlocals, self._globals, vars(builtins)):
            if name in names:
                return _live_meaning(names[name], self._texts)
        return None


def live_function(
    function: Callable[..., object], texts: dict[FunctionType, FunctionText] | None = None
) -> FunctionText:
    """Return the text of a Python function of the caller's program.

    Raises: `IterationError` if its source is not there, or if it is a lambda or no function.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise IterationError(f"{function!r} is no function with a name: write `def`")
    texts = {} if texts is None else texts
    if function in texts:
        return texts[function]
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "?"
    except (OSError, TypeError) as error:
        raise IterationError(f"the source of {function.__name__} is not there: {error}") from error
    text = "".join(lines)
    indented = len(text) - len(text.lstrip(" \t"))
    places = SourcePlaces(file.rpartition("/")[2], first - 1, indented)
    statements = _parse(textwrap.dedent(text), places).body
    if len(statements) != 1 or not isinstance(statements[0], ast.FunctionDef):
        raise IterationError(f"{function.__name__} is no plain function: write `def`")
    text_of = FunctionText(statements[0], places, LiveScope(function, texts))
    texts[function] = text_of
    return text_of


def _parse(text: str, places: SourcePlaces) -> ast.Module:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        raise IterationError(f"{places.file} is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    try:
        tree = ast.parse(text)
        nodes = sum(1 for _ in ast.walk(tree))
    except SyntaxError as error:
        line = (error.lineno or 1) + places.lines_before
        place = f"{places.file}:{line}:{error.offset or 1}"
        raise IterationSourceError(place, f"this is not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise IterationError(
            f"{places.file} cannot be read: {error or 'too deeply nested'}"
        ) from error
    if nodes > MAX_SOURCE_NODES:
        raise IterationError(f"{places.file} has more than {MAX_SOURCE_NODES:,} nodes of syntax")
    return tree


def _imported(module: str, name: str) -> Meaning:
    if f"{module}.{name}" in {*_MODULES, _DOMAIN}:
        return Module(f"{module}.{name}")
    return LibraryFunction(module, name)


def _constant(value: ast.expr) -> int | float | None:
    """Return the value of a number as written, with a sign or without; None for anything else."""
    match value:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case _:
            return None


def _live_meaning(value: object, texts: dict[FunctionType, FunctionText]) -> Meaning | None:
    if isinstance(value, ModuleType):
        name = value.__name__
        return Module(name) if name in {*_MODULES, _DOMAIN} else None
    if isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic)):
        return value
    module = getattr(value, "__module__", "") or ""
    name = getattr(value, "__name__", "")
    if name in PROJECTIONS and str(module).startswith(_DOMAIN):
        return LibraryFunction(_DOMAIN, name)
    for library, functions in _MODULES.items():
        if name and getattr(functions, name, None) is value:
            return LibraryFunction(library, name)
    return live_function(value, texts) if isinstance(value, FunctionType) else None
