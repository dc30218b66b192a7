"""Output files: written atomically, under safe names."""

import re
from contextlib import suppress
from pathlib import Path

from cltrace.errors import OutputError


def make_parent_directory(path: Path) -> None:
    """Make the directory of a file that is yet to be written. Raises: `OutputError`."""
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error


def write_atomically(text: str, path: Path) -> None:
    """Write the whole file, or leave `path` as it was. Raises: `OutputError`."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error


def slug(text: str) -> str:
    """Return a safe file name: the letters and digits of `text`, in lower case, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"
