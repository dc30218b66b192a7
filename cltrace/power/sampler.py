"""Reading power while a program runs: a thread for each reader, with deadlines that do not drift.

A reader that fails is dropped, with its reason in the recording; nothing else notices. What is read goes
to the recording's parts at once, so that it survives whatever happens to this process.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from cltrace.events.power import POWER_READS, POWER_SAMPLES, PowerProbe, ProbeState
from cltrace.power.protocol import LiveReader, OpenReader, Probe, Sample, checked
from cltrace.spool.layout import DIRECTORY_MODE, power_directory
from cltrace.spool.writer import SpoolWriter

_LOG: Final = logging.getLogger(__name__)
_S_NS: Final = 1_000_000_000
_PATIENCE_S: Final = 2.0
"""How long the end waits for a reader that is in the middle of a read."""
_LARGEST: Final = 1 << 60
_SHORTEST_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class ChosenReader:
    """A reader with its name, and how often it is to be read: None for as often as it says itself."""

    name: str
    reader: LiveReader
    period_s: float | None = None
    words: str = ""
    """What it was asked for with: of ranks those take turns that ask for the same."""

    @property
    def wanted_s(self) -> float:
        """The period that is wanted."""
        return self.reader.period_s if self.period_s is None else self.period_s


class Turn(Protocol):
    """Whether it is this process that reads, where several could (`cltrace.power.host_lock`)."""

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
        self._is_closed = False
        self._channels: dict[tuple[int, str], int] = {}
        self._keys: set[str] = set()
        self._stopping = threading.Event()
        self._tasks = [
            _Task(self, number, one, turn_of(one.words or one.name))
            for number, one in enumerate(readers, 1)
        ]

    def start(self) -> None:
        """Open the readers and begin. Never raises: what cannot be opened is in the recording."""
        try:
            self._directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        except OSError as error:
            _LOG.warning("%s: %s", self._directory, error.strerror)
            return
        for task in self._tasks:
            # In the order of their numbers, whoever is first to open: statistics are told apart by it.
            task.said = self.note(Probe(ProbeState.OK, "it was not read"), task.reader)
        for task in self._tasks:
            with contextlib.suppress(
                RuntimeError
            ):  # no more threads: it is in the recording already
                task.start()

    def follow(self, tail_s: float) -> None:
        """Go on for `tail_s`, if there is a reader left."""
        if tail_s > 0 and any(task.is_alive() for task in self._tasks):
            time.sleep(tail_s)

    def stop(self) -> list[PowerProbe]:
        """End. Returns what each reader found, and why it was dropped."""
        self._stopping.set()
        until = time.monotonic() + _PATIENCE_S
        for task in self._tasks:
            if task.ident is not None:
                task.join(max(until - time.monotonic(), 0.0))
            if task.is_alive():
                probe = Probe(ProbeState(task.said.state), task.said.evidence)
                task.said = self.note(probe, task.reader, "it did not answer at the end")
        with self._lock:
            # Who still hangs in a read may write no more: the recording is being finished.
            self._is_closed = True
            self._writer.close()
        return [task.said for task in self._tasks]

    def wait_until(self, due_ns: int) -> bool:
        """Wait for a deadline; whether it is to go on then."""
        return not self._stopping.wait(max(due_ns - time.perf_counter_ns(), 0) / _S_NS)

    def note(self, probe: Probe, name: str, ended: str = "") -> PowerProbe:
        """Record what a reader found."""
        words = (str(probe.state), probe.evidence, probe.remedy, probe.security, ended)
        record = PowerProbe(self._host, name, *words)
        with contextlib.suppress(OSError):
            self._write(lambda: self._writer.records([record]))
        return record

    def record(self, reader: int, name: str, opened: OpenReader, samples: Iterable[Sample]) -> None:
        """Record samples. Raises: `OSError`, `ValueError` for nonsense."""
        rows = []
        for sample in samples:
            number = self._channels.get((reader, sample.key))
            if number is None:
                number = self._declare(reader, name, opened, sample.key)
            rows.append(_row(number, sample))
        table = np.array(rows, np.int64).reshape(-1, POWER_SAMPLES.width)
        self._write(lambda: self._writer.rows(POWER_SAMPLES, table))

    def note_read(self, *row: int) -> None:
        """Record when a reader was read, or how often it is to be. Raises: `OSError`."""
        self._write(lambda: self._writer.rows(POWER_READS, np.array([row], np.int64)))

    def _write(self, write: Callable[[], None]) -> None:
        """Write something, unless the recording is over, or a write failed before.

        A row that was cut short would shift all that follow it: nothing is written after one.
        Raises: `OSError`.
        """
        with self._lock:
            if self._is_closed:
                return
            try:
                write()
            except OSError:
                self._is_closed = True
                self._stopping.set()
                raise

    def _declare(self, reader: int, name: str, opened: OpenReader, key: str) -> int:
        channel = next((one for one in opened.channels if one.key == key), None)
        if channel is None:
            raise ValueError(f"a sample names the channel {key!r}, which was never declared")
        recorded = checked(channel.recorded(len(self._channels) + 1, self._host, name))
        if key in self._keys:
            # Another reader has such a channel: two meters of one program.
            recorded = replace(recorded, key=f"{key}#{reader}")
        self._keys.add(recorded.key)
        self._channels[reader, key] = recorded.id
        self._write(lambda: self._writer.records([recorded]))
        return recorded.id


class _Task(threading.Thread):
    """One reader's thread."""

    def __init__(self, sampler: Sampler, number: int, chosen: ChosenReader, turn: Turn) -> None:
        super().__init__(name=f"cltrace-power-{chosen.name}", daemon=True)
        self._sampler = sampler
        self._number = number
        self._chosen = chosen
        self._turn = turn
        self.reader = chosen.name
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
        period_s = max(min(self._chosen.wanted_s, opened.longest_interval_s), _SHORTEST_S)
        pacing = Pacing(time.perf_counter_ns(), max(int(period_s * _S_NS), 1))
        self._sampler.note_read(-self._number, pacing.period_ns, 0, 0)
        is_going_on = True
        while is_going_on:
            is_going_on = self._sampler.wait_until(pacing.due_ns)
            # Once more at the end: what happened since the last deadline is wanted.
            begin_ns = time.perf_counter_ns()
            self._read_once(opened)
            self._sampler.note_read(self._number, pacing.due_ns, begin_ns, time.perf_counter_ns())
            pacing.advance(time.perf_counter_ns())

    def _read_once(self, opened: OpenReader) -> None:
        """Record what is read, up to where reading fails."""
        samples: list[Sample] = []
        try:
            for sample in opened.read():
                samples.append(sample)  # noqa: PERF402 - what was read before a failure is kept
        finally:
            self._sampler.record(self._number, self._chosen.name, opened, samples)

    def _say(self, probe: Probe, ended: str = "") -> None:
        self.said = self._sampler.note(probe, self._chosen.name, ended)


def _row(number: int, sample: Sample) -> tuple[int, ...]:
    values: tuple[Any, ...] = (sample.time_ns, sample.within_ns, sample.raw, int(sample.flags))
    if any(type(value) is not int or abs(value) > _LARGEST for value in values):
        raise ValueError(f"a sample of {sample.key!r} is not made of whole numbers: {values}")
    return (number, *values)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
