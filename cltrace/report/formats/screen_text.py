"""Text as a screen can show it."""

from typing import Final

from cltrace.report.untrusted_text import escape_controls

_BOX_LINES: Final = range(0x2500, 0x2580)
_SIMPLE: Final = str.maketrans({
    **dict.fromkeys(map(chr, _BOX_LINES), "+"), **dict.fromkeys("─━", "-"), **dict.fromkeys("│┃", "|"),
    "µ": "u", "–": "-", "…": "...", "\u202f": " ", "\u00a0": " ", "→": "->", "•": "*", "×": "x",
    "≥": ">=", "≤": "<=", "±": "+-", "²": "^2", "·": "*",
    "−": "-", "÷": "/",
})  # fmt: skip


def screen_text(text: str, *, is_ascii: bool) -> str:
    """Return text without control characters, and in ASCII for a screen that has nothing else."""
    text = escape_controls(text)
    if not is_ascii:
        return text
    return ascii_text(text)


def ascii_text(text: str) -> str:
    """Return text in ASCII: similar characters for the usual others, and escapes for the rest."""
    return text.translate(_SIMPLE).encode("ascii", "backslashreplace").decode()
