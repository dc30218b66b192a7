"""Text from a trace made harmless: a trace says what its maker wants it to say."""

import re
from typing import Final

_HARMFUL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, and what reorders, hides or joins characters on a screen."""


def plain(text: str) -> str:
    """`text` on one line, with every character that a terminal would act upon written as an escape."""
    return _HARMFUL.sub(lambda found: _escaped(found[0]), text)


def short_place(place: str, home: str) -> str:
    """A place as people know it: relative to `home`, or to where packages are installed."""
    _, packages, inside = place.rpartition("/site-packages/")
    if packages:
        return inside
    return place.removeprefix(f"{home.rstrip('/')}/") if home else place


def _escaped(character: str) -> str:
    code = ord(character)
    return {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(code) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    )
