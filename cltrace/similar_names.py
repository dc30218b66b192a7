"""Suggestions for names that are mistyped."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_name(name: str, choices: Iterable[str]) -> str:
    """Return the end of a message that suggests the choice most like `name`; "" if none is like it."""
    by_folded = {choice.casefold(): choice for choice in choices}
    close = get_close_matches(name.casefold(), by_folded, 1)
    return f": did you mean {by_folded[close[0]]}?" if close else ""
