"""Escaping of text from a trace, which may be hostile."""

import re
from typing import Final

_HARMFUL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, and those that reorder, hide or join characters on a screen."""


def escape_controls(text: str) -> str:
    """Return `text` on one line, with every character that a terminal would act upon as an escape."""
    return _HARMFUL.sub(lambda match: _escape(match[0]), text)


def shorten_place(place: str, home: str) -> str:
    """Return a place relative to `home`, or to the directory where packages are installed."""
    _, packages, inside = place.rpartition("/site-packages/")
    if packages:
        return inside
    return place.removeprefix(f"{home.rstrip('/')}/") if home else place


def _escape(character: str) -> str:
    code = ord(character)
    return {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(code) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    )
