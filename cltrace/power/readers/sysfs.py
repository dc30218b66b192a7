"""Numbers in files of the kernel that are read again and again."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cltrace.errors import PowerError

Opener = Callable[[str, int], int]
"""As `os.open`: tests give one that denies."""

_LONGEST: Final = 64


class NumberFile:
    """A file that holds one whole number, kept open. Raises: `OSError` when it cannot be opened."""

    def __init__(self, path: Path, opener: Opener = os.open) -> None:
        self.path: Final = path
        self._descriptor = opener(os.fspath(path), os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> int:
        """The number. Raises: `OSError`, `PowerError` when it is none."""
        text = os.pread(self._descriptor, _LONGEST, 0)
        try:
            return int(text)
        except ValueError:
            raise PowerError(f"{self.path} holds {text[:20]!r}, which is no number") from None

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def number_now(path: Path, opener: Opener = os.open) -> int:
    """The number in a file at this moment. Raises: `OSError`, `PowerError` when it is none."""
    file = NumberFile(path, opener)
    try:
        return file.read()
    finally:
        file.close()


def words_in(path: Path) -> str:
    """The text of a small file without blanks around it, "" where it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def number_in(path: Path) -> int | None:
    """The whole number in a file; None where there is none."""
    try:
        return int(words_in(path))
    except ValueError:
        return None
