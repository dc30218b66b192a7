"""Locations in the source of a program."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A location in the source: file, line and column from 1. `called_from` is set in inlined code.

    The compiler merges equal code of several lines, and then names no line of it. `is_merged` is True
    for such code: `line` is the first line of the block that encloses it, until its own lines are known.
    Then it is the first of them, and `further_lines` has the others.
    """

    file: str
    line: int
    column: int
    called_from: "Place | None" = None
    is_merged: bool = False
    further_lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        return ", ".join([f"{self.file}:{self.line}", *map(str, self.further_lines)])


def has_own_line(place: Place) -> bool:
    """Return True if a place names a line of its own: the compiler neither merged nor moved the code."""
    return bool(place.line) and not place.is_merged


NOWHERE = Place("", 0, 0)
"""The place of code that no source line corresponds to."""
