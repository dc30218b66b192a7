"""Names of options, variables and fields whose values are secrets."""

import re
from enum import Enum
from functools import lru_cache
from typing import Final


class Secrecy(Enum):
    """Likelihood that the value behind a name is a secret."""

    NONE = "no secret"
    POSSIBLE = "a secret if the value looks like one"
    CERTAIN = "a secret"


_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
"""Parts of a name: of `apiKey`, `API_KEY` and `api-key` they are `api` and `key`."""
_SECRET_ENDS: Final = (
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "secret", "token",
    "credential", "apikey", "accesskey", "privatekey", "secretkey",
)  # fmt: skip
"""Ends of parts that tell a secret, as in `pgpassword`. A plural may be a number of them."""
_SECRET_PARTS: Final = {
    "pwd", "pass", "auth", "authorization", "bearer", "cookie", "jwt", "psk", "otp", "sas", "cred",
    "creds", "credentials", "pw", "totp",
}  # fmt: skip
"""Whole last parts that tell a secret; parts of other things end in these letters, too."""
_OWNED_PASS: Final = re.compile(
    "(?:admin|db|ftp|http|key|ldap|login|mail|my|mysql|pg|proxy|redis|root|smtp|sql|ssh|store|sudo|trust|user"
    "|web|wifi)(?:pass|pw)|.+pwd"
)
"""Parts of an owner and `pass` or `pw`, as `dbpass`; `compass` and `lowpass` are none."""
_SECRET_PAIRS: Final = (
    ["pass", "phrase"], ["pass", "word"], ["pass", "code"], ["mfa", "code"], ["otp", "code"],
    ["auth", "code"],
)  # fmt: skip
_STEPS: Final = {
    "all", "back", "backward", "band", "by", "each", "first", "forward", "high", "kernel", "last", "low",
    "max", "min", "multi", "next", "num", "one", "pre", "render", "second", "single", "sort", "sub",
    "two",
}  # fmt: skip
"""Parts before `pass` that tell a step of a computation, or a filter."""
_ENCODINGS: Final = {"base", "b", "64", "hex", "raw", "plain", "plaintext", "value"}
"""Last parts that tell how a value is written."""
_POSSIBLE_PARTS: Final = {"key", "sig", "signature", "salt", "pin", "session", "sessionid", "sid"}
"""Last parts that may tell a secret, or a column to sort by."""
_SECRET_KEYS: Final = {
    "access", "account", "api", "auth", "encryption", "license", "master", "private", "secret", "shared",
    "signing", "storage", "subscription",
}  # fmt: skip
"""Parts before `key` that tell a secret."""
_SHORT_NUMBER: Final = re.compile(r"\d{1,3}")
_AMOUNT: Final = re.compile(r"\d+[kKmMgG]?")
_TYPE: Final = (
    r"(?:u?(?:char|short|int|long)|float|half|double|bool)(?:\d{0,2}_t|\d{0,2}(?:x\d{1,2})?)"
)
"""Types of C and OpenCL C, as macros name them."""
_REFERENCE: Final = re.compile(
    rf"\$\{{?[A-Za-z_]\w*\}}?|\$\(.*\)|None|True|False|null|true|false|str|bytes|pass|-|{_TYPE}",
    re.DOTALL,
)
"""Values that name a secret's place or type, not the secret."""
_PLACE: Final = re.compile(
    r".*[/\s].*|.*\.[A-Za-z]\w{0,4}|[\d.:xX]+|0[xX][\da-fA-F]{1,16}[uUlL]{0,3}|\w+\(.*", re.DOTALL
)
"""Paths, file names, sentences, numbers, addresses and expressions."""
_NUMBERED: Final = re.compile(r"[A-Za-z]+[-_]?\d+")
"""A word with a number, as `run12345`: the name of one among several."""
_IDENTITIES: Final = {"session", "sessionid", "sid"}
"""Last parts that name one among several, too."""
_MIN_LENGTH: Final = 8
_QUOTES: Final = "\\\"'"


@lru_cache(maxsize=1024)
def secrecy_of(name: str) -> Secrecy:
    """Return how likely the value of an option, a variable or a field is a secret."""
    parts = [part.lower() for part in _PART.findall(name)]
    if not parts:
        return Secrecy.NONE
    while len(parts) > 1 and parts[-1] in _ENCODINGS:
        parts.pop()
    last, before = parts[-1], parts[:-1]
    if last == "pass" and _STEPS & set(before[-1:]):
        return Secrecy.NONE
    if _is_certain(parts) or (last == "key" and _SECRET_KEYS & set(before)):
        return Secrecy.CERTAIN
    if last in _POSSIBLE_PARTS or any(map(_is_secret_part, parts)) or _is_identity(parts):
        return Secrecy.POSSIBLE
    return Secrecy.NONE


def is_reference(value: str) -> bool:
    """Return True for a value that names a variable, the standard input, a type or a constant."""
    return _REFERENCE.fullmatch(value.strip(_QUOTES)) is not None


def is_secret_macro(name: str, value: str) -> bool:
    """Return True if the value of a macro is a secret. `PASS` and `AUTH` name ordinary ones, too."""
    plain = value.strip(_QUOTES)
    if not is_secret(name, value):
        return False
    if secrecy_of(name) is Secrecy.POSSIBLE and _NUMBERED.fullmatch(plain):
        return False
    return _last_part(name) not in _SECRET_PARTS or looks_secret(plain)


def is_secret(name: str, value: str) -> bool:
    """Return True if a value behind a name is a secret."""
    secrecy = secrecy_of(name)
    plain = value.strip(_QUOTES)
    if secrecy is Secrecy.NONE or is_reference(value):
        return False
    if _SHORT_NUMBER.fullmatch(plain) or ("token" in name.lower() and _AMOUNT.fullmatch(plain)):
        return False
    if (
        secrecy is Secrecy.POSSIBLE
        and _last_part(name) in _IDENTITIES
        and _NUMBERED.fullmatch(plain)
    ):
        return False
    return secrecy is Secrecy.CERTAIN or looks_secret(plain)


def looks_secret(value: str) -> bool:
    """Return True for a value that mixes letters with digits or signs, and is no path or number."""
    has_letters, has_others = re.search(r"[A-Za-z]", value), re.search(r"[\d!#$%&*^?@]", value)
    is_mixed = has_letters is not None and has_others is not None
    return is_mixed and len(value) >= _MIN_LENGTH and _PLACE.fullmatch(value) is None


def _last_part(name: str) -> str:
    last: str = _PART.findall(name)[-1]
    return last.lower()


def _is_certain(parts: list[str]) -> bool:
    last = parts[-1]
    if last.endswith(_SECRET_ENDS) or last in _SECRET_PARTS:
        return True
    return parts[-2:] in _SECRET_PAIRS or _OWNED_PASS.fullmatch(last) is not None


def _is_secret_part(part: str) -> bool:
    return part.removesuffix("s").endswith(_SECRET_ENDS)


def _is_identity(parts: list[str]) -> bool:
    return parts[-1] == "id" and parts[-2:-1] in (["session"], ["key"])
