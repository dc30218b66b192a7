"""Tokens and keys that are recognised by their own form, whatever stands before them."""

import re
from itertools import pairwise
from typing import Final

_BEGIN: Final = r"(?:(?<![A-Za-z0-9])|(?<=-[A-Za-z]))"
"""Begin of a token: of a word, behind a sign, or behind the letter of an option."""
ISSUED: Final = re.compile(
    _BEGIN
    + r"(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|gl(?:pat|ptt|dt|rt|soat)-[\w-]{16,}"
    + r"|xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-[\w-]{10,}"
    + r"|A(?:KIA|SIA|ROA|IDA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}"
    + r"|sk-ant-[\w-]{16,}|sk-(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[A-Z])[\w-]{20,}|sk-[0-9a-z]{32,}"
    + r"|sk-or-v1-\w{32,}"
    + r"|[srp]k_(?:live|test)_\w{10,}|whsec_\w{16,}"
    + r"|hf_\w{20,}|gsk_\w{20,}|r8_\w{30,}|npm_\w{30,}|pypi-[\w-]{30,}|dapi[0-9a-f]{32}|SK[0-9a-f]{32}"
    + r"|dop_v1_\w{32,}|shp(?:at|ca|pa|ss)_\w{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hv[sb]\.[\w-]{20,}"
    + r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|(?:bot)?\d{8,10}:AA[\w-]{30,}"
    + r"|dckr_pat_[\w-]{20,}|sq0[a-z]{3}-[\w-]{20,}|lin_api_\w{30,}|AT(?:ATT|CTT|BB)[\w-]{20,}(?:=\w+)?"
    + r"|nvapi-[\w-]{30,}|pat-[a-z]{2}\d-[0-9a-f-]{36}|sntry[su]_[\w-]{30,}|tskey-[a-z]+-\w+-\w{8,}"
    + r"|(?:pplx|xai|key)-(?=[\w-]{0,64}\d)[0-9A-Za-z]{32,}|secret_[0-9A-Za-z]{40,}"
    + r"|eyJ[\w-]{5,}\.[\w-]{4,}\.[\w-]*)"
)
"""Tokens of services that mark them with a prefix, and JSON web tokens."""
RANDOM: Final = re.compile(
    r"(?<![\w/.+-])(?!sha\d+[-:])(?:[A-Za-z0-9+-]{32,}={0,2}|[A-Za-z0-9+/]{40,}={0,2})(?![\w/.])"
)
"""Words that may be random, with slashes if they may be base64. Hashes in hexadecimal digits and names of
words are none."""
_MIN_RANDOM: Final = 20
"""Letters and digits in a row, of which the randomness is judged."""

_NO_NAME: Final = re.compile(r"[!#$%&@^]")
"""Signs that passwords have, and names of things have not."""
_NAME_SIGNS: Final = re.compile(r"[\s/\\.,:;=<>(){}\[\]|*?\"'~]")
"""Signs of paths, numbers, patterns, addresses and code."""
_ORDINARY: Final = re.compile(r"[$%]\w+|\$\{\w+\}|%.*%.*|[\w-]+@[\w-]+|@\w+")
"""Variables, formats, users at hosts and names of files with arguments."""
_SPOKEN: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])")
"""Parts of a name that may be words, as `Res` and `Net` of `ResNet50`."""
_MIN_PASSWORD: Final = 8
_MAX_PASSWORD: Final = 128


def is_generated(word: str) -> bool:
    """Return True for a word of 8 or more characters that a generator of passwords may have made.

    It has three of capitals, small letters, digits and signs, and at most half of its letters are in
    parts that may be spoken, unless it has a sign that names have not.
    """
    if not _MIN_PASSWORD <= len(word) <= _MAX_PASSWORD or not word.isascii():
        return False
    if _NAME_SIGNS.search(word) or _ORDINARY.fullmatch(word):
        return False
    has_sign = _NO_NAME.search(word) is not None
    kinds = (str.isdigit, str.isupper, str.islower)
    if has_sign + sum(any(map(kind, word)) for kind in kinds) < 3:
        return False
    if has_sign:
        return True
    spoken = sum(len(part) for part in _SPOKEN.findall(word) if re.search("[aeiouyAEIOUY]", part))
    return "-" not in word and "_" not in word and 2 * spoken <= sum(map(str.isalpha, word))


def is_random(word: str) -> bool:
    """Return True for a word with a long stretch of capitals, small letters and digits in no order."""
    stretches = re.findall(r"[A-Za-z0-9]+", word)
    is_base64 = "/" in word and "-" not in word
    return any(
        map(_is_random_stretch, [*stretches, "".join(stretches)] if is_base64 else stretches)
    )


def _is_random_stretch(stretch: str) -> bool:
    kinds = (str.isdigit, str.isupper, str.islower)
    if len(stretch) < _MIN_RANDOM or not all(any(map(kind, stretch)) for kind in kinds):
        return False
    # In a random one 62 % of all neighbours differ in their kind.
    changes = sum(_kind(a) != _kind(b) for a, b in pairwise(stretch))
    return 2 * changes >= len(stretch) - 1


def _kind(letter: str) -> int:
    return letter.isdigit() + 2 * letter.isupper()
