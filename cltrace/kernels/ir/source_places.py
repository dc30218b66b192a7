"""Locations in the source of a program."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A location in the source: file, line and column from 1. `called_from` is set in inlined code."""

    file: str
    line: int
    column: int
    called_from: "Place | None" = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Place("", 0, 0)
"""The place of code that no source line corresponds to."""
