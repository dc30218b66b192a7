"""Spools of any length, made up: what finalising is measured and tested with.

A host launches on one device at a steady rate. The device runs a few parts per million fast, and executes
the commands of each queue in order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cltrace.events import records as r
from cltrace.events.apis import Api
from cltrace.events.kinds import ArgumentKind, MemoryKind, ProgramOrigin
from cltrace.events.tables import (
    ANCHORS,
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    EDGES,
    LAUNCHES,
    RELEASES,
    STAMPS,
    arguments_table,
)
from cltrace.spool.layout import ProcessIdentity, create_process_directory, parts_directory
from cltrace.spool.settings import (
    CommandOutcome,
    SessionFacts,
    Settings,
    write_outcome,
    write_session,
)
from cltrace.spool.writer import SpoolWriter

Int64s = NDArray[np.int64]

ORIGIN_NS = 10**12
PERIOD_NS = 5_000
DEVICE_NS = 1_700_000_000 * 10**9
DRIFT = 4e-6
QUEUE, EVENT, BUFFER = 0x1000, 0x900000, 0xA000
FLUSH_ROWS = 40_000
EVENTS = 5_000
"""Events that the driver has at once: it reuses their handles."""
OWN_BUFFER, OWN_HANDLES, FIRST_OWN_BUFFER = 0xB0000, 1000, 100
"""Handles that the driver gives to buffers of single launches in turn, and the first number of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Shape of a recording. One launch in `copy_every` is a copy, and so on; 0 for never."""

    kernels: int = 4
    queues: int = 1
    threads: int = 1
    changing_scalars: int = 0
    """Number of scalars that differ from launch to launch: a counter, and random words."""
    changing_extent: str = ""
    """The part of the NDRange that differs from launch to launch, as in `CIRCUMSTANCES`."""
    copy_every: int = 0
    wait_every: int = 0
    waits: int = 1
    """Largest number of events in a wait list."""
    finish_every: int = 0
    buffer_every: int = 0
    own_buffer_every: int = 0
    """One launch in so many has a buffer that is created before it and released after it."""


PLAIN = Shape()
CHANGING = Shape(changing_scalars=1)
MIXED = Shape(
    kernels=50,
    queues=3,
    threads=3,
    copy_every=10,
    wait_every=7,
    finish_every=1000,
    buffer_every=500,
)
SHAPES = {
    "plain": PLAIN,
    "mixed": MIXED,
    "changing scalar": CHANGING,
    "4 changing scalars": Shape(changing_scalars=4),
    "changing scalar of 50 kernels": Shape(changing_scalars=1, kernels=50),
    "changing global size": Shape(changing_extent="global_size_0"),
    "changing global offset": Shape(changing_extent="global_offset_0"),
    "changing local size": Shape(changing_extent="local_size_0"),
    "wait lists": Shape(wait_every=1, waits=3),
    "500 kernels": Shape(kernels=500),
    "64 threads": Shape(threads=64),
    "a buffer per launch": Shape(own_buffer_every=1),
    "copies": Shape(copy_every=1),
}


def write_large_recording(
    path: Path, launches: int, shape: Shape = PLAIN, *, processes: int = 1, seed: int = 1
) -> Path:
    """Write the parts of a recording whose trace is to be at `path`, and return their directory."""
    parts = parts_directory(path)
    parts.mkdir(mode=0o700)
    session = SessionFacts(
        command=("python", "long.py"), working_directory="/srv", host="node1", recorder_pid=0,
        origin_host_ns=ORIGIN_NS, started_realtime_ns=DEVICE_NS, cltrace_version="0.1.0",
        settings=Settings(),
    )  # fmt: skip
    write_session(parts, session)
    for number in range(processes):
        identity = ProcessIdentity(4_100_000 + number, 7)
        writer = SpoolWriter(create_process_directory(parts, identity))
        writer.records(_records(shape, identity.pid))
        _write_objects(writer, shape)
        _Activity(writer, shape, np.random.default_rng(seed + number)).write(launches)
        writer.records([_ended(launches)])
        writer.close()
    write_outcome(parts, CommandOutcome(0, None, ORIGIN_NS + PERIOD_NS * launches))
    return parts


class _Activity:
    """Writer of launches and other calls, flush by flush."""

    def __init__(self, writer: SpoolWriter, shape: Shape, random: np.random.Generator) -> None:
        self._writer, self._shape, self._random = writer, shape, random
        self._launches = self._calls = self._mark = self._buffers = 0
        self._busy_until = np.zeros(shape.queues, np.int64)

    def write(self, count: int) -> None:
        for begin in range(0, count, FLUSH_ROWS):
            self._flush(np.arange(begin, min(begin + FLUSH_ROWS, count)))

    def _flush(self, number: Int64s) -> None:
        shape, random = self._shape, self._random
        enter = ORIGIN_NS + number * PERIOD_NS + random.integers(0, 1500, len(number))
        returned = enter + random.integers(1200, 2500, len(number))
        queue = number // 3 % shape.queues
        stamps = self._execute(enter, returned, queue)
        is_copy = _every(number, shape.copy_every)
        event = EVENT + 0x80 * (number % EVENTS)
        mark = self._wait_lists(number)
        thread = number % shape.threads
        # The reader thread takes the logs one after another, so the rows of a thread follow each other.
        order = np.argsort(thread, kind="stable")
        launched, copied = order[~is_copy[order]], order[is_copy[order]]
        circumstance = self._circumstance(number)
        lists = self._argument_lists(number)
        self._write_buffers(number, enter, returned)
        rows = np.stack([enter, returned, circumstance, lists, mark, event], axis=1)
        self._writer.rows(LAUNCHES, rows[launched])
        calls = self._copies(
            number,
            copied,
            {
                "enter_host_ns": enter,
                "return_host_ns": returned,
                "queue_handle": QUEUE + queue,
                "mark": mark,
                "event_handle": event,
                "thread_id": thread + 1,
            },
        )
        self._write_stamps(stamps, launched, copied)
        self._writer.rows(CALLS, np.concatenate([calls, self._finishes(number, returned, queue)]))
        self._launches += len(launched)
        self._calls += len(calls) + int(_every(number, shape.finish_every).sum())

    def _wait_lists(self, number: Int64s) -> Int64s:
        """Write wait lists for the commands before, and return the mark of each command."""
        shape, mark = self._shape, np.zeros(len(number), np.int64)
        waits = np.flatnonzero(_every(number, shape.wait_every) & (number > 0))
        mark[waits] = self._mark + 1 + np.arange(len(waits))
        self._mark += len(waits)
        for back in range(1, 1 + shape.waits):
            own = waits[(number[waits] >= back) & (number[waits] % shape.waits < back)]
            edges = [mark[own], EVENT + 0x80 * ((number[own] - back) % EVENTS)]
            self._writer.rows(EDGES, np.stack(edges, axis=1))
        return mark

    def _copies(self, number: Int64s, copied: Int64s, columns: dict[str, Int64s]) -> Int64s:
        """Return the rows of copies, of which some columns are given for all commands."""
        calls = np.zeros((len(copied), CALLS.width), np.int64)
        for name, values in columns.items():
            calls[:, CALLS.index(name)] = values[copied]
        for name, value in (
            ("api", int(Api.clEnqueueCopyBuffer)),
            ("site_id", 1),
            ("source_handle", BUFFER),
            ("target_handle", BUFFER + 1),
        ):
            calls[:, CALLS.index(name)] = value
        calls[:, CALLS.index("size_bytes")] = 4096 + number[copied] % 7
        return calls

    def _execute(self, enter: Int64s, returned: Int64s, queue: Int64s) -> Int64s:
        """Return the four stamps of each command, and its status."""
        count = len(enter)
        queued = enter + ((returned - enter) * self._random.uniform(0.3, 0.9, count)).astype(
            np.int64
        )
        ready = queued + self._random.integers(500, 3000, count)
        took = self._random.integers(1500, 4800, count) + 800 * (queue == 0)
        end = np.empty(count, np.int64)
        for number in range(self._shape.queues):
            members = np.flatnonzero(queue == number)
            if len(members):
                total = np.cumsum(took[members])
                start = np.maximum(ready[members], self._busy_until[number]) - total + took[members]
                end[members] = np.maximum.accumulate(start) + total
                self._busy_until[number] = end[members[-1]]
        host = [queued, ready - 200, end - took, end]
        device = [
            DEVICE_NS + time + np.rint((time - ORIGIN_NS) * DRIFT).astype(np.int64) for time in host
        ]
        return np.stack([*device, np.zeros(count, np.int64)], axis=1)

    def _write_stamps(self, stamps: Int64s, launched: Int64s, copied: Int64s) -> None:
        rows = np.concatenate(
            [
                2 * (self._launches + np.arange(len(launched))),
                2 * (self._calls + np.arange(len(copied))) + 1,
            ]
        )
        both = np.concatenate([rows[:, None], stamps[np.concatenate([launched, copied])]], axis=1)
        self._writer.rows(STAMPS, both)

    def _circumstance(self, number: Int64s) -> Int64s:
        shape = self._shape
        kernel = number // 5 % shape.kernels
        same = (
            1
            + (kernel * shape.queues + number // 3 % shape.queues) * shape.threads
            + (number % shape.threads)
        )
        if not shape.changing_extent:
            return same
        first = 1 + shape.kernels * shape.queues * shape.threads
        columns: dict[str, Int64s | int] = {
            "circumstance_id": first + number, "kernel_id": 1 + kernel, "site_id": 1,
            "thread_id": 1 + number % shape.threads, "queue_handle": QUEUE + number // 3 % shape.queues,
            "global_dimensions": 1, "local_dimensions": 1,
            "offset_dimensions": int(shape.changing_extent.startswith("global_offset")),
            "global_size_0": 64, "local_size_0": 64,
        }  # fmt: skip
        columns[shape.changing_extent] = 64 * (1 + number)
        rows = np.zeros((len(number), CIRCUMSTANCES.width), np.int64)
        for name, values in columns.items():
            rows[:, CIRCUMSTANCES.index(name)] = values
        self._writer.rows(CIRCUMSTANCES, rows)
        return first + number

    def _argument_lists(self, number: Int64s) -> Int64s:
        """Write the new argument lists, and return the list of each launch."""
        scalars = self._shape.changing_scalars
        if not scalars:
            own = _every(number, self._shape.own_buffer_every)
            return 1 + np.where(own, number % OWN_HANDLES, number // 5 % self._shape.kernels)
        lists = number + 1
        random = self._random.integers(0, 2**31, (scalars - 1, len(number)))
        columns = [lists, np.full(len(lists), 1), np.full(len(lists), BUFFER), lists * 0, number]
        self._writer.rows(arguments_table(2 + scalars), np.stack([*columns, *random], axis=1))
        return lists

    def _write_buffers(self, number: Int64s, enter: Int64s, returned: Int64s) -> None:
        """Write the creations and releases of the buffers that are each used by one launch."""
        own = np.flatnonzero(_every(number, self._shape.own_buffer_every))
        if not len(own):
            return
        ids = FIRST_OWN_BUFFER + self._buffers + np.arange(len(own))
        self._buffers += len(own)
        rows = np.zeros((len(own), BUFFERS.width), np.int64)
        rows[:] = _buffer(0, 0, 0)
        rows[:, BUFFERS.index("buffer_id")] = ids
        rows[:, BUFFERS.index("handle")] = OWN_BUFFER + number[own] % OWN_HANDLES
        rows[:, BUFFERS.index("known_host_ns")] = enter[own] - 1000
        self._writer.rows(BUFFERS, rows)
        releases = [ids, returned[own] + 100, returned[own] + 300]
        self._writer.rows(RELEASES, np.stack(releases, axis=1))

    def _finishes(self, number: Int64s, returned: Int64s, queue: Int64s) -> Int64s:
        """Return the rows of `clFinish`, which are entered right after a command."""
        members = np.flatnonzero(_every(number, self._shape.finish_every))
        calls = np.zeros((len(members), CALLS.width), np.int64)
        calls[:, CALLS.index("enter_host_ns")] = returned[members] + 10
        calls[:, CALLS.index("return_host_ns")] = np.maximum(
            returned[members] + 900, self._busy_until[queue[members]] + 5_000
        )
        calls[:, CALLS.index("api")] = int(Api.clFinish)
        calls[:, CALLS.index("site_id")] = 1
        calls[:, CALLS.index("thread_id")] = 1
        calls[:, CALLS.index("queue_handle")] = QUEUE + queue[members]
        calls[:, CALLS.index("size_bytes")] = -1
        return calls


def _every(number: Int64s, period: int) -> NDArray[np.bool_]:
    if not period:
        return np.zeros(len(number), np.bool_)
    is_due: NDArray[np.bool_] = number % period == period - 1
    return is_due


def _write_objects(writer: SpoolWriter, shape: Shape) -> None:
    """Write circumstances, argument lists, buffers and an anchor."""
    circumstances: list[list[int]] = []
    for kernel in range(shape.kernels):
        for queue in range(shape.queues):
            for thread in range(shape.threads):
                row = [
                    len(circumstances) + 1,
                    kernel + 1,
                    1 + kernel % 3,
                    thread + 1,
                    QUEUE + queue,
                    0,
                ]
                circumstances.append([*row, 1, 1, 0, 1024, 0, 0, 64, 0, 0, 0, 0, 0])
    writer.rows(CIRCUMSTANCES, np.array(circumstances, np.int64))
    if shape.own_buffer_every:
        own = [[at + 1, 1, OWN_BUFFER + at, 0, at] for at in range(OWN_HANDLES)]
        writer.rows(arguments_table(3), np.array(own, np.int64))
    elif not shape.changing_scalars:
        lists = [[kernel + 1, 1, BUFFER + kernel % 2, 0, kernel] for kernel in range(shape.kernels)]
        writer.rows(arguments_table(3), np.array(lists, np.int64))
    buffers = [_buffer(1, BUFFER, 0), _buffer(2, BUFFER + 1, 0)]
    if shape.buffer_every:
        # The second buffer is released and allocated again and again, at the same address.
        buffers += [
            _buffer(3 + at, BUFFER + 1, at * shape.buffer_every * PERIOD_NS) for at in range(1, 40)
        ]
    writer.rows(BUFFERS, np.array(buffers, np.int64))
    writer.rows(ANCHORS, np.array([[ORIGIN_NS, ORIGIN_NS + 5, DEVICE_NS, 60]], np.int64))


def _buffer(number: int, handle: int, since_ns: int) -> list[int]:
    size = 1 << 20
    return [number, handle, 1, MemoryKind.BUFFER, 1, size, *[0] * 5, 1, 1, ORIGIN_NS + since_ns, 1]


def _records(shape: Shape, pid: int) -> Iterator[r.Record]:
    yield r.ProcessStarted(
        pid=pid, parent_pid=1, host="node1", rank=None, argv=("long.py",), working_directory="/srv",
        executable="/usr/bin/python3", python_version="3.11.7", pyopencl_version="2026.1",
        started_host_ns=ORIGIN_NS, environment=(),
    )  # fmt: skip
    for thread in range(shape.threads):
        yield r.Thread(thread + 1, pid + thread, f"thread {thread}")
    for line in range(3):
        yield r.Site(line + 1, "/srv/long.py", 10 + line, "main", 0)
    yield r.Platform(1, "a platform", "a vendor", "OpenCL 3.0")
    yield _device()
    yield r.Context(1, (1,))
    yield from _queues(shape)
    yield from _programs(shape)


def _queues(shape: Shape) -> Iterator[r.Record]:
    for queue in range(shape.queues):
        # The last of several queues executes out of order.
        yield r.Queue(
            id=queue + 1, handle=QUEUE + queue, properties=int(0 < queue == shape.queues - 1),
            profiling=True, profiling_forced=True, known_host_ns=ORIGIN_NS - 1000, context_id=1,
            device_id=1,
        )  # fmt: skip


def _programs(shape: Shape) -> Iterator[r.Record]:
    yield r.Text(1, "kernel void step(global float *x, int by) {}")
    yield r.Program(
        id=1, origin=ProgramOrigin.SOURCE, created_host_ns=ORIGIN_NS, binary_bytes=0, context_id=1,
        source_text_id=1, parent_ids=(),
    )  # fmt: skip
    for kernel in range(shape.kernels):
        yield r.Kernel(kernel + 1, f"step{kernel}", 2, 1)
    scalar = r.ArgumentSlot(ArgumentKind.SCALAR, 1, "<i4", 4)
    scalars = [scalar] * max(shape.changing_scalars, 1)
    yield r.ArgumentForm(1, (r.ArgumentSlot(ArgumentKind.BUFFER, 2), *scalars))


def _device() -> r.Device:
    return r.Device(
        id=1, name="a device", vendor="a vendor", version="OpenCL 3.0", driver_version="1.0",
        kind="GPU", compute_units=8, clock_mhz=1000, global_memory_bytes=2**34,
        local_memory_bytes=2**15, max_group_size=1024, timer_resolution_ns=1, bus=None, uuid=None,
        extensions="", platform_id=1, parent_device_id=0,
    )  # fmt: skip


def _ended(launches: int) -> r.ProcessEnded:
    return r.ProcessEnded(
        how="exit", ended_host_ns=ORIGIN_NS + PERIOD_NS * launches, hook_calls=launches,
        hook_ns=launches * 900, reader_cpu_ns=launches * 400, event_waits=0, event_wait_ns=0,
        unread_events_peak=FLUSH_ROWS, commands_skipped=0, memory_peak_bytes=None,
        memory_peak_host_ns=None,
    )  # fmt: skip
