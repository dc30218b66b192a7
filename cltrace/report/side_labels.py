"""Letters that stand for sides of a comparison: names are too long for column headers."""

from collections.abc import Sequence

from cltrace.report.document import Fact


def side_letters(count: int) -> list[str]:
    """Return `count` labels: A, B, … Z, AA, AB, …."""
    return [_letter(number) for number in range(count)]


def legend(names: Sequence[str]) -> list[Fact]:
    """Return the facts that explain the letters."""
    return [
        Fact(f"name_{number}", letter, name)
        for number, (letter, name) in enumerate(
            zip(side_letters(len(names)), names, strict=True), 1
        )
    ]


def _letter(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letter(more - 1) if more else "") + chr(ord("A") + last)
