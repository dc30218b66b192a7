"""Drain of the sink: rows go to the spool, and the stamps of complete commands are read.

One thread empties the sink every few tens of milliseconds (`reader_thread`). The sink is also emptied
when the process ends, before it forks or replaces its image, and by a hook that finds too many unread
events.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyopencl as cl
from numpy.typing import ArrayLike, NDArray

from cltrace.events import NS_PER_MS
from cltrace.events.kinds import Severity
from cltrace.events.tables import (
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    LAUNCHES,
    STAMPS,
    RowTable,
    arguments_table,
)
from cltrace.intercept.drain.host_clocks import Anchors
from cltrace.intercept.drain.losses import Losses
from cltrace.intercept.drain.raw_rows import CommandBlock, RowMaker
from cltrace.intercept.drain.stamps import StampReader
from cltrace.intercept.hooks.recorder import Recorder
from cltrace.intercept.sink import (
    PLAIN_TABLES,
    RAW_CALL_WIDTH,
    SINGLE_LAUNCH_WIDTH,
    LaunchLog,
    take,
)
from cltrace.spool.writer import SpoolWriter

_MAX_UNREAD: Final = 200_000
_YIELD_UNREAD: Final = 16_384
"""Unread events from which the launching thread yields: each may hold kilobytes of driver memory."""

_BLOCK_EVENTS: Final = 2048
_MAX_FRUITLESS_BLOCKS: Final = 8
_PATIENCE_NS: Final = 1000 * NS_PER_MS

Pause = Callable[[], None]
Int64s = NDArray[np.int64]


def _no_pause() -> None:
    return


class Drain:
    """Drain of a recorder's sink into a spool. The methods take a lock: one thread at a time."""

    def __init__(self, recorder: Recorder, writer: SpoolWriter) -> None:
        self._recorder = recorder
        self._writer = writer
        self._rows = RowMaker(recorder.sites, recorder.argument_lists)
        self.lock: Final = threading.RLock()
        self._unread: deque[tuple[NDArray[np.int64], list[cl.Event]]] = deque()
        self._unread_count = 0
        self._written, self._max_unread = {LAUNCHES.name: 0, CALLS.name: 0}, _MAX_UNREAD
        self._anchors = Anchors(writer)
        self._stamps = StampReader()
        self._is_flushing = False
        self.losses: Final = Losses()

    @property
    def commands_written(self) -> int:
        """The number of launches and other calls in the spool."""
        return sum(self._written.values())

    def flush(self, pause: Pause = _no_pause, max_ns: int | None = None) -> bool:
        """Write all rows, read the stamps of complete commands, and call `pause` between blocks.

        Return whether reading stopped because `max_ns` had passed.
        Raises: `OSError` when the rows cannot be written.
        """
        with self.lock:
            if self._is_flushing:
                return False  # a signal handler of the program interrupted a flush of this thread
            self._is_flushing = True
            try:
                return self._flush(pause, max_ns)
            finally:
                self._is_flushing = False

    def _flush(self, pause: Pause, max_ns: int | None) -> bool:
        self._recorder.memory.note_releases()
        # What refers to something is taken before it: it was appended after it.
        sink = self._recorder.sink
        logs, single, calls = sink.take_logs(), take(sink.single_launches), take(sink.calls)
        taken = [*((flat, log.width) for log, flat in logs), (single, SINGLE_LAUNCH_WIDTH)]
        if self.losses.has_begun:
            self.losses.add(taken, calls)
            return False
        try:
            with self.losses.counted(taken, calls):
                self._write_taken(logs, single, calls)
        except BaseException as fault:  # of the program's signal handler, too
            self._recorder.stop_because(fault)
            raise
        return self._read_complete(pause, max_ns and time.perf_counter_ns() + max_ns)

    def _write_taken(
        self, logs: list[tuple[LaunchLog, list[Any]]], single: list[Any], calls: list[Any]
    ) -> None:
        """Write the rows of commands that were taken from the sink, after what they refer to."""
        sink = self._recorder.sink
        plain = [(table, take(sink.rows[table.name])) for table in PLAIN_TABLES]
        circumstances, buffers = take(sink.circumstances), take(sink.buffers)
        self._anchors.write_if_due()
        tables = [(table, _as_rows(flat, table)) for table, flat in plain if flat]
        if circumstances:
            tables.append((CIRCUMSTANCES, self._rows.circumstances(circumstances)))
        if buffers:
            tables.append((BUFFERS, self._rows.buffers(buffers)))
        self._writer.records(sink.take_records())
        for table, rows in tables:
            self._writer.rows(table, rows)
        for log, flat in logs:
            for part in _parts(flat, log.width):
                self.losses.part = ([(part, log.width)], [])
                block, table, stored = self._rows.path_launches(log, part)
                self._write_commands(block, [(table, stored)])
        for part in _parts(single, SINGLE_LAUNCH_WIDTH):
            self.losses.part = ([(part, SINGLE_LAUNCH_WIDTH)], [])
            self._write_commands(self._rows.single_launches(part))
        for part in _parts(calls, RAW_CALL_WIDTH):
            self.losses.part = ([], part)
            self._write_commands(self._rows.calls(part))

    def settle(self, patience_s: float) -> None:
        """Flush until no event is unread, or no command has completed for `patience_s`."""
        self.flush()
        deadline = time.monotonic() + patience_s
        while self._unread_count and time.monotonic() < deadline:
            before = self._unread_count
            time.sleep(0.002)
            self.flush()
            if self._unread_count < before:
                deadline = time.monotonic() + patience_s

    def limit_unread_events(self) -> None:
        """Wait for the oldest commands when too many events are unread."""
        pending = self._unread_count + self._recorder.sink.unwritten_commands
        tallies = self._recorder.tallies
        tallies.unread_events_peak = max(tallies.unread_events_peak, pending)
        if pending > _YIELD_UNREAD:
            time.sleep(0)  # let the reader thread run
        if pending <= self._max_unread or self._is_flushing:
            return
        with self.lock:
            self.flush()
            if self._unread_count <= self._max_unread:
                return
            begin = time.perf_counter_ns()
            while self._unread_count > self._max_unread // 2:
                if time.perf_counter_ns() - begin > _PATIENCE_NS:
                    self._give_up_waiting()
                    break
                time.sleep(0.0005)
                self._read_complete()
            tallies.event_waits += 1
            tallies.event_wait_ns += time.perf_counter_ns() - begin

    def release_complete(self, handle: int) -> int:
        """Read the stamps of complete commands, and return the number of unread events with a handle."""
        with self.lock:
            self.flush()
            return sum(event.int_ptr == handle for _, events in self._unread for event in events)

    def abandon(self) -> None:
        """Drop everything without destroying it, in a forked child."""
        _immortal.append(self._unread)
        self._writer.close()

    def _give_up_waiting(self) -> None:
        """Keep more events in memory: the commands wait for an action of the program."""
        self._max_unread *= 2
        self._recorder.note(
            Severity.WARNING,
            "events-kept",
            f"no command completed for {_PATIENCE_NS // NS_PER_MS} ms: up to "
            f"{self._max_unread:,} events are kept in memory",
        )

    def _write_commands(
        self, block: CommandBlock, arguments: Sequence[tuple[RowTable, Int64s]] = ()
    ) -> None:
        """Write the rows of commands, after what they refer to, and keep the events."""
        sink, self.losses.block, self.losses.part = self._recorder.sink, block, ((), [])
        self._writer.records(sink.take_records())
        for words, flat in sink.take_arguments():
            self._writer.rows(table := arguments_table(words), _as_rows(flat, table))
        for table, rows in arguments:
            self._writer.rows(table, rows)
        self._writer.rows(block.table, block.rows)
        self.losses.block = None
        kept = [event for event in block.events if event is not None]
        name = block.table.name
        if kept:
            positions = np.flatnonzero(block.rows[:, -1]) + self._written[name]
            self._unread.append((positions * 2 + (block.table is CALLS), kept))
            self._unread_count += len(kept)
        self._written[name] += len(block.rows)

    def _read_complete(self, pause: Pause = _no_pause, deadline_ns: int | None = None) -> bool:
        """Read the stamps of complete commands, oldest first; return true when the deadline ended that.

        Blocks without a complete command are kept for the next time. After a few such blocks in a row
        the rest is not tried.
        """
        is_late, fruitless = False, 0
        remaining: list[tuple[NDArray[np.int64], list[cl.Event]]] = []
        while self._unread and fruitless < _MAX_FRUITLESS_BLOCKS and not is_late:
            commands, events = self._unread.popleft()
            if len(events) > _BLOCK_EVENTS:
                self._unread.appendleft((commands[_BLOCK_EVENTS:], events[_BLOCK_EVENTS:]))
                commands, events = commands[:_BLOCK_EVENTS], events[:_BLOCK_EVENTS]
            incomplete = self._read_block(commands, events)
            fruitless = fruitless + 1 if len(incomplete[1]) == len(events) else 0
            if incomplete[1]:
                remaining.append(incomplete)
            pause()
            is_late = deadline_ns is not None and time.perf_counter_ns() > deadline_ns
        self._unread.extendleft(reversed(remaining))
        return is_late

    def _read_block(
        self, commands: NDArray[np.int64], events: list[cl.Event]
    ) -> tuple[NDArray[np.int64], list[cl.Event]]:
        """Write the stamps of the complete commands among `events` and return the others."""
        stamps = self._stamps.read_if_complete(events)
        if stamps is not None:
            self._write_stamps(commands, stamps, 0)
            return commands[:0], []
        status = np.fromiter(map(self._stamps.status_of, events), np.int64)
        is_done = status <= 0
        done = [event for event, ready in zip(events, is_done, strict=True) if ready]
        remaining = [event for event, ready in zip(events, is_done, strict=True) if not ready]
        self._write_stamps(commands[is_done], self._stamps.read(done), status[is_done])
        return commands[~is_done], remaining

    def _write_stamps(
        self, commands: NDArray[np.int64], stamps: NDArray[np.int64], status: ArrayLike
    ) -> None:
        rows = np.empty((len(commands), STAMPS.width), np.int64)
        rows[:, 0], rows[:, 1:5], rows[:, 5] = commands, stamps, status
        self._writer.rows(STAMPS, rows)
        self._unread_count -= len(commands)


_immortal: Final[list[Any]] = []
"""Objects that must not be destroyed as long as this process lives."""


def _parts(flat: list[Any], width: int) -> Iterator[list[Any]]:
    """Yield the rows in blocks, and release each while it is still in the processor's cache."""
    step = _BLOCK_EVENTS * width
    for begin in range(0, len(flat), step):
        part = flat[begin : begin + step]
        flat[begin : begin + step] = repeat(None, len(part))
        yield part


def _as_rows(flat: list[Any], table: RowTable) -> Int64s:
    return np.fromiter(flat, np.int64, len(flat)).reshape(-1, table.width)
