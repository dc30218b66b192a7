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
    r"\{[^{}:\"'\s]+\}"
    rf"|(?![{{\[(<])[rbfuRBFU]{{0,2}}(?:{_QUOTED}|\\.|[^\s\"'`,;&|)}}\\])+",
    re.DOTALL,
)
"""A value behind its name: in braces, or words and quoted strings without a space in between."""
LIST: Final = re.compile(rf"\[\s*(?:(?:{_QUOTED})\s*,?\s*)+\]?", re.DOTALL)
"""Values behind the name of all of them."""
ELEMENT: Final = re.compile(
    rf"(?P<name><(?:\w+:)?(?P<field>{NAME})(?:\s[^<>]*)?>)(?P<value>[^<]+)(?=</)"
)
"""An element of XML with a text."""
TAG: Final = re.compile(
    rf"<(?:\w+:)?(?P<element>{NAME})(?P<attributes>\s[^<>]*)>(?:(?P<text>[^<]+)(?=</))?"
)
"""The begin of an element of XML or HTML with attributes, and its text."""
ATTRIBUTE: Final = re.compile(
    r"(?P<before>(?<![\w:.-])(?P<name>[\w:.-]{1,100})\s*=\s*)(?P<value>\\?\"[^\"]*\"|\\?'[^']*'|[^\s\"'/]+)"
)
NAMING_ATTRIBUTES: Final = ("name", "key", "id", "type", "property")
"""Attributes whose value names what an element has."""
VALUE_ATTRIBUTES: Final = ("value", "content", "text", "data", "default")
LETTER_OPTION: Final = re.compile(
    r"(?P<name>(?<!\S)-[a-zA-Z]\s+[\"']?)(?P<value>[^\s\"']{8,128})(?=[\"']?(?:\s|$))"
)
"""A word behind the letter of an option."""
FILE_LETTERS: Final = frozenset("CDILdfio")
"""Letters of options that take files and directories."""
SET: Final = re.compile(rf"(?P<name>\sset\s+(?:\S*[:/.])?(?P<field>{NAME})\s+)(?P<value>[^\s;|&]+)")
"""A setting of a program's configuration, as `aws configure set NAME VALUE` writes it."""
WORD: Final = re.compile(r"[^\s\"']+")
ENCODED: Final = re.compile(r"%(?:3[AaDd]|40|2[2Ff])")
"""A sign of a secret's form, as an address encodes it."""
_ANNOTATION: Final = r"(?:\s*:\s*[A-Za-z_][\w.|\[\] ]*(?==))?"
ASSIGNMENT: Final = re.compile(
    rf"{_BEGIN}(?:(?:(?P<macro>-D)|--?)(?P<flag>{NAME})(?:[=:]|\s+(?!--|-.?(?:\s|$)))"
    rf"|(?P<field>{NAME})(?:\\?[\"'])?\]?{_ANNOTATION}\s*(?:=>|:=|[=:])\s*(?!=))"
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
    r"(?P<name>(?<![\w-])(?:[\w-]*authorization|(?:set-)?cookie)\s*:\s*)"
    r"(?P<value>(?!required\b)[^\"'\n]+(?:(?<==)\\?\"[^\"\n]*\"[^\"'\n]*)*)",
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
_WEBHOOK: Final = re.compile(
    r"(?P<name>hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/)"
    r"(?P<value>[\w/-]+)"
)
"""Addresses that are secrets themselves."""
_ORACLE: Final = re.compile(r"(?P<name>\bjdbc:oracle:\w+:[^\s/@:]+/)(?P<value>[^\s/@]+)(?=@)")
_NETRC: Final = re.compile(r"(?P<name>\bmachine\s+\S+\s+login\s+\S+\s+password\s+)(?P<value>\S+)")
_PIPED: Final = re.compile(
    r"(?P<name>(?<![\w-])(?:echo|printf)\s+(?:-\w+\s+)*)(?P<value>[^|;&\n]{1,512}?)"
    r"(?=\s*\|[^|;&\n]{0,200}?\s(?:-S\b|--password-stdin|--passphrase-fd|--with-token|--stdin))"
)
"""A password that a shell gives to the standard input of a program."""
_HERE: Final = re.compile(
    r"(?P<name>\s(?:-S\b|--password-stdin|--passphrase-fd|--with-token|--stdin)[^|;&<\n]{0,200}<<<\s*)"
    r"(?P<value>'[^']+'|\"[^\"]+\"|[^\s;|&]+)"
)
"""A password that a shell gives to the standard input of a program as a string."""
_PRIVATE_KEY: Final = re.compile(
    r"(?P<name>-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----)(?P<value>.*?)(?=-----END|$)", re.DOTALL
)
FORMS: Final = (
    _PRIVATE_KEY, _WEBHOOK, _HEADER, _USER, _USER_WITH_SLASH, _USER_WITHOUT_SCHEME, _BEARER, _BASIC,
    _LOGIN, _LETTER, _ORACLE, _NETRC, _PIPED, _HERE,
)  # fmt: skip
"""Forms whose `value` is a secret whatever it is."""
