"""What a function of the caller's program depends on: its code, and the values of the names it uses."""

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType


def fingerprint(function: object) -> tuple[object, ...]:
    """Return a value that is equal as long as a function and all that it uses are the same.

    Numbers are compared with their types, functions with what they use in turn.
    """
    return _of_value(function, frozenset())


def _of_value(value: object, inside: frozenset[int]) -> tuple[object, ...]:
    """Return what a value is told by. `inside` are the functions that lead to it, by their ids."""
    if isinstance(value, FunctionType):
        if id(value) in inside:
            return ("recursive", value.__qualname__)
        further = inside | {id(value)}
        used = tuple((name, _of_value(own, further)) for name, own in _used(value))
        return (value.__code__, used)
    if isinstance(value, ModuleType):
        return ("module", value.__name__)
    if isinstance(value, (int, float)):
        return (type(value), repr(value))
    return (type(value), id(value))


def _used(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the names that a function takes from around it, with their values."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # not yet assigned
            continue
    for name in sorted(set(_names(function.__code__))):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names and attributes in a code, and in those of its inner functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
