"""Reading power while a program runs: a thread for each reader, with deadlines that do not drift.

A reader that fails is dropped, with its reason in the recording; nothing else notices. What is read goes
to the recording's parts at once, so that it survives whatever happens to this process.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from cltrace.events.power import POWER_READS, POWER_SAMPLES, PowerProbe, ProbeState
from cltrace.power.protocol import LiveReader, OpenReader, Probe, Sample
from cltrace.trace.spool.layout import DIRECTORY_MODE, power_directory
from cltrace.trace.spool.writer import SpoolWriter

_LOG: Final = logging.getLogger(__name__)
_S_NS: Final = 1_000_000_000
_PATIENCE_S: Final = 2.0
"""How long the end waits for a reader that is in the middle of a read."""
_LARGEST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class ChosenReader:
    """A reader with its name, and how often it is to be read: None for as often as it says itself."""

    name: str
    reader: LiveReader
    period_s: float | None = None

    @property
    def wanted_s(self) -> float:
        """The period that is wanted."""
        return self.reader.period_s if self.period_s is None else self.period_s


class Turn(Protocol):
    """Whether it is this process that reads, where several could (`cltrace.power.turns`)."""

    def is_ours(self) -> bool:
        """Whether it is. Once it is, it stays so."""

    def end(self) -> None:
        """Leave it to another."""


class AlwaysOurs:
    """Nobody else could read."""

    def is_ours(self) -> bool:
        """It is."""
        return True

    def end(self) -> None:
        """Nobody waits for it."""


@dataclass(slots=True)
class Pacing:
    """Deadlines at whole periods since the beginning. Those that went by are left out."""

    begin_ns: int
    period_ns: int
    turn: int = 0

    @property
    def due_ns(self) -> int:
        """The present deadline."""
        return self.begin_ns + self.turn * self.period_ns

    def advance(self, now_ns: int) -> None:
        """Go on to the first deadline after this one that is not over yet."""
        self.turn = max(self.turn + 1, -(-(now_ns - self.begin_ns) // self.period_ns))


class Sampler:
    """Reads some readers from `start` to `stop` into the recording in `parts`. Single use."""

    def __init__(
        self,
        parts: Path,
        host: str,
        readers: Sequence[ChosenReader],
        turn_of: Callable[[str], Turn] = lambda _: AlwaysOurs(),
    ) -> None:
        self._host = host
        self._directory = power_directory(parts)
        self._writer = SpoolWriter(self._directory)
        self._lock = threading.Lock()
        self._channels: dict[str, int] = {}
        self._stopping = threading.Event()
        self._tasks = [
            _Task(self, number, one, turn_of(one.name)) for number, one in enumerate(readers, 1)
        ]

    def start(self) -> None:
        """Open the readers and begin. Never raises: what cannot be opened is in the recording."""
        try:
            self._directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        except OSError as error:
            _LOG.warning("%s: %s", self._directory, error.strerror)
            return
        for task in self._tasks:
            task.start()

    def follow(self, tail_s: float) -> None:
        """Go on for `tail_s`, if there is a reader left."""
        if tail_s > 0 and any(task.is_alive() for task in self._tasks):
            time.sleep(tail_s)

    def stop(self) -> list[PowerProbe]:
        """End. Returns what each reader found, and why it was dropped."""
        self._stopping.set()
        for task in self._tasks:
            if task.ident is not None:
                task.join(_PATIENCE_S)
        with self._lock:
            self._writer.close()
        return [task.said for task in self._tasks]

    def wait_until(self, due_ns: int) -> bool:
        """Wait for a deadline; whether it is to go on then."""
        return not self._stopping.wait(max(due_ns - time.perf_counter_ns(), 0) / _S_NS)

    def note(self, probe: Probe, name: str, ended: str = "") -> PowerProbe:
        """Record what a reader found."""
        words = (str(probe.state), probe.evidence, probe.remedy, probe.security, ended)
        record = PowerProbe(self._host, name, *words)
        with self._lock:
            self._writer.records([record])
        return record

    def record(
        self, name: str, opened: OpenReader, samples: Iterable[Sample], reads: Sequence[int]
    ) -> None:
        """Record samples, and when they were read. Raises: `OSError`, `ValueError` for nonsense."""
        rows = []
        for sample in samples:
            number = self._channels.get(sample.key)
            if number is None:
                number = self._declare(name, opened, sample.key)
            rows.append(_row(number, sample))
        table = np.array(rows, np.int64).reshape(-1, POWER_SAMPLES.width)
        with self._lock:
            self._writer.rows(POWER_SAMPLES, table)
            self._writer.rows(POWER_READS, np.array([reads], np.int64))

    def note_period(self, number: int, period_ns: int) -> None:
        """Record how often a reader is asked."""
        with self._lock:
            self._writer.rows(POWER_READS, np.array([(-number, period_ns, 0, 0)], np.int64))

    def _declare(self, name: str, opened: OpenReader, key: str) -> int:
        channel = next((one for one in opened.channels if one.key == key), None)
        if channel is None:
            raise ValueError(f"a sample names the channel {key!r}, which was never declared")
        with self._lock:
            number = self._channels[key] = len(self._channels) + 1
            self._writer.records([channel.recorded(number, self._host, name)])
        return number


class _Task(threading.Thread):
    """One reader's thread."""

    def __init__(self, sampler: Sampler, number: int, chosen: ChosenReader, turn: Turn) -> None:
        super().__init__(name=f"cltrace-power-{chosen.name}", daemon=True)
        self._sampler = sampler
        self._number = number
        self._chosen = chosen
        self._turn = turn
        self.said = PowerProbe("", chosen.name, str(ProbeState.OK), "", "", "", "")

    def run(self) -> None:
        """Open, read until the end, close. Never raises."""
        try:
            self._read_all()
        except Exception as error:  # noqa: BLE001 - a reader may fail however it likes
            self._say(Probe(ProbeState.OK, self.said.evidence), _why(error))
        finally:
            self._turn.end()

    def _read_all(self) -> None:
        if not self._wait_for_turn():
            return
        opened = self._opened()
        if opened is None:
            return
        try:
            names = ", ".join(channel.label for channel in opened.channels)
            self._say(Probe(ProbeState.OK, names))
            self._follow(opened)
        finally:
            opened.close()

    def _wait_for_turn(self) -> bool:
        """Wait until it is this process that reads; False when the end came first."""
        if self._turn.is_ours():
            return True
        self._say(Probe(ProbeState.OK, "another rank of this job on this host reads it"))
        pacing = Pacing(time.perf_counter_ns(), _S_NS)
        while self._sampler.wait_until(pacing.due_ns):
            if self._turn.is_ours():
                return True
            pacing.advance(time.perf_counter_ns())
        return False

    def _opened(self) -> OpenReader | None:
        try:
            return self._chosen.reader.open(self._chosen.wanted_s)
        except Exception as error:  # noqa: BLE001 - as above; its probe says why
            probe = self._chosen.reader.probe()
            is_well = probe.state is ProbeState.OK
            self._say(probe, _why(error) if is_well else "")
            return None

    def _follow(self, opened: OpenReader) -> None:
        period_s = min(self._chosen.wanted_s, opened.longest_interval_s)
        pacing = Pacing(time.perf_counter_ns(), max(int(period_s * _S_NS), 1))
        self._sampler.note_period(self._number, pacing.period_ns)
        is_going_on = True
        while is_going_on:
            is_going_on = self._sampler.wait_until(pacing.due_ns)
            # Once more at the end: what happened since the last deadline is wanted.
            begin_ns = time.perf_counter_ns()
            samples = list(opened.read())
            times = (pacing.due_ns, begin_ns, time.perf_counter_ns())
            self._sampler.record(self._chosen.name, opened, samples, (self._number, *times))
            pacing.advance(time.perf_counter_ns())

    def _say(self, probe: Probe, ended: str = "") -> None:
        self.said = self._sampler.note(probe, self._chosen.name, ended)


def _row(number: int, sample: Sample) -> tuple[int, ...]:
    values: tuple[Any, ...] = (sample.time_ns, sample.within_ns, sample.raw, int(sample.flags))
    if any(type(value) is not int or abs(value) > _LARGEST for value in values):
        raise ValueError(f"a sample of {sample.key!r} is not made of whole numbers: {values}")
    return (number, *values)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
