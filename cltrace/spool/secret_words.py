"""Masks for words of command lines that look like tokens, keys or passwords."""

import re
from collections.abc import Sequence
from typing import Final

from cltrace.spool.secret_forms import (
    ASSIGNMENT,
    ATTRIBUTE,
    CALL,
    ELEMENT,
    ENCODED,
    FILE_LETTERS,
    FORMS,
    LETTER_OPTION,
    LIST,
    NAME,
    NAMING_ATTRIBUTES,
    QUOTED,
    SET,
    TAG,
    VALUE,
    VALUE_ATTRIBUTES,
    WORD,
)
from cltrace.spool.secret_names import (
    Secrecy,
    is_reference,
    is_secret,
    is_secret_macro,
    looks_secret,
    secrecy_of,
)
from cltrace.spool.secret_programs import MENTIONED, PROGRAMS
from cltrace.spool.secret_tokens import ISSUED, RANDOM, is_generated, is_random

MASK: Final = "***"

_FLAG: Final = re.compile(rf"(?P<dashes>-{{0,2}})(?P<name>{NAME})(?P<colon>:?)")
_FLAG_OR_LETTER: Final = re.compile(r"--|-.?$")
"""Words that are no values: flags of words, and of single letters."""
_WHOLE_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?:(?P<macro>-D)|--?|/)?(?P<field>{NAME})(?:=|:(?=[^\s/])))(?P<value>.+)", re.DOTALL
)
_QUOTES: Final = "\\\"'"
_QUOTE: Final = re.compile(r"[rbfuRBFU]{0,2}(\\?[\"'])")
_MAX_NAMES: Final = 8
_MAX_BEFORE: Final = 8
"""Number of words in which the program of an option is looked for."""
_ESCAPES: Final = re.compile(r"(?:%[\da-fA-F]{2})+")
_INNER_SPACE: Final = "\0"
"""Sign that no word of a command line contains."""
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
        if position and _is_behind_letter(words[position - 1], word):
            masked.append(MASK)
            continue
        masked.append(_mask_after(words[max(position - _MAX_BEFORE, 0) : position], word))
        flag = _FLAG.fullmatch(word) if masked[-1] == word else None
    return tuple(masked)


def mask_text(text: str) -> str:
    """Return a text with what looks like a secret masked."""
    text = _mask_plain(text)
    return WORD.sub(_mask_encoded, text) if ENCODED.search(text) else text


def _mask_plain(text: str) -> str:
    # A command line may have two passwords of one program.
    for form in (*FORMS, *PROGRAMS, *PROGRAMS) if MENTIONED.search(text) else FORMS:
        text = form.sub(_mask_form, text)
    text = TAG.sub(_mask_tag, text)
    text = LETTER_OPTION.sub(_mask_letter, text)
    for named in (QUOTED, ELEMENT, SET):
        text = named.sub(_mask_field, text)
    for pattern in (ASSIGNMENT, CALL):
        text = _mask_named(pattern, text)
    text = ISSUED.sub(MASK, text)
    return RANDOM.sub(lambda match: MASK if is_random(match[0]) else match[0], text)


def _is_value(flag: re.Match[str], word: str) -> bool:
    """Return True if the word behind an option is a secret, or behind the name of one."""
    if not is_secret(flag["name"], word):
        return False
    return bool(flag["dashes"] or flag["colon"]) or looks_secret(word)


def _is_behind_letter(option: str, word: str) -> bool:
    """Return True for a generated word behind the letter of an option that takes no file."""
    is_letter = len(option) == 2 and option[0] == "-" and option[1].isalpha()
    return is_letter and option[1] not in FILE_LETTERS and is_generated(word)


def _mask_after(before: Sequence[str], word: str) -> str:
    """Return a word, masked, that follows others of a command line."""
    previous = before[-1] if before else ""
    is_after_letter = previous in _PAIRED_LETTERS or previous.endswith(_PAIRED_ENDS)
    # A space inside of a word does not end it.
    text = " ".join(part.replace(" ", _INNER_SPACE) for part in (*before, word))
    if (
        is_after_letter
        or word.startswith("-p")
        or list(before[-2:-1]) == ["set"]
        or MENTIONED.search(text)
    ):
        inner = word.replace(" ", _INNER_SPACE)
        if not (last := mask_text(text).rpartition(" ")[2]).endswith(inner):
            return last.replace(_INNER_SPACE, " ")
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
        if (is_secret_macro if assignment["macro"] else is_secret)(assignment["field"], rest):
            return mask_text(name) + MASK
        if name.endswith(":"):
            break
    return mask_text(word)


def _mask_encoded(match: re.Match[str]) -> str:
    """Return a word of an address, decoded if it has a secret."""
    if not ENCODED.search(match[0]):
        return match[0]
    decoded = _ESCAPES.sub(_decode, match[0])
    masked = _mask_plain(decoded)
    return match[0] if masked == decoded else masked


def _decode(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _mask_form(match: re.Match[str]) -> str:
    return match[0] if is_reference(match["value"]) else match["name"] + MASK


def _mask_field(match: re.Match[str]) -> str:
    return match["name"] + MASK if is_secret(match["field"], match["value"]) else match[0]


def _mask_letter(match: re.Match[str]) -> str:
    is_file = match["name"][1] in FILE_LETTERS
    return match["name"] + MASK if not is_file and is_generated(match["value"]) else match[0]


def _mask_tag(match: re.Match[str]) -> str:
    """Return the begin of an element, masked. An attribute names what it has, or its own name does."""
    attributes = {each["name"].lower(): each["value"] for each in ATTRIBUTE.finditer(match[0])}
    names = [attributes[name].strip(_QUOTES) for name in NAMING_ATTRIBUTES if name in attributes]
    if not names or secrecy_of(match["element"]) is Secrecy.CERTAIN:
        names.append(match["element"])

    def mask(attribute: re.Match[str]) -> str:
        is_value = attribute["name"].lower() in VALUE_ATTRIBUTES
        if not is_value or not any(is_secret(name, attribute["value"]) for name in names):
            return attribute[0]
        quote = _QUOTE.match(attribute["value"])
        return attribute["before"] + (quote[1] + MASK + quote[1] if quote else MASK)

    text = match["text"]
    is_hidden = text is not None and any(is_secret(name, text) for name in names)
    begin = match[0].removesuffix(text) if text else match[0]
    return ATTRIBUTE.sub(mask, begin) + (MASK if is_hidden else text or "")


def _mask_named(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with masked values behind names of secrets."""
    masked: list[str] = []
    position = copied = 0
    while begin := pattern.search(text, position):
        name, position = begin["flag"] or begin["field"], begin.end()
        value = None
        if secrecy_of(name) is not Secrecy.NONE:
            value = VALUE.match(text, position) or LIST.match(text, position)
        if value is None:
            # A secret may stand inside of the value.
            continue
        position = value.end()
        is_macro = pattern is ASSIGNMENT and begin["macro"]
        if (is_secret_macro if is_macro else is_secret)(name, value[0].strip("[]")):
            quote = _QUOTE.match(value[0])
            masked += (text[copied : begin.end()], quote[1] + MASK + quote[1] if quote else MASK)
            copied = position
    return "".join((*masked, text[copied:]))
