"""Letters for what stands side by side: names are too long for heads of columns."""

from collections.abc import Sequence

from cltrace.report.document import Fact


def letters(count: int) -> list[str]:
    """As many as that: A, B, … Z, AA, AB, …."""
    return [_letter(number) for number in range(count)]


def legend(names: Sequence[str]) -> list[Fact]:
    """Which letter stands for what."""
    return [
        Fact(f"name_{at}", letter, name)
        for at, (letter, name) in enumerate(zip(letters(len(names)), names, strict=True), 1)
    ]


def _letter(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letter(more - 1) if more else "") + chr(ord("A") + last)
