"""A recording made up by hand: two processes, every kind of record and row, no OpenCL needed.

The numbers are round so that tests can say what a reader must find. `text` is applied to every text
that a traced program chooses.
"""

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cltrace.events import records as r
from cltrace.events.apis import Api
from cltrace.events.kinds import ArgumentKind, MemoryKind, ProgramOrigin, Severity
from cltrace.events.power import POWER_READS, POWER_SAMPLES, PowerChannel, PowerProbe
from cltrace.events.tables import (
    ANCHORS,
    BUFFERS,
    CALLS,
    CIRCUMSTANCES,
    COMPLETIONS,
    EDGES,
    LAUNCHES,
    REGIONS,
    RELEASES,
    STAMPS,
    RowTable,
    arguments_table,
)
from cltrace.spool.layout import (
    ProcessIdentity,
    create_process_directory,
    parts_directory,
    power_directory,
)
from cltrace.spool.settings import (
    CommandOutcome,
    SessionFacts,
    Settings,
    write_outcome,
    write_session,
)
from cltrace.spool.writer import SpoolWriter

ORIGIN_NS = 1_000_000_000
LAUNCHES_EACH = 30
SOURCE = "kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }"
SENT = bytes(range(256)) * 4

Text = Callable[[str], str]


def as_it_is(text: str) -> str:
    """No change."""
    return text


def write_recording(path: Path, text: Text = as_it_is, *, is_whole: bool = True) -> Path:
    """The parts of a recording whose trace is to be at `path`. Returns their directory."""
    parts = parts_directory(path)
    parts.mkdir(mode=0o700)
    command = tuple(map(text, ("python", "heat.py", "--size", "64")))
    session = SessionFacts(
        command=command,
        working_directory=text("/srv/heat"),
        host=text("node1"),
        recorder_pid=0,
        origin_host_ns=ORIGIN_NS,
        started_realtime_ns=1_700_000_000 * 10**9,
        cltrace_version="0.1.0",
        settings=Settings(),
    )
    write_session(parts, session)
    for rank in (0, 1):
        directory = create_process_directory(parts, ProcessIdentity(4_100_000 + rank, 7))
        writer = SpoolWriter(directory)
        writer.records(_records(rank, text, writer))
        for table, rows in _rows().items():
            writer.rows(table, np.array(rows, np.int64).reshape(-1, table.width))
        if is_whole or rank == 0:
            writer.records([_ended()])
        writer.close()
    _write_power(parts, text)
    if is_whole:
        write_outcome(parts, CommandOutcome(0, None, ORIGIN_NS + 50_000_000))
    return parts


def _records(rank: int, text: Text, writer: SpoolWriter) -> list[r.Record]:
    stored = zlib.compress(SENT)
    position = writer.content(stored)
    digest = hashlib.sha256(SENT).hexdigest()
    return [
        _started(rank, text),
        r.Thread(1, 4_100_000 + rank, text("MainThread")),
        *_texts(text),
        r.Site(1, text("/srv/heat/heat.py"), 10, text("main"), 0),
        r.Site(2, text("/srv/heat/heat.py"), 42, text("step"), 1),
        *_devices(text),
        r.Context(1, (1, 2)),
        *_queues(),
        *_programs(text),
        r.Kernel(1, text("scale"), 2, 1),
        r.WorkGroupInfo(256, 8, 0, 16, 1, 1),
        *_forms(text),
        r.Content(
            sha256=digest,
            position_bytes=position,
            stored_bytes=len(stored),
            size_bytes=len(SENT),
            written_host_ns=ORIGIN_NS + 500,
            buffer_id=1,
            circumstance_id=1,
            arguments_id=1,
        ),
        r.Surcharge(2000, 1500.0, 2100.5, 1),
        r.Diagnostic(Severity.NOTE, "a-code", text("something to know"), ORIGIN_NS + 600),
        r.Redaction("environment"),
    ]


def _started(rank: int, text: Text) -> r.ProcessStarted:
    return r.ProcessStarted(
        pid=4_100_000 + rank,
        parent_pid=4_099_999,
        host=text("node1"),
        rank=rank,
        argv=(text("heat.py"), text("--size")),
        working_directory=text("/srv/heat"),
        executable=text("/opt/python/bin/python3"),
        python_version="3.11.7",
        pyopencl_version="2026.1.4",
        started_host_ns=ORIGIN_NS,
        environment=((text("OMP_NUM_THREADS"), text("4")),),
    )


def _queues() -> list[r.Record]:
    queue = r.Queue(
        id=1,
        handle=0x1000,
        properties=0,
        profiling=True,
        profiling_forced=True,
        known_host_ns=ORIGIN_NS + 100,
        context_id=1,
        device_id=1,
    )
    plain = replace(queue, id=2, handle=0x2000, properties=1, profiling=False)
    plain = replace(plain, profiling_forced=False, known_host_ns=ORIGIN_NS + 200, device_id=2)
    return [queue, plain]


def _forms(text: Text) -> list[r.Record]:
    return [
        r.ArgumentForm(
            1,
            (
                r.ArgumentSlot(ArgumentKind.BUFFER, 2),
                r.ArgumentSlot(ArgumentKind.SCALAR, 1, "<f4", 4),
            ),
        ),
        r.ArgumentForm(
            2,
            (
                r.ArgumentSlot(ArgumentKind.LOCAL, 1),
                r.ArgumentSlot(ArgumentKind.UNKNOWN, 0, detail=text("<object>")),
            ),
        ),
    ]


def _write_power(parts: Path, text: Text) -> None:
    """A meter that reads 40 W every 2 ms, and a counter of mJ beside it that begins anew after 1 kJ."""
    directory = power_directory(parts)
    directory.mkdir()
    writer = SpoolWriter(directory)
    writer.records(_power_records(text))
    samples = [[1, ORIGIN_NS + 2_000_000 * n, 500, 40_000, 0] for n in range(25)]
    samples += [
        [2, ORIGIN_NS + 10_000_000 * n, 500, (999_000 + 400 * n) % 1_000_000, 0] for n in range(6)
    ]
    writer.rows(POWER_SAMPLES, np.array(samples, np.int64))
    reads = [[-1, 2_000_000, 0, 0]]
    for number in range(25):
        due = ORIGIN_NS + 2_000_000 * number
        reads.append([1, due, due + 1_000, due + 31_000])
    writer.rows(POWER_READS, np.array(reads, np.int64))
    writer.close()


def _power_records(text: Text) -> list[r.Record]:
    meter = PowerChannel(
        id=1,
        host=text("node1"),
        key="exec:meter:a",
        reader="exec",
        label=text("a meter"),
        quantity="power",
        scope="gpu",
        device=text("0000:01:00.0"),
        unit_per_step=0.001,
        quantum=0.001,
        period_s=0.002,
    )
    counter = replace(meter, id=2, key="exec:meter:b", quantity="energy", is_estimated=True)
    probe = PowerProbe(
        host=text("node1"),
        reader="exec",
        state="ok",
        evidence=text("a meter"),
        remedy=text("nothing"),
        security=text("none"),
        ended="",
    )
    return [
        replace(
            meter,
            window_s=0.002,
            delay_s=0.001,
            lag_s=0.0005,
            gain_error=0.02,
            note=text("made up"),
        ),
        replace(counter, modulus_steps=1_000_000, period_s=0.01),
        probe,
    ]


def _texts(text: Text) -> list[r.Record]:
    return [
        r.Text(1, text(SOURCE)),
        r.Text(2, text("warning: unused variable")),
        r.Text(3, text("#define BY 2")),
        r.Text(4, text("assembly")),
    ]


def _devices(text: Text) -> list[r.Record]:
    device = r.Device(
        id=1,
        name=text("pthread-device"),
        vendor=text("vendor"),
        version="OpenCL 3.0",
        driver_version=text("5.0"),
        kind="CPU",
        compute_units=8,
        clock_mhz=3000,
        global_memory_bytes=2**34,
        local_memory_bytes=2**15,
        max_group_size=1024,
        timer_resolution_ns=1,
        bus=None,
        uuid=None,
        extensions=text("cl_khr_fp64"),
        platform_id=1,
        parent_device_id=0,
    )
    sizes = ("compute_units", "clock_mhz", "global_memory_bytes", "local_memory_bytes")
    unknown: Any = dict.fromkeys((*sizes, "max_group_size", "timer_resolution_ns"))
    part = replace(
        device,
        id=2,
        name=text("part of it"),
        bus=text("0000:01:00.0"),
        uuid="00",
        extensions="",
        parent_device_id=1,
        **unknown,
    )
    name = text("Portable Computing Language")
    return [r.Platform(1, name, text("The pocl project"), "OpenCL 3.0"), device, part]


def _programs(text: Text) -> list[r.Record]:
    program = r.Program(
        id=1,
        origin=ProgramOrigin.SOURCE,
        created_host_ns=ORIGIN_NS + 300,
        binary_bytes=0,
        context_id=1,
        source_text_id=1,
        parent_ids=(),
    )
    linked = replace(program, id=2, origin=ProgramOrigin.LINKED, created_host_ns=ORIGIN_NS + 400)
    build = r.Build(
        api=Api.clBuildProgram,
        options=text("-DX=1"),
        status=0,
        enter_host_ns=ORIGIN_NS + 1000,
        return_host_ns=ORIGIN_NS + 9_000_000,
        program_id=1,
        device_id=1,
        log_text_id=2,
    )
    failed = replace(build, options=text("-DX=?"), status=-11, enter_host_ns=ORIGIN_NS)
    return [
        program,
        replace(linked, binary_bytes=640, source_text_id=0, parent_ids=(1,)),
        r.Include(text("by.h"), 1, 3),
        build,
        replace(failed, return_host_ns=ORIGIN_NS + 10, device_id=2, log_text_id=0),
    ]


def _launches() -> tuple[list[list[int]], list[list[int]]]:
    launches, stamps = [], []
    for number in range(LAUNCHES_EACH):
        enter = ORIGIN_NS + 10_000_000 + 1_000_000 * number
        kind = 1 + number % 2
        launches.append([enter, enter + 5_000, kind, kind, 0, 0x9000 + number])
        queued = enter + 2_000
        start = queued + (5_000_000 if number < 2 else 20_000)
        stamps.append([2 * number, queued, queued + 1_000, start, start + 100_000, 0])
    return launches, stamps


def _argument_lists() -> dict[RowTable, list[list[int]]]:
    """A buffer from byte 16 on and 0.5; 256 bytes of local memory."""
    return {
        arguments_table(3): [[1, 1, 0xA000, 16, 0x3F000000]],
        arguments_table(1): [[2, 2, 256]],
    }


def _rows() -> dict[RowTable, list[list[int]]]:
    launches, stamps = _launches()
    call = ORIGIN_NS + 5_000_000
    calls = [
        # A blocking write, a failing copy, a wait for the first launch, a fill without stamps, a copy.
        [call, call + 90_000, Api.clEnqueueWriteBuffer, 0, 1, 1, 0x1000, 0, 0, 0, 0xA000, 4096, 0, 64,
         1, 0x8001],
        [call + 100_000, call + 101_000, Api.clEnqueueCopyBuffer, -30, 2, 1, 0x1000, 0, 0, 0xA000, 0xB000,
         4096, 0, 0, 0, 0],
        [call + 200_000, call + 300_000, Api.clWaitForEvents, 0, 1, 1, 0, 7, 0, 0, 0, -1, 0, 0, 0,
         0],
        [call + 400_000, call + 410_000, Api.clEnqueueFillBuffer, 0, 2, 1, 0x2000, 8, 0, 0, 0xB000,
         512, 0, 0, 0, 0x8002],
        [call + 420_000, call + 430_000, Api.clEnqueueCopyBuffer, 0, 2, 1, 0x1000, 0, 0, 0xA000,
         0xB000, 256, 128, 64, 0, 0x8003],
    ]  # fmt: skip
    stamps.append([1, call + 1_000, call + 2_000, call + 10_000, call + 60_000, 0])
    # The last copy is submitted before it is queued.
    stamps.append([9, call + 425_000, call + 421_000, call + 440_000, call + 450_000, 0])
    return {
        CIRCUMSTANCES: [
            [1, 1, 2, 1, 0x1000, 0, 1, 1, 0, 1024, 0, 0, 64, 0, 0, 0, 0, 0],
            [2, 1, 2, 1, 0x1000, 0, 2, 0, 2, 32, 32, 0, 0, 0, 0, 1, 1, 0],
        ],
        **_argument_lists(),
        LAUNCHES: launches,
        CALLS: calls,
        STAMPS: stamps,
        COMPLETIONS: [[8, call + 450_000]],
        EDGES: [[7, 0x8001], [8, 0x8001]],
        BUFFERS: [
            [1, 0xA000, 1, MemoryKind.BUFFER, 1, 1 << 20, 0, 0, 0, 0, 0, 1, 1, ORIGIN_NS + 700, 1],
            [2, 0xB000, 1, MemoryKind.SUB_BUFFER, 1, 4096, 1, 128, 0, 0, 0, 2, 1, ORIGIN_NS + 800,
             1],
            [3, 0xC000, 1, MemoryKind.IMAGE, 4, 1024, 0, 0, 16, 16, 1, 1, 1, ORIGIN_NS + 900, 0],
        ],
        RELEASES: [[2, ORIGIN_NS + 40_000_000, ORIGIN_NS + 41_000_000]],
        REGIONS: [[4, 1, ORIGIN_NS + 1_000_000, ORIGIN_NS + 45_000_000]],
        ANCHORS: [[ORIGIN_NS, ORIGIN_NS + 5, 1_700_000_000 * 10**9, 60]],
    }  # fmt: skip


def _ended() -> r.ProcessEnded:
    return r.ProcessEnded(
        how="exit",
        ended_host_ns=ORIGIN_NS + 49_000_000,
        hook_calls=34,
        hook_ns=90_000,
        reader_cpu_ns=250_000,
        event_waits=1,
        event_wait_ns=30_000,
        unread_events_peak=31,
        commands_skipped=2,
        memory_peak_bytes=1 << 20,
        memory_peak_host_ns=ORIGIN_NS + 700,
    )
