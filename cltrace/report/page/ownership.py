"""Recognition of pages that cltrace wrote."""

from pathlib import Path
from typing import Final

_GENERATOR: Final = b'<meta name="generator" content="cltrace '
_HEAD_BYTES: Final = 8192


def is_own_page(path: Path) -> bool:
    """Return True for a regular file with cltrace as its generator in its head. Raises: `OSError`."""
    if not path.is_file():  # a pipe would wait for its writer
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return head.startswith(b"<!doctype html>") and _GENERATOR in head.partition(b"<title>")[0]
