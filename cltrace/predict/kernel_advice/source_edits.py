"""Text of kernels in a source, and edits of it. They take time in proportion to its length."""

import re
from typing import Final

_COMMENT_OR_TEXT: Final = re.compile(
    r'/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\\n])*+\\?(?:"|(?=\n)|\Z)', re.DOTALL
)
"""A comment or a text. Those that nothing ends go to the end of the source, or of the line."""
_RESTRICT: Final = re.compile(r"\b(?:restrict|__restrict|__restrict__)\b")
_GLOBAL: Final = re.compile(r"\b(?:__)?global\b")
_KERNEL: Final = re.compile(r"\b(?:__)?kernel\b")
_REQUIRED_SIZE: Final = re.compile(r"\breqd_work_group_size\b")
_BRACE: Final = re.compile(r"[{}]")
_MAX_HEAD: Final = 1000
"""Characters of a declaration before the kernel's name: qualifiers, attributes and the type."""


def restrict_pointers(source: str, kernel: str) -> str | None:
    """Return a source whose kernel declares all of its pointers to global memory `restrict`.

    `None` if its declaration is not found in plain text, as in a macro, or if nothing is to be added.
    """
    plain = without_comments(source)
    span = _parameters(plain, kernel)
    if span is None:
        return None
    begin, end = span
    changed, at = [source[:begin]], begin
    for parameter in plain[begin:end].split(","):
        stop = at + len(parameter)
        star = parameter.rfind("*") + 1
        is_plain = star and _GLOBAL.search(parameter) and not _RESTRICT.search(parameter)
        text = source[at:stop]
        changed.append(f"{text[:star]} restrict {text[star:]}" if is_plain else text)
        changed.append(source[stop : min(stop + 1, end)])
        at = stop + 1
    result = "".join((*changed, source[end:]))
    return result if result != source else None


def without_comments(source: str) -> str:
    """Return a source with blanks in place of comments and texts."""
    return _COMMENT_OR_TEXT.sub(lambda match: _blanked(match.group()), source)


def has_required_size(source: str, kernel: str) -> bool:
    """Return True if a kernel declares the size of its work-groups in plain text."""
    definition = _definition(without_comments(source), kernel)
    return definition is not None and _REQUIRED_SIZE.search(definition[0]) is not None


def kernel_text(plain: str, kernel: str) -> str | None:
    """Return a kernel's definition without its name, in single blanks; `None` if there is none.

    `plain` is a source without comments.
    """
    definition = _definition(plain, kernel)
    if definition is None:
        return None
    head, match = definition
    depth = 0
    for brace in _BRACE.finditer(plain, match.end() - 1):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return " ".join((*head.split(), *plain[match.start(1) : brace.end()].split()))
    return None


def _parameters(plain: str, kernel: str) -> tuple[int, int] | None:
    """Return where the parameters of a kernel's definition are; `None` without one."""
    definition = _definition(plain, kernel)
    return None if definition is None else definition[1].span(1)


def _definition(plain: str, kernel: str) -> tuple[str, re.Match[str]] | None:
    """Return what stands before the name in a kernel's definition, and the rest of its declaration."""
    definition = re.compile(rf"\b{re.escape(kernel)}\s*\(([^;{{}}()]*)\)\s*\{{")
    for match in definition.finditer(plain):
        head = plain[max(match.start() - _MAX_HEAD, 0) : match.start()]
        own = head[max(map(head.rfind, ";{}")) + 1 :]
        if _KERNEL.search(own):
            return own, match
    return None


def _blanked(text: str) -> str:
    return "".join("\n" if letter == "\n" else " " for letter in text)
