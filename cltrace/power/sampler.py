"""Sampling of power while a program runs: a thread per reader, with deadlines that do not drift.

A reader that fails is dropped, and the recording contains the reason; the program and the other readers
go on. Samples are written to the parts of the recording at once, so they survive a crash of this process.
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
from cltrace.power.protocol import LiveReader, OpenReader, Probe, Sample, validate_channel
from cltrace.spool.layout import DIRECTORY_MODE, power_directory
from cltrace.spool.writer import SpoolWriter

_LOG: Final = logging.getLogger(__name__)
_S_NS: Final = 1_000_000_000
_JOIN_TIMEOUT_S: Final = 2.0
"""Time that `stop` waits for readers that are in the middle of a read."""
_MAX_VALUE: Final = 1 << 60
_MIN_PERIOD_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class ChosenReader:
    """Reader with its name, and the period of its reads: `None` for the reader's own period."""

    name: str
    reader: LiveReader
    period_s: float | None = None
    specification: str = ""
    """The user's request for it. Of ranks with the same request, a single one reads at a time."""

    @property
    def effective_period_s(self) -> float:
        """Requested period of reads, or the reader's own."""
        return self.reader.period_s if self.period_s is None else self.period_s


class ReaderLock(Protocol):
    """Lock that selects the process that reads, where several could (`cltrace.power.host_lock`)."""

    def acquire(self) -> bool:
        """Try to take the lock. Once it returns true it always does."""

    def release(self) -> None:
        """Leave the lock to another process."""


class NoLock:
    """Lock of a reader that no other process could use."""

    def acquire(self) -> bool:
        """Return true."""
        return True

    def release(self) -> None:
        """Do nothing."""


@dataclass(slots=True)
class ReadSchedule:
    """Deadlines at whole periods since the begin. Missed deadlines are skipped."""

    begin_ns: int
    period_ns: int
    number: int = 0

    @property
    def due_ns(self) -> int:
        """Present deadline."""
        return self.begin_ns + self.number * self.period_ns

    def advance(self, now_ns: int) -> None:
        """Go to the next deadline that is not yet over."""
        self.number = max(self.number + 1, -(-(now_ns - self.begin_ns) // self.period_ns))


class Sampler:
    """Sampler that reads power from `start` to `stop` into the recording in `parts`. Single use."""

    def __init__(
        self,
        parts: Path,
        host: str,
        readers: Sequence[ChosenReader],
        make_lock: Callable[[str], ReaderLock] = lambda _: NoLock(),
    ) -> None:
        self._host = host
        self._directory = power_directory(parts)
        self._writer = SpoolWriter(self._directory)
        self._lock = threading.Lock()
        self._is_closed = False
        self._channels: dict[tuple[int, str], int] = {}
        self._keys: set[str] = set()
        self._stopping = threading.Event()
        self._threads = [
            _ReaderThread(self, number, chosen, make_lock(chosen.specification or chosen.name))
            for number, chosen in enumerate(readers, 1)
        ]

    def start(self) -> None:
        """Open the readers and begin. Never raises: the recording contains the failures."""
        try:
            self._directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        except OSError as error:
            _LOG.warning("%s: %s", self._directory, error.strerror)
            return
        for thread in self._threads:
            # Probes are recorded by number, because statistics of reads refer to their order.
            unread = Probe(ProbeState.OK, "it was not read")
            thread.probe = self.record_probe(unread, thread.reader)
        for thread in self._threads:
            # Without further threads the recorded probe stands.
            with contextlib.suppress(RuntimeError):
                thread.start()

    def follow(self, tail_s: float) -> None:
        """Continue for `tail_s`, if a reader is left."""
        if tail_s > 0 and any(thread.is_alive() for thread in self._threads):
            time.sleep(tail_s)

    def stop(self) -> list[PowerProbe]:
        """Stop, and return the probe of each reader, with the reason if it was dropped."""
        self._stopping.set()
        until = time.monotonic() + _JOIN_TIMEOUT_S
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(until - time.monotonic(), 0.0))
            if thread.is_alive():
                probe = Probe(ProbeState(thread.probe.state), thread.probe.evidence)
                ended = "it did not answer at the end"
                thread.probe = self.record_probe(probe, thread.reader, ended)
        with self._lock:
            # A thread that still hangs in a read must not write: the recording is being finished.
            self._is_closed = True
            self._writer.close()
        return [thread.probe for thread in self._threads]

    def wait_until(self, due_ns: int) -> bool:
        """Wait for a deadline, and return true unless the sampler was stopped."""
        return not self._stopping.wait(max(due_ns - time.perf_counter_ns(), 0) / _S_NS)

    def record_probe(self, probe: Probe, name: str, ended: str = "") -> PowerProbe:
        """Record the probe of a reader."""
        record = PowerProbe(
            host=self._host,
            reader=name,
            state=str(probe.state),
            evidence=probe.evidence,
            remedy=probe.remedy,
            security=probe.security,
            ended=ended,
        )
        with contextlib.suppress(OSError):
            self._write(lambda: self._writer.records([record]))
        return record

    def record_samples(
        self, reader: int, name: str, opened: OpenReader, samples: Iterable[Sample]
    ) -> None:
        """Record samples. Raises: `OSError`, and `ValueError` for an invalid sample."""
        rows = []
        for sample in samples:
            number = self._channels.get((reader, sample.key))
            if number is None:
                number = self._declare(reader, name, opened, sample.key)
            rows.append(_row(number, sample))
        table = np.array(rows, np.int64).reshape(-1, POWER_SAMPLES.width)
        self._write(lambda: self._writer.rows(POWER_SAMPLES, table))

    def record_read(self, *row: int) -> None:
        """Record the times of a read, or a reader's period. Raises: `OSError`."""
        self._write(lambda: self._writer.rows(POWER_READS, np.array([row], np.int64)))

    def _write(self, write: Callable[[], None]) -> None:
        """Write, unless the recording is over or a previous write failed.

        A row that was cut short would shift all following rows, so nothing is written after a failure.
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
        channel = next((channel for channel in opened.channels if channel.key == key), None)
        if channel is None:
            raise ValueError(f"a sample names the channel {key!r}, which was never declared")
        number = len(self._channels) + 1
        record = validate_channel(channel.to_record(number, self._host, name))
        if key in self._keys:
            # Two readers have channels of this name, for example two meters of the same program.
            record = replace(record, key=f"{key}#{reader}")
        self._keys.add(record.key)
        self._channels[reader, key] = record.id
        self._write(lambda: self._writer.records([record]))
        return record.id


class _ReaderThread(threading.Thread):
    """Thread of a reader. `probe` is its latest recorded probe."""

    def __init__(
        self, sampler: Sampler, number: int, chosen: ChosenReader, lock: ReaderLock
    ) -> None:
        super().__init__(name=f"cltrace-power-{chosen.name}", daemon=True)
        self._sampler = sampler
        self._number = number
        self._chosen = chosen
        self._reader_lock = lock
        self.reader = chosen.name
        self.probe = PowerProbe(
            host="",
            reader=chosen.name,
            state=str(ProbeState.OK),
            evidence="",
            remedy="",
            security="",
            ended="",
        )

    def run(self) -> None:
        """Open, read until the end, close. Never raises."""
        try:
            self._read_all()
        except Exception as error:  # noqa: BLE001 - a reader may raise anything
            self._record(Probe(ProbeState.OK, self.probe.evidence), _describe(error))
        finally:
            self._reader_lock.release()

    def _read_all(self) -> None:
        if not self._wait_for_lock():
            return
        opened = self._open()
        if opened is None:
            return
        try:
            names = ", ".join(channel.label for channel in opened.channels)
            self._record(Probe(ProbeState.OK, names))
            self._read_until_stopped(opened)
        finally:
            opened.close()

    def _wait_for_lock(self) -> bool:
        """Wait until this process may read, and return true; false if the sampler was stopped first."""
        if self._reader_lock.acquire():
            return True
        self._record(Probe(ProbeState.OK, "another rank of this job on this host reads it"))
        pacing = ReadSchedule(time.perf_counter_ns(), _S_NS)
        while self._sampler.wait_until(pacing.due_ns):
            if self._reader_lock.acquire():
                return True
            pacing.advance(time.perf_counter_ns())
        return False

    def _open(self) -> OpenReader | None:
        try:
            return self._chosen.reader.open(self._chosen.effective_period_s)
        except Exception as error:  # noqa: BLE001 - as above; its probe gives the reason
            probe = self._chosen.reader.probe()
            self._record(probe, _describe(error) if probe.state is ProbeState.OK else "")
            return None

    def _read_until_stopped(self, opened: OpenReader) -> None:
        period_s = min(self._chosen.effective_period_s, opened.longest_interval_s)
        period_ns = max(int(max(period_s, _MIN_PERIOD_S) * _S_NS), 1)
        pacing = ReadSchedule(time.perf_counter_ns(), period_ns)
        self._sampler.record_read(-self._number, pacing.period_ns, 0, 0)
        is_running = True
        while is_running:
            is_running = self._sampler.wait_until(pacing.due_ns)
            # A last read follows the stop, for the time since the last deadline.
            begin_ns = time.perf_counter_ns()
            self._read_once(opened)
            self._sampler.record_read(self._number, pacing.due_ns, begin_ns, time.perf_counter_ns())
            pacing.advance(time.perf_counter_ns())

    def _read_once(self, opened: OpenReader) -> None:
        """Record the samples of a read, also those before a failure."""
        samples: list[Sample] = []
        try:
            for sample in opened.read():
                samples.append(sample)  # noqa: PERF402 - samples before a failure are kept
        finally:
            self._sampler.record_samples(self._number, self._chosen.name, opened, samples)

    def _record(self, probe: Probe, ended: str = "") -> None:
        self.probe = self._sampler.record_probe(probe, self._chosen.name, ended)


def _row(number: int, sample: Sample) -> tuple[int, ...]:
    values: tuple[Any, ...] = (sample.time_ns, sample.within_ns, sample.raw, int(sample.flags))
    if any(type(value) is not int or abs(value) > _MAX_VALUE for value in values):
        raise ValueError(f"a sample of {sample.key!r} is not made of whole numbers: {values}")
    return (number, *values)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
