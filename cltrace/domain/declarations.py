"""Types of arguments where there are none yet: from annotations of the function, and from flags.

An array is declared as `float32`, of the domain's shape, as `float32[128]` or `float32[4096, 64]`, and in
local memory as `local float32[128]`.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.domain.iterations import Iteration, array_type
from cltrace.domain.language.reader import Arguments
from cltrace.domain.language.scopes import FunctionText
from cltrace.domain.shapes import Domain
from cltrace.errors import IterationError

_DECLARATION: Final = re.compile(
    r"\s*(?P<local>local\s+)?(?P<dtype>[a-z]+\d+)\s*"
    r"(?:[\[:]\s*(?P<shape>\d{1,13}(?:\s*,\s*\d{1,13})*)\s*\]?)?\s*"
)
_DEFAULT: Final = "float32"
_NUMBER: Final = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True, slots=True)
class Declarations:
    """Declarations of arguments on the command line.

    Attributes:
        arrays: declarations of arrays by name.
        constants: plain numbers by name.
        local_arrays: names of arrays in local memory.
    """

    arrays: Mapping[str, str]
    constants: Mapping[str, int | float]
    local_arrays: frozenset[str] = frozenset()


def declared_iteration(
    function: FunctionText, domain: Domain, declarations: Declarations
) -> Iteration:
    """Return the iteration of a function whose arguments are declared, not given.

    A parameter without a declaration is an array of float32 in the domain's shape.

    Raises: `IterationError` for a wrong declaration, or for one of an argument that there is not.
    """
    arrays = {}
    local = set(declarations.local_arrays)
    names = dict(_argument_names(function, len(domain.extents)))
    for name in declarations.arrays:
        names.setdefault(name, None)  # an array that a called function names
    for name, annotation in names.items():
        if name in declarations.constants:
            continue
        text = declarations.arrays.get(name) or annotation or _DEFAULT
        match = _DECLARATION.fullmatch(text)
        if match is None:
            raise IterationError(
                f"{name}: {text[:60]!r} declares no array: write float32, float32[128] or "
                "local float32[128]"
            )
        extents = [int(part) for part in match["shape"].split(",")] if match["shape"] else None
        arrays[name] = array_type(name, match["dtype"], extents or domain.extents)
        if match["local"]:
            local.add(name)
    constants = dict(declarations.constants)
    return Iteration(function, domain, Arguments(arrays, {}, constants), tuple(sorted(local)))


def parse_constant(text: str) -> int | float:
    """Return a plain number as Python would read it. Raises: `IterationError`."""
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise IterationError(f"{text[:60]!r} is no number")
    return number


def _argument_names(function: FunctionText, rank: int) -> Iterator[tuple[str, str | None]]:
    """Yield the parameters after the indices, with the text of their annotations."""
    parameters: Sequence[ast.arg] = [*function.node.args.posonlyargs, *function.node.args.args]
    for parameter in parameters[rank:]:
        match parameter.annotation:
            case ast.Constant(value=str(text)):
                yield parameter.arg, text
            case _:
                yield parameter.arg, None
