"""Output files: written whole or not at all, under safe names."""

import re
from contextlib import suppress
from pathlib import Path

from cltrace.errors import OutputError


def make_directory(path: Path) -> None:
    """Make the directory that a file is to be in. Raises: `OutputError`."""
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error


def write_whole(text: str, path: Path) -> None:
    """Write a file, whole or not at all. Raises: `OutputError`."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error


def file_name(text: str) -> str:
    """A name for a file: the letters and digits of `text`, with dashes between."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"
