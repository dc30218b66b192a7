"""A recording that stopped before its program is never complete, and says what it lacks."""

import csv
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cltrace
from cltrace.spool.stop_page import PAGE_BYTES, StopReport, decode_stop, encode_stop
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

LAUNCHES = 40_000
MAX_RUNS_WITHOUT_MEMORY = 20
FORK = """
import os, sys
import pyopencl as cl
os.setgid(65534); os.setuid(65534)
child = os.fork()
if child == 0:
    try:
        cl.create_some_context(interactive=False)
    except cl.Error:
        pass
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
PROGRAM = """
import glob, os, resource, shutil, signal, sys, time
import numpy as np, pyopencl as cl
how, count = sys.argv[1], int(sys.argv[2])
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = "kernel void tick(global int *a) { a[0]++; } kernel void idle() { }"
has_arguments = not how.endswith("-bare")
kernel = cl.Kernel(cl.Program(context, source).build(), "tick" if has_arguments else "idle")
arguments = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)] if has_arguments else []

def enqueue():
    try:
        kernel(queue, (1,), None, *arguments)
    except (MemoryError, RuntimeError):  # the driver, or Python for a lock, found none before cltrace did
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        print("failed")
        kernel(queue, (1,), None, *arguments)

def launch(count):
    for number in range(count):
        enqueue()
        if number % 500 == 0:
            queue.finish()
    queue.finish()

def drop_rights():
    os.setgid(65534); os.setuid(65534)

def cut(pattern):
    path, = glob.glob(pattern)
    while not os.path.getsize(path): time.sleep(0.01)
    os.truncate(path, 0)

launch(1)
{
    "limit": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    "no-file": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    "setuid": drop_rights,
    "chroot": lambda: os.chroot("/tmp"),
    "removed": lambda: [shutil.rmtree(place) for place in glob.glob("*.parts/*-*/")],
    "cut": lambda: cut("*.parts/*-*/launches.rows"),
    "memory": lambda: resource.setrlimit(resource.RLIMIT_AS, (1, -1)),
}.get(how.removesuffix("-bare"), lambda: None)()
launch(count - 1)
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
print(count)
"""
"""Launches a kernel so many times in all; behind the first, it does what ends a recording."""

layers = pytest.mark.parametrize("layer", ["auto", "off"])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with space for a part of the recording. Only root can mount it."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def record(run: Runner, tmp_path: Path) -> Callable[..., Path]:
    """Record the program, and return the path of its trace."""

    def recorder(how: str, layer: str, status: int = 0, count: int = LAUNCHES) -> Path:
        path = tmp_path / "t.cltrace"
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        done = run("run", "-q", "--layer", layer, "-o", path, program, how, str(count))
        assert done.status == status, done.stderr
        assert "internal error" not in done.stderr
        return path

    return recorder


def check_is_told(path: Path, run: Runner, reason: str, missing: int | None = None) -> int:
    """Check that each verb says that the trace lacks commands. Return the number of missing ones."""
    with cltrace.load(path) as trace:
        assert trace.meta["state"] == "incomplete"
        count = trace.meta_int("commands_missing")
        recorded = trace.rows("SELECT count(*) FROM v_command")[0][0]
    assert count is not None
    assert missing in {None, count}
    info = run("query", path, "SELECT message FROM v_diagnostic", "--format", "csv").stdout
    stop_rows = [row for row in csv.reader(info.splitlines()) if "recording stopped" in row[0]]
    assert any(reason in row[0] for row in stop_rows), info
    for verb in ("info", "summary"):
        shown = run(verb, path).stdout
        assert "incomplete" in shown
        assert "paused" not in shown
        if count:
            assert f"{count:,}".replace(",", " ") in shown.replace("\u202f", " "), shown
    check = run("check", path, path)
    assert (check.status, check.stdout) == (3, "")
    assert reason in check.stderr
    return int(count + recorded)


@layers
def test_a_full_disk(layer: str, disk: Path, run: Runner, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = ("-q", "--layer", layer, "-o", disk / "t.cltrace", program, "full", str(LAUNCHES))
    done = run("run", *words)
    assert (done.status, done.stdout) == (0, f"{LAUNCHES}\n"), done.stderr
    shutil.copytree(disk / "t.cltrace.parts", tmp_path / "t.cltrace.parts")
    recovered = run("recover", "t.cltrace", "--keep-parts")
    assert recovered.status == 0
    assert "No space left on device" in recovered.stderr
    assert "missing" in recovered.stderr
    path = tmp_path / "t.cltrace"
    assert check_is_told(path, run, "No space left on device") == LAUNCHES
    (tmp_path / "two").mkdir()
    other = shutil.copy(path, tmp_path / "two" / "t.cltrace")
    assert run("merge", path, other, "-o", "both.cltrace").status == 0
    with cltrace.load(path) as single, cltrace.load(tmp_path / "both.cltrace") as both:
        assert both.meta["state"] == "incomplete"
        assert both.meta_int("commands_missing") == 2 * (single.meta_int("commands_missing") or 0)


@layers
@pytest.mark.parametrize(("how", "count"), [("limit", LAUNCHES), ("no-file", 50)])
def test_a_limit_of_file_size(
    how: str, count: int, layer: str, record: Callable[..., Path], run: Runner
) -> None:
    path = record(how, layer, count=count)
    assert check_is_told(path, run, "File too large") == count


def test_no_memory(run: Runner, tmp_path: Path) -> None:
    path, program = tmp_path / "t.cltrace", tmp_path / "program.py"
    program.write_text(PROGRAM)
    for _ in range(MAX_RUNS_WITHOUT_MEMORY):
        done = run("run", "-q", "-f", "-o", path, program, "memory", str(LAUNCHES))
        assert done.status == 0, done.stderr
        failed = done.stdout.splitlines().count("failed")
        with cltrace.load(path) as trace:
            total = trace.rows("SELECT count(*) FROM v_command")[0][0]
            is_stopped = trace.meta["state"] == "incomplete"
            messages = "".join(row[0] for row in trace.rows("SELECT message FROM v_diagnostic"))
        lacks_rows = "no memory to write rows" in messages
        if is_stopped:
            need = "to write rows" if lacks_rows else "for unread events"
            total = check_is_told(path, run, f"no memory {need}")
        assert LAUNCHES <= total <= LAUNCHES + failed
        if lacks_rows:
            return
        assert is_stopped or failed  # the driver was without memory first: the limit is taken away
    pytest.fail("cltrace had memory for its rows each time")


@layers
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("removed", "its part of the recording was removed"),
        ("cut", "files of its recording were cut off"),
    ],
)
def test_a_recording_that_the_program_removes(
    how: str, reason: str, layer: str, record: Callable[..., Path], run: Runner
) -> None:
    path = record(how, layer, count=50)
    with cltrace.load(path) as trace:
        assert (trace.meta["state"], trace.meta["commands_missing"]) == ("incomplete", None)
    assert "incomplete" in run("summary", path).stdout
    check = run("check", path, path)
    assert (check.status, check.stdout) == (3, "")
    assert reason in check.stderr


@layers
def test_parts_that_the_program_renames(layer: str, run: Runner, tmp_path: Path) -> None:
    rename = "os.rename('t.cltrace.parts', 'u.cltrace.parts')"
    program = f"import os, pyopencl as cl; cl.get_platforms(); {rename}"
    done = run("run", "-q", "--layer", layer, "-o", "t.cltrace", "-c", program)
    assert done.status == 0
    assert "was removed or renamed while the command ran" in done.stderr
    assert "recover" not in done.stderr
    assert not (tmp_path / "t.cltrace").exists()
    assert run("recover", "u.cltrace").status == 0


@layers
@pytest.mark.parametrize("how", ["setuid", "setuid-bare", "chroot"])
def test_lost_rights_cost_nothing_that_was_begun(
    how: str, layer: str, record: Callable[..., Path], run: Runner
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can drop rights")
    path = record(how, layer, count=3_000)
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_command") == [(3_000,)]
        assert (trace.meta["state"], trace.meta_int("commands_missing")) == ("complete", 0)
    assert run("check", path, path).status == 0


@layers
def test_a_fork_that_cannot_be_recorded(layer: str, run: Runner, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can drop rights")
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "--layer", layer, "-o", path, "-c", FORK, seconds=60)
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        assert trace.meta["state"] == "incomplete"
        messages = [text for (text,) in trace.rows("SELECT message FROM v_diagnostic")]
    assert any("1 fork of it could not be recorded" in text for text in messages), messages
    assert run("check", path, path).status == 3


@layers
def test_what_was_paused_is_not_missing(layer: str, run: Runner, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ("-o", "t.cltrace", "--layer", layer, "--start-paused", "program.py", "none", "50")
    done = run("run", *words)
    assert done.status == 0
    assert "50 commands were enqueued while recording was paused" in done.stderr
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert (trace.meta["state"], trace.meta_int("commands_missing")) == ("complete", 0)
    excluded = ("--layer", layer, "--exclude-kernel", "t*", "program.py", "none", "9")
    assert run("run", "-f", "-o", "t.cltrace", *excluded).status == 0
    shown = run("summary", "t.cltrace").stdout
    assert "enqueued while recording was paused" not in shown


@layers
def test_what_a_killed_process_lacks_is_unknown(
    layer: str, record: Callable[..., Path], run: Runner, tmp_path: Path
) -> None:
    path = record("kill", layer, status=-9, count=50)
    with cltrace.load(path) as trace:
        assert (trace.meta["state"], trace.meta["commands_missing"]) == ("incomplete", None)
    for verb in ("info", "summary"):
        shown = " ".join(run(verb, path).stdout.split())
        assert f"up to its last {'150' if layer == 'off' else '20'} ms may be missing" in shown
    (tmp_path / "two").mkdir()
    other = shutil.copy(path, tmp_path / "two" / "t.cltrace")
    assert run("merge", path, other, "-o", "both.cltrace").status == 0
    with cltrace.load(tmp_path / "both.cltrace") as both:
        assert both.meta["commands_missing"] is None


def test_a_benchmark_takes_no_sample_of_a_part(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("bench", "--pairs", "3", "-o", "s.json", "--", "program.py", "limit", str(LAUNCHES))
    assert done.status == 4, done.stderr
    assert "recording stopped" in done.stderr


def test_pages_tell_what_was_written() -> None:
    report = StopReport(5, 7, 2, "Öl" * 400)
    page = encode_stop(report)
    assert len(page) == PAGE_BYTES
    read = decode_stop(page)
    assert (read.stopped_host_ns, read.missing, read.unrecorded_forks) == (5, 7, 2)
    assert read.reason[:-1] == report.reason[: len(read.reason) - 1]
    assert decode_stop(encode_stop(StopReport())) == StopReport()
    assert decode_stop(b"").stopped_host_ns
    assert decode_stop(b"\xff" * PAGE_BYTES).missing == 0


REPLACED = """
import threading, numpy, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
original, main, drained = numpy.fromiter, threading.current_thread(), threading.Event()
class Interrupt(BaseException): pass
def replaced(*words, **options):
    makes_rows = len(words) == 3  # and reads no stamps
    if not makes_rows or ("DRAINS" == "here" and threading.current_thread() is not main):
        return original(*words, **options)
    drained.set()
    raise Interrupt if "DRAINS" == "here" else RuntimeError("mine")
launches = 0
def launch():
    global launches
    launches += 1
    kernel(queue, (1,), None)
numpy.fromiter = replaced
try:
    for _ in range(1000):  # cltrace's own thread may have written them before
        for _ in range(30): launch()
        queue.finish()
        if "DRAINS" == "here": queue.reference_count
        else: break
    drained.wait(60)
except Interrupt:
    pass
numpy.fromiter = original
for _ in range(7): launch()
queue.finish()
print(launches)
"""
"""A program that interrupts the drain: in its own thread, as a signal handler does, or in cltrace's."""


@pytest.mark.parametrize("drains", ["here", "in the thread"])
def test_rows_of_an_interrupted_drain_are_counted(drains: str, run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    program = REPLACED.replace("DRAINS", drains)
    done = run("run", "-q", "--layer", "off", "-o", path, "-c", program)
    assert done.status == 0, done.stderr
    assert "Traceback" not in done.stderr
    with cltrace.load(path) as trace:
        recorded = trace.rows("SELECT count(*) FROM v_command")[0][0]
        missing = trace.meta_int("commands_missing") or 0
        assert recorded + missing == int(done.stdout)
        assert missing
        assert trace.meta["state"] == "incomplete"


BROKEN_ROWS = """
import time, numpy, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
def replaced(*words, **options): raise MemoryError
original, numpy.fromiter = numpy.fromiter, replaced
for _ in range(30): kernel(queue, (1,), None)
cl.enqueue_barrier(queue)
queue.finish()
time.sleep(0.3)
numpy.fromiter = original
for _ in range(7): kernel(queue, (1,), None)
queue.finish()
"""


def test_rows_that_cannot_be_made_are_counted(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "--layer", "off", "-o", path, "-c", BROKEN_ROWS)
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        recorded = trace.rows("SELECT count(*) FROM v_command")[0][0]
        missing = trace.meta_int("commands_missing") or 0
    assert missing
    assert recorded + missing == 38


BROKEN_JSON = """
import json
json.dumps = lambda *words, **options: 1 / 0
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
cl.enqueue_barrier(queue).wait()
print("here")
"""


def test_a_recording_that_did_not_start_is_not_complete(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "--layer", "off", "-o", path, "-c", BROKEN_JSON)
    assert (done.status, done.stdout) == (0, "here\n"), done.stderr
    assert "tracing did not start: ZeroDivisionError" in done.stderr
    assert "imported pyopencl" not in done.stderr
    with cltrace.load(path) as trace:
        assert (trace.meta["state"], trace.meta["commands_missing"]) == ("incomplete", None)
    assert run("check", path, path).status == 3
