"""Names that are too long for their column: shortened in the middle, and still told apart."""

from collections.abc import Iterator, Sequence

from cltrace.report.document import Unit


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
    only where that alone is too long.
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
    head = room // 3
    return f"{name[:head]}{mark}{name[head - room :]}"
