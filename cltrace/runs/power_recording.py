"""Power read beside a traced command: begun with it, ended a while after it, and what to say of it."""

import argparse
import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cltrace.errors import CltraceError, RefusedError
from cltrace.intercept.ranks import job_of, rank_of

if TYPE_CHECKING:
    from cltrace.power.sampler import ChosenReader, Sampler


def chosen(arguments: argparse.Namespace) -> "Sequence[ChosenReader]":
    """The readers that `--power` asks for. Raises: `RefusedError`."""
    if not arguments.power:
        return ()
    from cltrace.power.recording import chosen_readers  # noqa: PLC0415 - imports numpy

    try:
        return chosen_readers(arguments.power, arguments.power_period)
    except CltraceError as error:
        raise RefusedError(str(error)) from error


class PowerBeside:
    """Readers beside a command. Without any it does nothing and imports nothing."""

    def __init__(
        self, parts: Path, readers: "Sequence[ChosenReader]", environment: Mapping[str, str]
    ) -> None:
        self._parts = parts
        self._readers = readers
        self._environment = environment
        self._sampler: Sampler | None = None

    def start(self) -> None:
        """Begin to read: the command runs already, and does not wait for sensors."""
        if not self._readers:
            return
        from cltrace.power.recording import sampler_for  # noqa: PLC0415 - loaded with the readers

        rank = rank_of(self._environment)
        job = job_of(self._environment, os.getppid())
        # The command runs: whatever fails here must not end what waits for it.
        with contextlib.suppress(Exception):
            self._sampler = sampler_for(self._parts, self._readers, rank, job)
            self._sampler.start()

    def stop(self, tail_s: float = 0.0) -> list[str]:
        """Read for `tail_s` more and end. Returns what the user should know of it."""
        sampler, self._sampler = self._sampler, None
        if sampler is None:
            return []
        with contextlib.suppress(KeyboardInterrupt):  # who presses ^C again waits no longer
            sampler.follow(tail_s)
        said = []
        for probe in sampler.stop():
            if probe.ended:
                said.append(f"power reader {probe.reader} was dropped: {probe.ended}")
            elif probe.state != "ok":
                remedy = f"; {probe.remedy}" if probe.remedy else ""
                said.append(
                    f"no power from {probe.reader} ({probe.state}): {probe.evidence}{remedy}"
                )
        return said
