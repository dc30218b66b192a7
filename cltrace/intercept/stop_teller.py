"""Report of a recording that stops before its process does."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cltrace.intercept.drain.losses import Losses
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.spool.stop_page import StopPage


class StopTeller:
    """Writer of the stop page of this process. Raises: `OSError` if the page cannot be made."""

    def __init__(self, directory: Path, recorder: Recorder, losses: Losses) -> None:
        self._page = StopPage(directory)
        self._recorder = recorder
        self._losses = losses

    def tell(self) -> None:
        """Write why recording stopped, if it did, and how many commands are missing by now."""
        recorder = self._recorder
        if recorder.stop.reason:
            skipped = recorder.tallies.commands_skipped - recorder.skipped_on_purpose
            with suppress(OSError):
                self._page.tell(replace(recorder.stop, missing=self._losses.commands + skipped))

    def add_fork(self) -> None:
        """Count, in a fork of this process, that it cannot be recorded."""
        with suppress(OSError):
            self._page.add_unrecorded_fork()

    def map_words(self, reason: str) -> memoryview:
        """Return the words of the page for a stop later on (`StopPage`). Raises: `OSError`."""
        self.tell()
        return self._page.map_words(reason)

    def close(self) -> None:
        """Write the last state."""
        self.tell()
        self._page.close()
