"""Arguments of kernels through which they cannot write, by the text of their parameters."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CONSTANT: Final = re.compile(r"\b(?:const|(?:__)?constant|(?:__)?read_only)\b")
_MAX_TEXT: Final = 1 << 20
"""Characters of a source from which on its parameters are not looked for."""


@lru_cache(maxsize=256)
def constant_arguments(source: str, kernel: str) -> frozenset[int]:
    """Return the positions of a kernel's constant arguments; none if the kernel is not found.

    A parameter that a macro makes up counts as one through which the kernel writes.
    """
    if len(source) > _MAX_TEXT:
        return frozenset()
    text = _COMMENT.sub(" ", source)
    starts = [each.end() for each in re.finditer(rf"\bvoid\s+{re.escape(kernel)}\s*\(", text)]
    if len(starts) != 1:
        return frozenset()
    parameters = enumerate(_parameters(text, starts[0]))
    return frozenset(position for position, text in parameters if _is_constant(text))


def _parameters(text: str, begin: int) -> Iterator[str]:
    """Yield the parameters of a list that begins at a position."""
    depth = 0
    for at in range(begin, len(text)):
        character = text[at]
        if character in "([":
            depth += 1
        elif character in ")]" and depth:
            depth -= 1
        elif character in ",)" and not depth:
            yield text[begin:at]
            begin = at + 1
            if character == ")":
                return


def _is_constant(parameter: str) -> bool:
    """Return whether what a parameter points to is constant, not only the pointer itself."""
    target, star, _ = parameter.partition("*")
    return bool(_CONSTANT.search(target if star else parameter))
