"""Masks for words of command lines that look like tokens, keys or passwords."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

MASK: Final = "***"

_NAME: Final = (
    r"[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|pwd|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|credentials?|auth(?:orization)?|bearer)[\w-]*"
)
_FLAG: Final = re.compile(rf"--?{_NAME}", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?<![\w]){_NAME}[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s\"'&;,)]+)", re.IGNORECASE
)
_USER: Final = re.compile(
    r"(?P<name>[a-z][a-z0-9+.-]*://[^/\s:@]*:)(?P<value>[^/\s@]+)(?=@)", re.IGNORECASE
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
_RANDOM: Final = re.compile(
    r"(?P<name>)(?P<value>(?<![\w/.+-])[A-Za-z0-9+_-]{32,}={0,2}(?![\w/.]))"
)
_PATTERNS: Final = (_BLOCK, _USER, _BEARER, _ASSIGNMENT, _KNOWN)


def mask_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command line, with what looks like a secret masked."""
    masked = []
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            masked.append(MASK)
            is_value = False
            continue
        is_value = _FLAG.fullmatch(word) is not None
        masked.append(mask_text(word))
    return tuple(masked)


def mask_text(text: str) -> str:
    """Return a text with what looks like a secret masked."""
    for pattern in _PATTERNS:
        text = pattern.sub(lambda match: match["name"] + MASK, text)
    return _RANDOM.sub(
        lambda match: MASK if _looks_random(match["value"]) else match["value"], text
    )


def _looks_random(word: str) -> bool:
    """Return True for a word of mixed letters and digits. Hashes in hexadecimal digits are no secrets."""
    kinds = (str.isdigit, str.isupper, str.islower)
    changes = sum(a.isalpha() != b.isalpha() for a, b in pairwise(word))
    return all(any(map(kind, word)) for kind in kinds) and changes >= 6
