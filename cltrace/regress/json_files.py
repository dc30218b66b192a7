"""Reading files of ours, which may be anybody's: a mark, a version, and values of their kinds."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from cltrace.errors import SampleFileError

T = TypeVar("T")
_MOST_COUNT: Final = 1 << 62
_MOST: Final = 1e300


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of file: the key that marks it, its version, how large it may be, and what it holds."""

    mark: str
    schema: int
    most_bytes: int
    what: str
    hint: str = ""
    """What a file may be that is something else."""

    def read(self, path: Path, make: Callable[[Mapping[str, Any]], T]) -> T:
        """What `make` makes of a file. Raises: `SampleFileError` for what is not of this form."""
        try:
            if path.stat().st_size > self.most_bytes:
                raise SampleFileError(f"{path} is too large to hold {self.what}")
            return self.made(path.read_bytes(), str(path), make)
        except OSError as error:
            raise SampleFileError(f"{path} cannot be read: {error.strerror}") from error

    def made(self, data: bytes, name: str, make: Callable[[Mapping[str, Any]], T]) -> T:
        """What `make` makes of a file's bytes. Raises: `SampleFileError`."""
        try:
            stored: dict[str, Any] = json.loads(data)
            if stored[self.mark] != self.schema:
                raise SampleFileError(
                    f"{name} was written by another version of cltrace: make it anew"
                )
            return make(stored)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SampleFileError(f"{name} holds no {self.what} of cltrace{self.hint}") from error


def text(value: object) -> str:
    """Raises: `TypeError`, `ValueError`."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # half of a surrogate pair is none
    return value


def count(value: object) -> int:
    """A whole number from 0 on. Raises: `ValueError`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_COUNT:
        raise ValueError("a count is no such number")
    return value


def amount(value: object) -> float:
    """A number from 0 on. Raises: `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST:
        raise ValueError("an amount is no such number")
    return float(value)
