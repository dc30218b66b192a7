"""What is said beside a report, on stderr: a line of ours, and how far something is."""

import sys
from typing import Final

from cltrace.report.text import plain

_CLEAR: Final = "\r\x1b[K"
_WIDTH: Final = 79


def say(text: str) -> None:
    """A line that tells whose it is."""
    sys.stderr.write(f"cltrace: {plain(text)}\n")


def progress(text: str) -> None:
    """A line that the next one replaces, on a terminal; else nothing. "" takes it away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{_CLEAR}{plain(text)[:_WIDTH]}" if text else _CLEAR)
        sys.stderr.flush()
