"""The display of `cltrace run --live`: some lines at the bottom of the terminal while the program runs.

The program's own output scrolls above them: a scrolling region keeps it there, as package managers do it.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from cltrace.report.live import live_lines
from cltrace.timeline.live_activity import Watch

_PERIOD_S: Final = 0.5
_MOST_SHARE: Final = 0.05
"""Of the time, what looking may take: the program has the rest."""
_LINES: Final = 6
_SAVE, _RESTORE = "\0337", "\0338"
_FEWEST_ROWS: Final = 12


@contextlib.contextmanager
def live_display(parts: Path, stream: TextIO | None) -> Iterator[None]:
    """Show what goes on in the recording in `parts` on `stream`, if that is a terminal, until the end."""
    if stream is None or not _is_terminal(stream):
        yield
        return
    display = _Display(parts, stream)
    display.start()
    try:
        yield
    finally:
        display.stop()


class _Display:
    """The lines, redrawn by a thread."""

    def __init__(self, parts: Path, stream: TextIO) -> None:
        self._watch = Watch(parts)
        self._stream = stream
        self._rows = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cltrace-live", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take the lines away and give the terminal back as it was."""
        self._ended.set()
        self._thread.join(timeout=5)
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._write(self._released(os.get_terminal_size(self._stream.fileno()).lines))

    def _released(self, rows: int) -> str:
        """What takes our lines away from a terminal that now has so many rows."""
        if not self._rows:
            return ""
        first = self._rows - _LINES + 1
        ours = range(first, min(self._rows, rows) + 1)
        blank = "".join(f"\033[{row};1H\033[2K" for row in ours)
        self._rows = 0
        return f"{_SAVE}{blank}\033[r{_RESTORE}"

    def _run(self) -> None:
        last = time.monotonic()
        pause = _PERIOD_S
        # Whatever goes wrong, it is the display that ends, not the program.
        with contextlib.suppress(Exception):
            while not self._ended.wait(pause):
                begin = time.monotonic()
                glance = self._watch.look()
                self._draw(live_lines(glance, begin - last, self._columns(), _LINES))
                last = begin
                pause = max(_PERIOD_S, (time.monotonic() - begin) / _MOST_SHARE)

    def _columns(self) -> int:
        return os.get_terminal_size(self._stream.fileno()).columns

    def _draw(self, lines: list[str]) -> None:
        rows = os.get_terminal_size(self._stream.fileno()).lines
        with self._lock:
            if self._ended.is_set():
                return
            text = self._released(rows) if rows != self._rows else ""
            if rows < _FEWEST_ROWS:
                self._write(text)
                return
            if rows != self._rows:
                self._rows = rows
                # Make room without leaving the column, then keep what scrolls above it.
                room = "\033D" * _LINES + f"\033[{_LINES}A"
                text += f"{room}{_SAVE}\033[1;{rows - _LINES}r{_RESTORE}"
            drawn = "".join(
                f"\033[{rows - _LINES + 1 + at};1H\033[2K{line}" for at, line in enumerate(lines)
            )
            self._write(f"{text}{_SAVE}{drawn}{_RESTORE}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def _is_terminal(stream: TextIO) -> bool:
    """Whether lines can be kept in place there."""
    with contextlib.suppress(OSError, ValueError):
        return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return False
