"""Reading of cltrace's JSON files, whoever wrote them: the mark, the version and types are checked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from cltrace.errors import SampleFileError
from cltrace.files import read_input

T = TypeVar("T")
_MAX_COUNT: Final = 1 << 62
_MAX_AMOUNT: Final = 1e300


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A kind of JSON file.

    Attributes:
        mark: the key that marks such a file; its value is the version.
        schema: the version.
        max_bytes: the largest size that is read.
        content: the content in words, for messages.
        hint: what else such a file may be, in words, for messages.
    """

    mark: str
    schema: int
    max_bytes: int
    content: str
    hint: str = ""

    def read(self, path: Path, make: Callable[[Mapping[str, Any]], T]) -> T:
        """Return what `make` makes of a file. Raises: `SampleFileError` for any other kind of file."""
        try:
            return self.parse(read_input(path, self.max_bytes), str(path), make)
        except OSError as error:
            raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error

    def parse(self, data: bytes, name: str, make: Callable[[Mapping[str, Any]], T]) -> T:
        """Return what `make` makes of a file's bytes. Raises: `SampleFileError`."""
        try:
            stored: dict[str, Any] = json.loads(data)
            if stored[self.mark] != self.schema:
                raise SampleFileError(
                    f"{name} was written by another version of cltrace: make it anew"
                )
            return make(stored)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SampleFileError(
                f"{name} holds no {self.content} of cltrace{self.hint}"
            ) from error


def as_text(value: object) -> str:
    """Return `value` as text. Raises: `TypeError`, `ValueError`."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # raises for half of a surrogate pair
    return value


def as_count(value: object) -> int:
    """Return `value` as a whole number ≥ 0. Raises: `ValueError`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_COUNT:
        raise ValueError("a count is no whole number from 0 on")
    return value


def as_amount(value: object) -> float:
    """Return `value` as a number ≥ 0. Raises: `ValueError`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 <= value < _MAX_AMOUNT
    ):
        raise ValueError("an amount is no number from 0 on")
    return float(value)
