"""Messages on stderr: the only module of `commands` that writes there.

A message never fails: a verb goes on without a stderr, or with one that takes nothing.
"""

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TextIO

from cltrace.report.untrusted_text import escape_controls

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_CLEAR_LINE: Final = "\r\x1b[K"
_WIDTH: Final = 79
_DELAY_S: Final = 2.0
_PERIOD_S: Final = 0.2


def say(text: str) -> None:
    """Write a line that begins with our name."""
    _write(f"cltrace: {escape_controls(text)}\n")


def show_progress(text: str) -> None:
    """Write a line that the next one replaces, on a terminal only; "" clears it."""
    if _is_terminal():
        _write(f"{_CLEAR_LINE}{escape_controls(text)[:_WIDTH]}" if text else _CLEAR_LINE)


class TaskProgress:
    """Progress of a task that takes longer than two seconds, shown from its first state on.

    Call it with the state of the task. On a terminal the state is a line that changes, and leaving the
    `with` block clears it. Elsewhere one line names the task.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            show_progress("")

    def __call__(self, state: str) -> None:
        """Show the state of the task."""
        if _is_terminal():
            show_progress(f"cltrace: {self._task}: {state}")
        elif not self._is_shown:
            say(f"{self._task} …")
        self._is_shown = True


class DelayedProgress(TaskProgress):
    """Progress of a task that is shown once the task has taken two seconds, five times per second."""

    def __init__(self, task: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(task)
        self._clock = clock
        self._next_s = clock() + _DELAY_S

    def __call__(self, state: str) -> None:
        """Show the state of the task if it is time to."""
        now_s = self._clock()
        if now_s >= self._next_s:
            super().__call__(state)
            self._next_s = now_s + _PERIOD_S


class Speaker:
    """Speaker of messages for `run`, which writes only errors if it `is_quiet`."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    def say(self, text: str) -> None:
        """Write a line, an empty one for ""."""
        if not self._is_quiet:
            say(text) if text else _write("\n")

    def say_all(self, texts: Sequence[str]) -> None:
        """Write lines."""
        for text in texts:
            self.say(text)

    def error(self, text: str) -> None:
        """Write a line even if quiet."""
        say(text)


def progress_bar(task: str, *columns: "ProgressColumn") -> "Progress":
    """Return a progress bar on stderr. If that is no terminal, one line names the task instead."""
    from rich.console import Console  # noqa: PLC0415 - slow, and `run` needs no bar
    from rich.progress import Progress  # noqa: PLC0415 - as above

    console = Console(stderr=True)
    if not console.is_terminal:
        say(f"{task} …")
    return Progress(*columns, console=console, disable=not console.is_terminal)


def error_stream() -> TextIO | None:
    """Return stderr for what is drawn on it, None where it is closed."""
    return sys.stderr


def discard_unwritten(stream: TextIO) -> None:
    """Discard the buffered text of a stream whose reader has gone: Python would write it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare_output() -> None:
    """Let stdout take every text: escapes for characters that it lacks, and nothing if it is closed."""
    if sys.stdout is None:
        # Python has none where the shell closed it. The next file would become what children print to.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it stays open
    elif isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def discard_unwritten_errors() -> None:
    """Discard the text that stderr does not take: Python would exit with 120 for it."""
    with contextlib.suppress(ValueError, AttributeError):  # stderr may be closed
        try:
            sys.stderr.flush()
        except OSError:
            discard_unwritten(sys.stderr)


def _is_terminal() -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return sys.stderr.isatty()
    return False


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()
