"""Forms in which secrets stand in texts: behind their names, in addresses, headers and options."""

import re
from typing import Final

NAME: Final = r"[A-Za-z_][\w.-]*"
_BEGIN: Final = r"(?<![\w.-])"
_QUOTED: Final = (
    r"\"\"\".*?(?:\"\"\"|$)|'''.*?(?:'''|$)|\\\".*?(?:\\\"|$)|\\'.*?(?:\\'|$)"
    r"|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?"
)
VALUE: Final = re.compile(
    rf"(?![{{\[(])[rbfuRBFU]{{0,2}}(?:{_QUOTED}|\\.|[^\s\"'`,;&|)}}\\])+", re.DOTALL
)
"""A value behind its name: words and quoted strings without a space in between."""
_ANNOTATION: Final = r"(?:\s*:\s*[A-Za-z_][\w.|\[\] ]*(?==))?"
ASSIGNMENT: Final = re.compile(
    rf"{_BEGIN}(?:(?:-D|--?)(?P<flag>{NAME})(?:[=:]|\s+(?!--|-.?(?:\s|$)))"
    rf"|(?P<field>{NAME})(?:\\?[\"'])?\]?{_ANNOTATION}\s*[=:]\s*(?!=))"
)
"""Begin of a value: an option, a variable, a field or a parameter."""
QUOTED: Final = re.compile(
    rf"(?P<name>(?P<quote>[\"'])--?(?P<field>{NAME})=)(?P<value>(?:(?!(?P=quote)).)+)", re.DOTALL
)
"""An option with its value, quoted as a whole."""
CALL: Final = re.compile(
    rf"(?:[\"'](?P<field>{NAME})[\"']\s*,|{_BEGIN}(?P<flag>{NAME})\()\s*(?=[rbfuRBFU]{{0,2}}[\"'])"
)
"""Begin of an argument of a function, behind a quoted name, or of a function that has the name."""
_HEADER: Final = re.compile(
    r"(?P<name>(?<![\w-])(?:[\w-]*authorization|(?:set-)?cookie)\s*:\s*)(?P<value>(?!required\b)[^\"'\n]+)",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"(?P<name>\bbearer\s+)(?P<value>[\w.~+/=-]{8,})", re.IGNORECASE)
_BASIC: Final = re.compile(r"(?P<name>\bBasic\s+)(?P<value>[\w+/]{8,}={0,2})")
_USER: Final = re.compile(
    r"(?P<name>(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:|(?<![\w:/]))//(?!git@)(?:[^/\s:@]*:)?)"
    r"(?P<value>[^/\s]+)(?=@)",
    re.IGNORECASE,
)
_USER_WITH_SLASH: Final = re.compile(
    r"(?P<name>://[^/\s:@]*:)(?!\d{1,5}(?:[/?#]|$))(?P<value>[^\s\"']{1,512})(?=@)"
)
"""A password with a slash, which an address may not contain but people write."""
_USER_WITHOUT_SCHEME: Final = re.compile(
    r"(?P<name>(?<![\w:/.@-])[\w.-]+:)(?P<value>[^\s/@:\"']{3,})(?=@(?!sha\d)[\w.-]+)"
)
_LOGIN: Final = re.compile(
    r"(?P<name>(?<!\S)(?:-u\s*|--(?:proxy-)?(?:user|login|userpwd)[=\s]\s*)[\"']?[^\s:=/\"']+:)"
    r"(?P<value>(?!\d+(?!\S))[^\s\"']+)"
)
"""A user with a password, as curl takes it. Two numbers are a user and a group."""
_LETTER: Final = re.compile(
    r"(?P<name>(?<!\S)-p)(?P<value>(?![\d.:]+(?!\S)|[a-z_-]+(?!\S))(?:'[^']+'|\"[^\"]+\"|[^\s/=:\"']{5,}))(?!\S)"
)
"""A password behind the letter of its option. Words of small letters are options of their own."""
_PROGRAM: Final = re.compile(
    r"(?P<name>(?<![\w-])(?:(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:[^;|&\n]{0,200}?\s)?-p(?=\S)"
    r"|sshpass\s(?:-\w\s)?-p\s?))(?P<value>'[^']+'|\"[^\"]+\"|\S+)"
)
"""A password of a program that takes it behind a letter."""
_WEBHOOK: Final = re.compile(
    r"(?P<name>hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/)"
    r"(?P<value>[\w/-]+)"
)
"""Addresses that are secrets themselves."""
_PRIVATE_KEY: Final = re.compile(
    r"(?P<name>-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----)(?P<value>.*?)(?=-----END|$)", re.DOTALL
)
FORMS: Final = (
    _PRIVATE_KEY, _WEBHOOK, _HEADER, _USER, _USER_WITH_SLASH, _USER_WITHOUT_SCHEME, _BEARER, _BASIC,
    _LOGIN, _PROGRAM, _LETTER,
)  # fmt: skip
"""Forms whose `value` is a secret whatever it is."""
