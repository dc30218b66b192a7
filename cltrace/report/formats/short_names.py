"""Names that are too long for their column: shortened in the middle, and still told apart."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cltrace.report.document import Unit

_NUMBERED: Final = re.compile(r"(.+?)(?P<number> #\d+)(?:(, )((?:process|rank) )(\d+))?")
"""Label of one of several devices of a name: the name, its number, and the process."""
_MIN_NAME: Final = 4
"""Characters from which the rest of a device's name says something."""


def shorten_column(
    names: Sequence[str], longest: int, unit: Unit, *, is_ascii: bool
) -> dict[str, str]:
    """Return the text of each name of a column, of at most `longest` characters.

    Where names that differ would look the same, their common begin is left out first, from a word on
    if that suffices.
    """
    mark = "..." if is_ascii else "…"
    distinct = set(names)
    short = {name: _shorten(name, longest, unit, mark) for name in distinct}
    if len(set(short.values())) == len(distinct) or unit is Unit.CODE:
        return short
    for cut in _cuts([name for name in distinct if len(name) > longest]):
        without = {
            name: f"{mark}{name[cut:]}" if len(name) > longest else name for name in distinct
        }
        shortened = {name: _shorten(text, longest, unit, mark) for name, text in without.items()}
        if len(set(shortened.values())) == len(distinct):
            return shortened
    return short


def _cuts(names: Sequence[str]) -> Iterator[int]:
    """Yield the lengths of begins that the names have in common: to the last word, then whole."""
    if len(names) < 2:
        return
    low, high = min(names), max(names)
    pairs = enumerate(zip(low, high, strict=False))
    count = next((at for at, (one, other) in pairs if one != other), len(low))
    yield low[:count].rfind(" ") + 1
    yield count


def _shorten(name: str, longest: int, unit: Unit, mark: str) -> str:
    """Return a name that is too long without its middle: both ends identify it.

    Code is cut at its end. A place loses directories from its left, and is cut within its file's name
    only where that alone is too long. The label of a device keeps its number and that of its process.
    """
    if len(name) <= longest:
        return name
    room = longest - len(mark)
    if unit is Unit.CODE:
        return f"{name[:room]}{mark}"
    if unit is Unit.PLACE:
        starts = (at for at, letter in enumerate(name) if letter == "/" and len(name) - at <= room)
        start = next(starts, None)
        if start is not None:
            return f"{mark}{name[start:]}"
        name = name.rpartition("/")[2]
        if len(name) <= longest:
            return name
    cut = _without_middle(name, room, mark)
    numbered = _NUMBERED.fullmatch(name)
    if numbered is None or cut.endswith(name[numbered.start("number") :]):
        return cut
    return _shorten_label(numbered, longest, mark) or cut


def _without_middle(name: str, room: int, mark: str) -> str:
    """Return the begin and twice as much of the end of a name, together `room` characters."""
    head = room // 3
    return f"{name[:head]}{mark}{name[head - room :]}"


def _shorten_label(label: re.Match[str], longest: int, mark: str) -> str | None:
    """Return a device's label with a shorter name, or none; `None` if that is still too long."""
    name, number, comma, process, pid = (part or "" for part in label.groups())
    shorter = [f"{number}{comma}{process}{pid}"] + ([f"{number}{comma}{mark}{pid}"] if pid else [])
    for end in shorter:
        room = longest - len(end) - len(mark)
        if room >= _MIN_NAME:
            return f"{_without_middle(name, room, mark)}{end}"
        if room >= -1:
            return f"{mark}{end.lstrip()}"
    return None
