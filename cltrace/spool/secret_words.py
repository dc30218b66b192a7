"""Masks for words of command lines that look like tokens, keys or passwords."""

import re
from collections.abc import Sequence
from typing import Final

from cltrace.spool.secret_forms import ASSIGNMENT, CALL, FORMS, NAME, QUOTED, VALUE
from cltrace.spool.secret_names import Secrecy, is_secret, looks_secret, secrecy_of
from cltrace.spool.secret_tokens import ISSUED, RANDOM, is_random

MASK: Final = "***"

_FLAG: Final = re.compile(rf"(?P<dashes>-{{0,2}})(?P<name>{NAME})")
_FLAG_OR_LETTER: Final = re.compile(r"--|-.?$")
"""Words that are no values: flags of words, and of single letters."""
_WHOLE_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?:-D|--?|/)?(?P<field>{NAME})(?:=|:(?=[^\s/])))(?P<value>.+)", re.DOTALL
)
_QUOTE: Final = re.compile(r"[rbfuRBFU]{0,2}(\\?[\"'])")
_MAX_NAMES: Final = 8
_MAX_BEFORE: Final = 8
"""Number of words in which the program of an option is looked for."""
_PAIRED_LETTERS: Final = ("-u", "-p")
_PAIRED_ENDS: Final = ("user", "login", "userpwd")
"""Options that take a user with a password, or a password of `sshpass`, as the next word."""


def mask_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command line, with what looks like a secret masked."""
    masked: list[str] = []
    flag: re.Match[str] | None = None
    for position, word in enumerate(words):
        if flag is not None and not _FLAG_OR_LETTER.match(word) and _is_value(flag, word):
            masked.append(MASK)
            flag = None
            continue
        masked.append(_mask_after(words[max(position - _MAX_BEFORE, 0) : position], word))
        flag = _FLAG.fullmatch(word) if masked[-1] == word else None
    return tuple(masked)


def mask_text(text: str) -> str:
    """Return a text with what looks like a secret masked."""
    for form in FORMS:
        text = form.sub(lambda match: match["name"] + MASK, text)
    text = QUOTED.sub(_mask_quoted, text)
    for pattern in (ASSIGNMENT, CALL):
        text = _mask_named(pattern, text)
    text = ISSUED.sub(MASK, text)
    return RANDOM.sub(lambda match: MASK if is_random(match[0]) else match[0], text)


def _is_value(flag: re.Match[str], word: str) -> bool:
    """Return True if the word behind an option is a secret, or behind the name of one."""
    if not is_secret(flag["name"], word):
        return False
    return bool(flag["dashes"]) or looks_secret(word)


def _mask_after(before: Sequence[str], word: str) -> str:
    """Return a word, masked, that follows others of a command line."""
    previous = before[-1] if before else ""
    is_after_letter = previous in _PAIRED_LETTERS or previous.endswith(_PAIRED_ENDS)
    if " " not in word and (is_after_letter or word.startswith("-p")):
        text = " ".join((*before, word))
        if not (last := mask_text(text).rpartition(" ")[2]).endswith(word):
            return last
    return _mask_word(word)


def _mask_word(word: str) -> str:
    """Return a word, masked. A secret may stand behind several names, as in `--env=PASSWORD=...`."""
    name, rest = "", word
    for _ in range(_MAX_NAMES):
        assignment = _WHOLE_ASSIGNMENT.fullmatch(rest)
        if assignment is None:
            break
        name += assignment["name"]
        rest = assignment["value"]
        if is_secret(assignment["field"], rest):
            return mask_text(name) + MASK
        if name.endswith(":"):
            break
    return mask_text(word)


def _mask_quoted(match: re.Match[str]) -> str:
    return match["name"] + MASK if is_secret(match["field"], match["value"]) else match[0]


def _mask_named(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with masked values behind names of secrets."""
    masked: list[str] = []
    position = copied = 0
    while begin := pattern.search(text, position):
        name, position = begin["flag"] or begin["field"], begin.end()
        value = VALUE.match(text, position) if secrecy_of(name) is not Secrecy.NONE else None
        if value is None:
            # A secret may stand inside of the value.
            continue
        position = value.end()
        if is_secret(name, value[0]):
            quote = _QUOTE.match(value[0])
            masked += (text[copied : begin.end()], quote[1] + MASK + quote[1] if quote else MASK)
            copied = position
    return "".join((*masked, text[copied:]))
