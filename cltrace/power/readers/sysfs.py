"""Files of the kernel that contain a number and are read repeatedly."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cltrace.errors import PowerError

Opener = Callable[[str, int], int]
"""Function like `os.open`. Tests pass one that denies access."""

_MAX_BYTES: Final = 64


class NumberFile:
    """Open file that contains a whole number. Raises: `OSError` if it cannot be opened."""

    def __init__(self, path: Path, opener: Opener = os.open) -> None:
        self.path: Final = path
        self._descriptor = opener(os.fspath(path), os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> int:
        """Return the number. Raises: `OSError`, and `PowerError` if the file contains no number."""
        text = os.pread(self._descriptor, _MAX_BYTES, 0)
        try:
            return int(text)
        except ValueError:
            raise PowerError(f"{self.path} holds {text[:20]!r}, which is no number") from None

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_number(path: Path, opener: Opener = os.open) -> int:
    """Open a file and return its number. Raises: `OSError`, and `PowerError` for no number."""
    file = NumberFile(path, opener)
    try:
        return file.read()
    finally:
        file.close()


def read_words(path: Path) -> str:
    """Return the stripped text of a small file, "" if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def read_optional_number(path: Path) -> int | None:
    """Return the whole number in a file, `None` if there is none."""
    try:
        return int(read_words(path))
    except ValueError:
        return None
