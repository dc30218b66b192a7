"""A recording made up by hand: two processes, every kind of record and row, no OpenCL needed.

The numbers are round so that tests can say what a reader must find. `text` is applied to every text
that a traced program chooses.
"""

import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

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
)
from cltrace.spool.layout import (
    ProcessIdentity,
    create_process_directory,
    parts_directory,
    power_directory,
)
from cltrace.spool.settings import (
    Outcome,
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
        command, text("/srv/heat"), text("node1"), 0, ORIGIN_NS, 1_700_000_000 * 10**9, "0.1.0",
        Settings(),
    )  # fmt: skip
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
        write_outcome(parts, Outcome(0, None, ORIGIN_NS + 50_000_000))
    return parts


def _records(rank: int, text: Text, writer: SpoolWriter) -> list[r.Record]:
    stored = zlib.compress(SENT)
    position = writer.content(stored)
    digest = hashlib.sha256(SENT).hexdigest()
    scalar = r.Argument(ArgumentKind.SCALAR, 0, 4, "<f4", "0000003f", "", 0)
    return [
        r.ProcessStarted(
            4_100_000 + rank, 4_099_999, text("node1"), rank,
            (text("heat.py"), text("--size")), text("/srv/heat"), text("/opt/python/bin/python3"),
            "3.11.7", "2026.1.4", ORIGIN_NS, ((text("OMP_NUM_THREADS"), text("4")),),
        ),
        r.Thread(1, 4_100_000 + rank, text("MainThread")),
        *_texts(text),
        r.Site(1, text("/srv/heat/heat.py"), 10, text("main"), 0),
        r.Site(2, text("/srv/heat/heat.py"), 42, text("step"), 1),
        *_devices(text),
        r.Context(1, (1, 2)),
        r.Queue(1, 0x1000, 0, True, True, ORIGIN_NS + 100, 1, 1),
        r.Queue(2, 0x2000, 1, False, False, ORIGIN_NS + 200, 1, 2),
        *_programs(text),
        r.Kernel(1, text("scale"), 2, 1),
        r.WorkGroupInfo(256, 8, 0, 16, 1, 1),
        r.Launch(
            1, (1024,), (64,), (), True,
            (r.Argument(ArgumentKind.BUFFER, 16, 0, "", "", "", 1), scalar), 1,
        ),
        r.Launch(
            2, (32, 32), (), (1, 1), True,
            (
                r.Argument(ArgumentKind.LOCAL, 0, 256, "", "", "", 0),
                r.Argument(ArgumentKind.UNKNOWN, 0, 0, "", "", text("<object>"), 0),
            ),
            1,
        ),
        r.Content(digest, position, len(stored), len(SENT), ORIGIN_NS + 500, 1, 1),
        r.Surcharge(2000, 1500.0, 2100.5, 1),
        r.Diagnostic(Severity.NOTE, "a-code", text("something to know"), ORIGIN_NS + 600),
        r.Redaction("environment"),
    ]  # fmt: skip


def _write_power(parts: Path, text: Text) -> None:
    """A meter that reads 40 W every 2 ms, and a counter of mJ beside it that begins anew after 1 kJ."""
    directory = power_directory(parts)
    directory.mkdir()
    writer = SpoolWriter(directory)
    words = (text("node1"), "exec:meter:a", "exec", text("a meter"))
    belongs = ("", text("0000:01:00.0"))
    writer.records(
        [
            PowerChannel(
                1, *words, "power", "gpu", *belongs, 0.001, None, 0.001, 0.002, 0.002, 0.001, 0.0005,
                0.02, False, text("made up"),
            ),
            PowerChannel(
                2, words[0], "exec:meter:b", *words[2:], "energy", "gpu", *belongs, 0.001, 1_000_000,
                0.001, 0.01, None, None, None, None, True, "",
            ),
            PowerProbe(
                text("node1"), "exec", "ok", text("a meter"), text("nothing"), text("none"), "",
            ),
        ]
    )  # fmt: skip
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


def _texts(text: Text) -> list[r.Record]:
    return [
        r.Text(1, text(SOURCE)),
        r.Text(2, text("warning: unused variable")),
        r.Text(3, text("#define BY 2")),
        r.Text(4, text("assembly")),
    ]


def _devices(text: Text) -> list[r.Record]:
    return [
        r.Platform(1, text("Portable Computing Language"), text("The pocl project"), "OpenCL 3.0"),
        r.Device(
            1, text("pthread-device"), text("vendor"), "OpenCL 3.0", text("5.0"), "CPU", 8, 3000,
            2**34, 2**15, 1024, 1, None, None, text("cl_khr_fp64"), 1, 0,
        ),
        r.Device(
            2, text("part of it"), text("vendor"), "OpenCL 3.0", text("5.0"), "CPU", None, None,
            None, None, None, None, text("0000:01:00.0"), "00", "", 1, 1,
        ),
    ]  # fmt: skip


def _programs(text: Text) -> list[r.Record]:
    return [
        r.Program(1, ProgramOrigin.SOURCE, ORIGIN_NS + 300, 0, 1, 1, ()),
        r.Program(2, ProgramOrigin.LINKED, ORIGIN_NS + 400, 640, 1, 0, (1,)),
        r.Include(text("by.h"), 1, 3),
        r.Build(
            Api.clBuildProgram, text("-DX=1"), 0, ORIGIN_NS + 1000, ORIGIN_NS + 9_000_000, 1, 1, 2
        ),
        r.Build(Api.clBuildProgram, text("-DX=?"), -11, ORIGIN_NS, ORIGIN_NS + 10, 1, 2, 0),
    ]  # fmt: skip


def _launches() -> tuple[list[list[int]], list[list[int]]]:
    launches, stamps = [], []
    for number in range(LAUNCHES_EACH):
        enter = ORIGIN_NS + 10_000_000 + 1_000_000 * number
        launches.append([enter, enter + 5_000, 1 + number % 2, 0x9000 + number])
        queued = enter + 2_000
        start = queued + (5_000_000 if number < 2 else 20_000)
        stamps.append([2 * number, queued, queued + 1_000, start, start + 100_000, 0])
    return launches, stamps


def _rows() -> dict[RowTable, list[list[int]]]:
    launches, stamps = _launches()
    call = ORIGIN_NS + 5_000_000
    calls = [
        # A blocking write, a failing copy, a wait for the first launch, a fill without stamps, a copy.
        [call, call + 90_000, Api.clEnqueueWriteBuffer, 0, 1, 1, 0x1000, 0, 0, 0, 1, 4096, 0, 64, 1,
         0x8001],
        [call + 100_000, call + 101_000, Api.clEnqueueCopyBuffer, -30, 2, 1, 0x1000, 0, 0, 1, 2,
         4096, 0, 0, 0, 0],
        [call + 200_000, call + 300_000, Api.clWaitForEvents, 0, 1, 1, 0, 7, 0, 0, 0, -1, 0, 0, 0,
         0],
        [call + 400_000, call + 410_000, Api.clEnqueueFillBuffer, 0, 2, 1, 0x2000, 8, 0, 0, 2, 512,
         0, 0, 0, 0x8002],
        [call + 420_000, call + 430_000, Api.clEnqueueCopyBuffer, 0, 2, 1, 0x1000, 0, 0, 1, 2, 256,
         128, 64, 0, 0x8003],
    ]  # fmt: skip
    stamps.append([1, call + 1_000, call + 2_000, call + 10_000, call + 60_000, 0])
    # The last copy is submitted before it is queued.
    stamps.append([9, call + 425_000, call + 421_000, call + 440_000, call + 450_000, 0])
    return {
        CIRCUMSTANCES: [[1, 1, 2, 1, 0x1000], [2, 2, 2, 1, 0x1000]],
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
        "exit", ORIGIN_NS + 49_000_000, 34, 90_000, 250_000, 1, 30_000, 31, 2, 1 << 20,
        ORIGIN_NS + 700,
    )  # fmt: skip
