"""What is said beside a report, on stderr: a line of ours, and how far something is."""

import os
import sys
from typing import Final, TextIO

from cltrace.report.untrusted_text import plain

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


def to_nowhere(stream: TextIO) -> None:
    """Drop what a stream has not taken: its reader has gone, and Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
