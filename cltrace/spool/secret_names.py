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
    "creds", "credentials", "pw",
}  # fmt: skip
"""Whole last parts that tell a secret; parts of other things end in these letters, too."""
_SECRET_PAIRS: Final = (["pass", "phrase"], ["pass", "word"], ["pass", "code"])
_POSSIBLE_PARTS: Final = {"key", "sig", "signature", "salt", "pin", "session", "sessionid", "sid"}
"""Last parts that may tell a secret, or a column to sort by."""
_SECRET_KEYS: Final = {
    "access", "account", "api", "auth", "encryption", "license", "master", "private", "secret", "shared",
    "signing", "storage",
}  # fmt: skip
"""Parts before `key` that tell a secret."""
_SHORT_NUMBER: Final = re.compile(r"\d{1,3}")
_AMOUNT: Final = re.compile(r"\d+[kKmMgG]?")
_REFERENCE: Final = re.compile(
    r"\$\{?[A-Z_][A-Z0-9_]*\}?|None|True|False|null|true|false|str|int|bytes|pass"
)
"""Values that name a secret's place or type, not the secret."""
_PLACE: Final = re.compile(r".*[/\s].*|.*\.[A-Za-z]\w{0,4}|[\d.:xX]+", re.DOTALL)
"""Paths, file names, sentences, numbers and addresses."""
_MIN_LENGTH: Final = 8


@lru_cache(maxsize=1024)
def secrecy_of(name: str) -> Secrecy:
    """Return how likely the value of an option, a variable or a field is a secret."""
    parts = [part.lower() for part in _PART.findall(name)]
    if not parts:
        return Secrecy.NONE
    last, before = parts[-1], parts[:-1]
    if last.endswith(_SECRET_ENDS) or last in _SECRET_PARTS or parts[-2:] in _SECRET_PAIRS:
        return Secrecy.CERTAIN
    if last == "key" and _SECRET_KEYS & set(before):
        return Secrecy.CERTAIN
    if last in _POSSIBLE_PARTS or any(map(_is_secret_part, parts)) or _is_identity(parts):
        return Secrecy.POSSIBLE
    return Secrecy.NONE


def is_secret(name: str, value: str) -> bool:
    """Return True if a value behind a name is a secret."""
    secrecy = secrecy_of(name)
    plain = value.strip("\\\"'")
    if secrecy is Secrecy.NONE or _REFERENCE.fullmatch(plain):
        return False
    if _SHORT_NUMBER.fullmatch(plain) or ("token" in name.lower() and _AMOUNT.fullmatch(plain)):
        return False
    return secrecy is Secrecy.CERTAIN or looks_secret(plain)


def looks_secret(value: str) -> bool:
    """Return True for a value that mixes letters with digits or signs, and is no path or number."""
    has_letters, has_others = re.search(r"[A-Za-z]", value), re.search(r"[\d!#$%&*^?@]", value)
    is_mixed = has_letters is not None and has_others is not None
    return is_mixed and len(value) >= _MIN_LENGTH and _PLACE.fullmatch(value) is None


def _is_secret_part(part: str) -> bool:
    return part.removesuffix("s").endswith(_SECRET_ENDS)


def _is_identity(parts: list[str]) -> bool:
    return parts[-1] == "id" and parts[-2:-1] in (["session"], ["key"])
