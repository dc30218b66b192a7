"""What the flags of `run` record, leave out, and when."""

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.trace.reader import Trace
from tests.conftest import PROGRAMS, Runner
from tests.patience import HANG_S, holds_at_some_pace

pytestmark = pytest.mark.opencl

Traced = Callable[..., Trace]

HEAD = """
import sys, time
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void red(global int *a) { a[get_global_id(0)]++; }
kernel void green(global int *a, int n, local float *t, float x) { a[get_global_id(0)] += n; }
kernel void greenish(global int *a) { a[get_global_id(0)] *= 2; }
''').build()
flags = cl.mem_flags
memory = cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=np.arange(64, dtype=np.int32))
red, green, greenish = program.red, program.green, program.greenish
"""
THREE = (
    HEAD
    + """
red(queue, (64,), None, memory)
green(queue, (64,), (8,), memory, np.int32(5), cl.LocalMemory(32), np.float32(-0.0))
greenish(queue, (64,), None, memory)
queue.finish()
"""
)


def kernels(trace: Trace) -> Counter[str]:
    """Launches by kernel."""
    sql = "SELECT kernel, count(*) FROM v_command WHERE kind = 'kernel' GROUP BY kernel"
    return Counter(dict(trace.rows(sql)))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], {"red": 1, "green": 1, "greenish": 1}),
        (["--include-kernel", "green*"], {"green": 1, "greenish": 1}),
        (["--include-kernel", "red", "--include-kernel", "green"], {"red": 1, "green": 1}),
        (["--exclude-kernel", "green*"], {"red": 1}),
        (["--exclude-kernel", "red", "--exclude-kernel", "greenish"], {"green": 1}),
        (["--include-kernel", "green*", "--exclude-kernel", "green"], {"greenish": 1}),
    ],
)
def test_chooses_kernels(flags: list[str], expected: dict[str, int], traced: Traced) -> None:
    assert kernels(traced(THREE, flags=flags, code=True)) == expected


@pytest.mark.parametrize("timing", ["event", "callback", "sync"])
def test_times_commands_by_three_methods(timing: str, traced: Traced) -> None:
    trace = traced(THREE, flags=["--timing", timing], code=True)
    rows = trace.rows(
        "SELECT start_device_ns, complete_host_ns, enter_host_ns, duration_ns FROM v_command "
        "WHERE kind = 'kernel'"
    )
    assert len(rows) == 3
    for start_ns, complete_ns, enter_ns, duration_ns in rows:
        if timing == "event":
            assert start_ns is not None
            assert complete_ns is None
        else:
            assert start_ns is None
            assert complete_ns > enter_ns
        assert duration_ns > 0
    forced = trace.rows("SELECT max(profiling_forced) FROM v_queue")[0][0]
    assert forced == (1 if timing == "event" else 0)


def test_sync_waits_before_the_call_returns(traced: Traced) -> None:
    slow = HEAD + "red(queue, (1 << 22,), None, cl.Buffer(context, 0, 4 << 22)); queue.finish()"
    row = traced(slow, flags=["--timing", "sync"], code=True).rows(
        "SELECT c.complete_host_ns, min(w.enter_host_ns) FROM v_command c, v_api_call w "
        "WHERE c.kind = 'kernel' AND w.api = 'clFinish'"
    )[0]
    assert row[0] <= row[1]


def test_a_callback_of_a_command_that_runs_is_waited_for(traced: Traced) -> None:
    """Its thread would ask for the interpreter while that ends, which aborts the process."""
    code = HEAD + (
        "text = '''kernel void chain(global uint *a, uint n) {\n"
        "    uint x = a[0];\n"
        "    for (uint i = 0; i < n; i++) x = x * 1664525u + (x >> 3);\n"
        "    a[0] = x; }'''\n"
        "chain = cl.Kernel(cl.Program(context, text).build(), 'chain')\n"
        "chain(queue, (1,), None, memory, np.uint32(1_000_000_000))\n"
        "queue.flush()\n"
    )
    trace = traced(code, flags=["--timing", "callback"], code=True)
    assert trace.rows("SELECT count(*), count(complete_host_ns) FROM command") == [(1, 1)]


@pytest.mark.parametrize("timing", ["event", "callback", "sync"])
def test_never_waits_for_what_only_the_program_can_do(timing: str, traced: Traced) -> None:
    code = HEAD + (
        "held = cl.UserEvent(context)\n"
        "first = red(queue, (64,), None, memory, wait_for=[held])\n"
        "for _ in range(600): red(queue, (64,), None, memory)\n"
        "held.set_status(cl.command_execution_status.COMPLETE)\n"
        "queue.finish(); green(queue, (64,), None, memory, np.int32(1), cl.LocalMemory(8), "
        "np.float32(1)); queue.finish()\n"
    )
    trace = traced(code, flags=["--timing", timing], code=True)
    assert kernels(trace) == {"red": 601, "green": 1}
    assert trace.rows("SELECT duration_ns > 0 FROM v_command WHERE kernel = 'green'") == [(1,)]
    took_ns = trace.rows("SELECT max(return_host_ns) - min(enter_host_ns) FROM v_command")[0][0]
    assert took_ns < 15e9


def test_leaves_queues_alone_when_told_to(traced: Traced) -> None:
    trace = traced(THREE, flags=["--no-force-profiling"], code=True)
    assert trace.rows("SELECT profiling, profiling_forced FROM v_queue") == [(0, 0)]
    rows = trace.rows("SELECT start_device_ns, duration_ns FROM v_command WHERE kind = 'kernel'")
    assert rows == [(None, None)] * 3


@pytest.mark.parametrize("producer", ["on", "off"])
def test_records_arguments_and_source(traced: Traced, producer: str) -> None:
    trace = traced(THREE, flags=["--layer", producer], code=True)
    rows = trace.rows(
        "SELECT a.kind, a.size_bytes, a.dtype, a.value FROM v_launch_arg a "
        "JOIN v_launch l ON l.launch_id = a.launch_id WHERE l.kernel = 'green' ORDER BY position"
    )
    assert [row[0] for row in rows] == ["buffer", "scalar", "local", "scalar"]
    # Without hooks, types are known only where the driver keeps the declarations of parameters.
    int_type, float_type = ("<i4", "<f4") if producer == "off" else (rows[1][2], rows[3][2])
    assert rows[1][1:] == (4, int_type, (5).to_bytes(4, "little"))
    assert rows[2][1] == 32
    assert rows[3][1:] == (4, float_type, b"\x00\x00\x00\x80")
    source, size = trace.rows("SELECT p.source, b.size_bytes FROM v_program p, v_buffer b LIMIT 1")[
        0
    ]
    assert "kernel void greenish" in source
    assert size == 256
    sizes = trace.rows("SELECT global_size, local_size FROM v_launch WHERE kernel = 'green'")
    assert sizes == [("[64]", "[8]")]


def test_redaction_reaches_every_byte_of_the_file(run: Runner, tmp_path: Path) -> None:
    code = THREE.replace("n, local", "n /* SECRETSOURCE */, local").replace(
        "np.int32(5)", "np.int32(0x5EC2E7A5 - 2**31)"
    )
    secret = (0x5EC2E7A5 - 2**31).to_bytes(4, "little", signed=True)
    flags = ("--no-source", "--no-args", "--no-env")
    for name, chosen in (("open", ()), ("closed", flags)):
        done = run(
            *("run", "-q", "-o", f"{name}.cltrace", *chosen, "-c", code, "SECRETWORD"),
            env={"POCL_SECRET": "SECRETVALUE", "OMP_SECRET": "1", "UNRELATED": "SECRETVALUE"},
        )
        assert done.status == 0, done.stderr
    opened = (tmp_path / "open.cltrace").read_bytes()
    closed = (tmp_path / "closed.cltrace").read_bytes()
    for mark in (b"SECRETSOURCE", b"SECRETWORD", secret):
        assert mark in opened
        assert mark not in closed
    assert b"UNRELATED" not in opened
    with cltrace.load(tmp_path / "closed.cltrace") as trace:
        what = [row[0] for row in trace.rows("SELECT DISTINCT what FROM v_redaction ORDER BY 1")]
        assert what == ["arguments", "environment", "source"]
        assert kernels(trace) == {"red": 1, "green": 1, "greenish": 1}


def test_keeps_as_many_frames_as_asked(traced: Traced) -> None:
    code = HEAD + (
        "def inner():\n    red(queue, (64,), None, memory)\n"
        "def outer():\n    inner()\nouter()\nouter()\nqueue.finish()\n"
    )
    chains = {}
    for depth in (0, 1, 2, 9):
        trace = traced(code, flags=["--callsite-depth", str(depth)], code=True)
        sites = trace.rows("SELECT site_id, function, outer_site_id FROM v_site")
        outer_of = {site: (function, outer) for site, function, outer in sites}
        site = trace.rows("SELECT DISTINCT site FROM v_command WHERE kernel = 'red'")
        found = []
        for start, function, _ in sites:
            if function == "inner":
                at: int | None = start
                names = []
                while at:
                    name, at = outer_of[at]
                    names.append(name)
                found.append(names)
        chains[depth] = sorted(found)
        assert (site == [(None,)]) == (depth == 0)
    assert chains[0] == []
    assert chains[1] == [["inner"]]
    assert chains[2] == [["inner", "outer"]]
    assert chains[9] == [["inner", "outer", "<module>"]] * 2


def test_starts_and_stops_when_told(traced: Traced) -> None:
    holds_at_some_pace(lambda pace: starts_and_stops(traced, pace))


def starts_and_stops(traced: Traced, pace: float) -> None:
    paced = HEAD + (
        "begin = time.monotonic()\n"
        f"while time.monotonic() - begin < {1.5 * pace}:\n"
        "    red(queue, (64,), None, memory); time.sleep(0.005)\n"
        "queue.finish()\n"
    )
    delay, duration = ["--delay", f"{0.8 * pace}"], ["--duration", f"{0.4 * pace}"]
    whole = traced(paced, code=True)
    late = traced(paced, flags=["--delay", f"{pace}"], code=True)
    short = traced(paced, flags=[*delay, *duration], code=True)
    for trace, first, last in (
        (whole, 0.0, HANG_S),
        (late, 0.9 * pace, HANG_S),
        (short, 0.7 * pace, 1.4 * pace),
    ):
        count, early_ns, final_ns = trace.rows(
            "SELECT count(*), min(enter_host_ns), max(enter_host_ns) FROM v_command "
            "WHERE kernel = 'red'"
        )[0]
        origin = trace.meta_int("origin_host_ns") or 0
        assert count > 0
        assert first <= (early_ns - origin) / 1e9
        assert (final_ns - origin) / 1e9 <= last
    skipped = short.rows("SELECT commands_skipped FROM v_process")[0][0]
    assert skipped + kernels(short)["red"] + 1 >= kernels(whole)["red"] / 2


def test_waits_for_the_program_when_started_paused(traced: Traced) -> None:
    code = HEAD + (
        "import cltrace\n"
        "red(queue, (64,), None, memory)\n"
        "cltrace.resume(); green(queue, (64,), None, memory, np.int32(1), cl.LocalMemory(8), "
        "np.float32(1)); cltrace.pause()\n"
        "greenish(queue, (64,), None, memory); queue.finish()\n"
    )
    trace = traced(code, flags=["--start-paused"], code=True)
    assert kernels(trace) == {"green": 1}
    assert trace.rows("SELECT commands_skipped FROM v_process") == [(2,)]


def test_stops_near_the_limit_of_events(run: Runner, tmp_path: Path) -> None:
    code = HEAD + (
        "for _ in range(int(sys.argv[1])):\n"
        "    for _ in range(50): red(queue, (64,), None, memory)\n"
        "    queue.finish(); time.sleep(0.02)\n"
    )
    path = tmp_path / "t.cltrace"

    def stops(pace: float) -> None:
        rounds = int(40 * pace)
        words = ("--max-events", "300", "-c", code, str(rounds))
        assert run("run", "-f", "-o", path, *words).status == 0
        with cltrace.load(path) as trace:
            assert 300 <= kernels(trace)["red"] < 50 * rounds * 3 / 4

    holds_at_some_pace(stops)
    with cltrace.load(path) as trace:
        codes = [row[0] for row in trace.rows("SELECT code FROM v_diagnostic")]
        assert "limit-reached" in codes


def test_measures_the_surcharge_of_profiling(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    assert run("run", "-q", "-o", path, "--measure-overhead", PROGRAMS / "tick.py").status == 0
    facts = json.loads(run("summary", path, "--format", "json").stdout)["facts"]
    assert facts["hook_ns"] > 0
    assert "the driver's profiling" in run("summary", path, env={"COLUMNS": "200"}).stdout
    with cltrace.load(path) as trace:
        ((launches, plain_ns, profiling_ns),) = trace.rows(
            "SELECT launches, plain_ns, profiling_ns FROM v_surcharge"
        )
        assert launches > 0
        assert plain_ns > 0
        assert profiling_ns > 0
        assert kernels(trace) == {"tick": 3}


def test_captures_what_the_host_wrote(traced: Traced) -> None:
    code = HEAD + (
        "other = cl.Buffer(context, flags.READ_WRITE, 1 << 20)\n"
        "cl.enqueue_copy(queue, other, np.full(1 << 18, 7, np.int32))\n"
        "red(queue, (64,), None, memory); greenish(queue, (64,), None, other); queue.finish()\n"
    )
    hooks = ["--layer", "off"]
    plain = traced(code, flags=hooks, code=True)
    assert plain.rows("SELECT count(*) FROM v_content") == [(0,)]
    trace = traced(code, flags=[*hooks, "--capture-buffers", "4"], code=True)
    rows = trace.rows(
        "SELECT l.kernel, c.size_bytes, c.deflated FROM v_content c "
        "JOIN v_launch l ON l.launch_id = c.launch_id ORDER BY 1 DESC"
    )
    assert [row[:2] for row in rows] == [("red", 256), ("greenish", 1 << 20)]
    assert zlib.decompress(rows[0][2]) == np.arange(64, dtype="<i4").tobytes()
    assert zlib.decompress(rows[1][2]) == b"\7\0\0\0" * (1 << 18)
    small = traced(code, flags=[*hooks, "--capture-buffers", "0"], code=True)
    assert small.rows("SELECT count(*) FROM v_content") == [(0,)]


def test_captured_contents_leave_room_for_small_buffers(traced: Traced) -> None:
    code = HEAD + (
        "ends = cl.Buffer(context, flags.READ_WRITE, 4096)\n"
        "cl.enqueue_copy(queue, ends, np.full(1 << 10, 7, np.int32))\n"
        "for _ in range(5):\n"
        "    other = cl.Buffer(context, flags.READ_WRITE, 1 << 20)\n"
        "    cl.enqueue_copy(queue, other, np.full(1 << 18, _, np.int32))\n"
        "    greenish(queue, (64,), None, other)\n"
        "red(queue, (64,), None, ends); queue.finish()\n"
    )
    trace = traced(code, flags=["--layer", "off", "--capture-buffers", "2"], code=True)
    sizes = dict(
        trace.rows(
            "SELECT l.kernel, max(c.size_bytes) FROM v_content c "
            "JOIN v_launch l ON l.launch_id = c.launch_id GROUP BY 1"
        )
    )
    assert sizes == {"red": 4096, "greenish": 1 << 20}
    noted = trace.rows("SELECT message FROM v_diagnostic WHERE code = 'contents-not-captured'")
    assert noted == [
        (
            "not all contents of buffers are recorded: 1024 KiB were the first beyond "
            "--capture-buffers 2",
        )
    ]


def test_what_launches_have_stored_may_make_way(traced: Traced) -> None:
    code = HEAD + (
        "for _ in range(6):\n"
        "    other = cl.Buffer(context, flags.READ_WRITE, 1 << 20)\n"
        "    cl.enqueue_copy(queue, other, np.full(1 << 18, 7, np.int32))\n"
        "    greenish(queue, (64,), None, other)\n"
        "queue.finish()\n"
    )
    trace = traced(code, flags=["--layer", "off", "--capture-buffers", "2"], code=True)
    assert trace.rows("SELECT count(*) FROM v_content") == [(6,)]
    assert not trace.rows("SELECT 1 FROM v_diagnostic WHERE code = 'contents-not-captured'")


def test_the_file_opens_with_other_tools(traced: Traced) -> None:
    trace = traced(THREE, code=True)
    with sqlite3.connect(trace.path) as database:
        found = database.execute("SELECT count(*) FROM v_command WHERE kernel = 'red'").fetchone()
    database.close()
    assert found == (1,)
