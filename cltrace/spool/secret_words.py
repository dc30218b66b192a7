"""Masks for words of command lines that look like tokens, keys or passwords."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

MASK: Final = "***"

_END: Final = r"(?![\w-])"
_ANY: Final = (
    r"[\w.-]*(?:secret|passw(?:or)?d|passphrase|pwd|token|credentials?"
    r"|(?:api|access|private|secret)[-_]?key)"
)
"""Names that tell what they are by their end, whatever stands before it."""
_WHOLE: Final = r"(?:[\w.-]*[-_.])?(?:pass|auth|authorization|bearer)"
"""Names whose last part tells it: those of other things end in these letters, too."""
_NAME: Final = rf"(?:{_ANY}|{_WHOLE}){_END}"
_FLAG: Final = re.compile(rf"--?{_NAME}", re.IGNORECASE)
_FLAG_OR_LETTER: Final = re.compile(r"--|-.?$")
"""Words that are no values: flags of words, and of single letters."""
_WHOLE_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?:--?)?{_NAME}=)(?P<value>.+)", re.IGNORECASE | re.DOTALL
)
_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?<![\w-])(?:--?{_NAME}[\"']?[=:\s]\s*|{_NAME}[\"']?\s*[=:]\s*))"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"',)]+)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    rf"(?P<name>(?P<quote>[\"'])--?{_NAME}=)(?P<value>(?:(?!(?P=quote)).)+)", re.IGNORECASE
)
_HEADER: Final = re.compile(r"(?P<name>\bauthorization\s*:\s*)(?P<value>[^\"'\n]+)", re.IGNORECASE)
_USER: Final = re.compile(
    r"(?P<name>[a-z][a-z0-9+.-]*://(?!git@)(?:[^/\s:@]*:)?)(?P<value>[^/\s]+)(?=@)", re.IGNORECASE
)
_BEARER: Final = re.compile(
    r"(?P<name>\b(?:bearer|basic)\s+)(?P<value>[\w.~+/=-]{8,})", re.IGNORECASE
)
_KNOWN: Final = re.compile(
    r"(?P<name>)(?P<value>\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|sk-[\w-]{20,}|hf_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*))"
)
_BLOCK: Final = re.compile(
    r"(?P<name>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<value>.*?)(?=-----END|$)", re.DOTALL
)
_RANDOM: Final = re.compile(r"(?<![\w/.+-])[A-Za-z0-9+-]{32,}={0,2}(?![\w/.])")
_PATTERNS: Final = (_BLOCK, _HEADER, _USER, _BEARER, _QUOTED, _ASSIGNMENT, _KNOWN)


def mask_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command line, with what looks like a secret masked."""
    masked = []
    flag = ""
    for word in words:
        if flag and not _FLAG_OR_LETTER.match(word):
            masked.append(word if _is_amount(flag, word) else MASK)
            flag = ""
            continue
        flag = word if _FLAG.fullmatch(word) is not None else ""
        assignment = _WHOLE_ASSIGNMENT.fullmatch(word)
        masked.append(mask_text(word) if assignment is None else _masked(assignment))
    return tuple(masked)


def mask_text(text: str) -> str:
    """Return a text with what looks like a secret masked."""
    for pattern in _PATTERNS:
        text = pattern.sub(_masked, text)
    return _RANDOM.sub(lambda match: MASK if _looks_random(match[0]) else match[0], text)


def _masked(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    return name + (value if _is_amount(name, value) else MASK)


def _is_amount(name: str, value: str) -> bool:
    """Return True for a number of tokens, such as models of languages count."""
    return "token" in name.lower() and value.isdecimal()


def _looks_random(word: str) -> bool:
    """Return True for a word of mixed letters and digits. Hashes in hexadecimal digits are no secrets."""
    kinds = (str.isdigit, str.isupper, str.islower)
    changes = sum(a.isalpha() != b.isalpha() for a, b in pairwise(word))
    return all(any(map(kind, word)) for kind in kinds) and changes >= 6
