"""Display of `cltrace run --live`: a few lines at the bottom of the terminal while the program runs.

The program's own output scrolls above them, in a scrolling region, as package managers do it.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from cltrace.report.live import live_lines
from cltrace.timeline.live_activity import LiveActivity

_PERIOD_S: Final = 0.5
_MAX_TIME_SHARE: Final = 0.05
"""The largest share of the time that polling may take: the rest is the program's."""
_LINES: Final = 6
_SAVE, _RESTORE = "\0337", "\0338"
_MIN_ROWS: Final = 12


@contextlib.contextmanager
def live_display(parts: Path, stream: TextIO | None) -> Iterator[None]:
    """Show the activity of the recording in `parts` on `stream` within the block, if it is a terminal."""
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
    """The lines of the display, redrawn by a thread."""

    def __init__(self, parts: Path, stream: TextIO) -> None:
        self._activity = LiveActivity(parts)
        self._stream = stream
        self._rows = 0
        """Rows of the terminal when the region was set, 0 without a region."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cltrace-live", daemon=True)

    def start(self) -> None:
        """Start to draw."""
        self._thread.start()

    def stop(self) -> None:
        """Erase the lines and restore the terminal."""
        self._ended.set()
        self._thread.join(timeout=5)
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._write(self._erase(os.get_terminal_size(self._stream.fileno()).lines))

    def _erase(self, rows: int) -> str:
        """Return the text that erases our lines from a terminal that now has `rows` rows."""
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
        # A failure ends the display, not the program.
        with contextlib.suppress(Exception):
            while not self._ended.wait(pause):
                begin = time.monotonic()
                snapshot = self._activity.poll()
                self._draw(live_lines(snapshot, begin - last, self._columns(), _LINES))
                last = begin
                pause = max(_PERIOD_S, (time.monotonic() - begin) / _MAX_TIME_SHARE)

    def _columns(self) -> int:
        return os.get_terminal_size(self._stream.fileno()).columns

    def _draw(self, lines: list[str]) -> None:
        rows = os.get_terminal_size(self._stream.fileno()).lines
        with self._lock:
            if self._ended.is_set():
                return
            text = self._erase(rows) if rows != self._rows else ""
            if rows < _MIN_ROWS:
                self._write(text)
                return
            if rows != self._rows:
                self._rows = rows
                # Make room without leaving the column, then restrict scrolling to the rows above.
                room = "\033D" * _LINES + f"\033[{_LINES}A"
                text += f"{room}{_SAVE}\033[1;{rows - _LINES}r{_RESTORE}"
            drawn = "".join(
                f"\033[{rows - _LINES + 1 + offset};1H\033[2K{line}"
                for offset, line in enumerate(lines)
            )
            self._write(f"{text}{_SAVE}{drawn}{_RESTORE}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def _is_terminal(stream: TextIO) -> bool:
    """Return True if lines can be kept in place on `stream`."""
    with contextlib.suppress(OSError, ValueError):
        return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return False
