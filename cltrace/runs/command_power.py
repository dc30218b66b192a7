"""Power readings during a traced command: they begin with it and end a while after it."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cltrace.errors import CltraceError, RefusedError
from cltrace.intercept.ranks import job_of, rank_of

if TYPE_CHECKING:
    from cltrace.power.sampler import ChosenReader, Sampler


def choose_power_readers(names: Sequence[str], period_s: float | None) -> "Sequence[ChosenReader]":
    """Return the readers with these names; `period_s` is None for their own. Raises: `RefusedError`."""
    if not names:
        return ()
    from cltrace.power.reader_selection import choose_readers  # noqa: PLC0415 - imports numpy

    try:
        return choose_readers(names, period_s)
    except CltraceError as error:
        raise RefusedError(str(error)) from error


class PowerRecording:
    """Recording of power during a command. Without readers it does nothing and imports nothing."""

    def __init__(
        self, parts: Path, readers: "Sequence[ChosenReader]", environment: Mapping[str, str]
    ) -> None:
        self._parts = parts
        self._readers = readers
        self._environment = environment
        self._sampler: Sampler | None = None

    def start(self) -> None:
        """Begin to read. The command runs already: it does not wait for sensors."""
        if not self._readers:
            return
        from cltrace.power.reader_selection import make_sampler  # noqa: PLC0415 - loaded with the readers

        rank = rank_of(self._environment)
        job = job_of(self._environment, os.getppid())
        # The command runs: no failure of a reader may end the process that waits for it.
        with contextlib.suppress(Exception):
            self._sampler = make_sampler(self._parts, self._readers, rank, job)
            self._sampler.start()

    def stop(self, tail_s: float = 0.0) -> list[str]:
        """Read for `tail_s` more, end, and return messages for the user: readers without readings."""
        sampler, self._sampler = self._sampler, None
        if sampler is None:
            return []
        with contextlib.suppress(KeyboardInterrupt):  # a second ^C ends the wait
            sampler.follow(tail_s)
        messages = []
        for probe in sampler.stop():
            if probe.ended:
                messages.append(f"power reader {probe.reader} was dropped: {probe.ended}")
            elif probe.state != "ok":
                remedy = f"; {probe.remedy}" if probe.remedy else ""
                messages.append(
                    f"no power from {probe.reader} ({probe.state}): {probe.evidence}{remedy}"
                )
        return messages
