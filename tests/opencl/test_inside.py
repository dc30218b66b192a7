"""Tracing from inside a program: `cltrace.trace`, `start` and `stop`, regions, the notebook magic."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.errors import RefusedError, TracingError
from tests.conftest import Runner

cl = pytest.importorskip("pyopencl")
pytestmark = pytest.mark.opencl


class Device:
    """A context, a queue, and a kernel that counts its launches on the device."""

    def __init__(self) -> None:
        self.context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
        self.queue = cl.CommandQueue(self.context)
        source = "kernel void tick(global int *a) { a[0]++; }"
        self.kernel = cl.Program(self.context, source).build().tick
        host = np.zeros(1, np.int32)
        self.memory = cl.Buffer(self.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=host)

    def launch(self, times: int) -> None:
        for _ in range(times):
            self.kernel(self.queue, (1,), None, self.memory)
        self.queue.finish()

    @property
    def launches(self) -> int:
        host = np.zeros(1, np.int32)
        cl.enqueue_copy(self.queue, host, self.memory)
        return int(host[0])


@pytest.fixture(scope="module")
def device() -> Device:
    made = Device()
    made.launch(1)
    return made


def ticks(path: Path) -> int:
    with cltrace.load(path) as trace:
        return int(trace.rows("SELECT count(*) FROM v_command WHERE kernel = 'tick'")[0][0])


def test_traces_what_a_block_does(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    device.launch(2)
    with cltrace.trace(path):
        device.launch(5)
        fresh = Device()
        fresh.launch(7)
    device.launch(3)
    assert fresh.launches == 7
    with cltrace.load(path) as trace:
        kernels = trace["v_command"].query("kind == 'kernel'")
        assert Counter(kernels["kernel"]) == {"tick": 12}
        # The queue of `device` is older than the tracing, so it has no profiling.
        assert Counter(kernels["start_device_ns"].notna()) == {True: 7, False: 5}
        assert trace.rows("SELECT ended_how FROM v_process") == [("stop",)]
        assert set(trace.view_names) >= {"v_command", "v_api_call", "v_buffer", "v_rollup"}
    assert not list(tmp_path.glob("*.parts"))


def test_an_exception_leaves_the_block_and_the_trace_is_there(
    device: Device, tmp_path: Path
) -> None:
    path = tmp_path / "t.cltrace"

    def fail() -> None:
        with cltrace.trace(path):
            device.launch(4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert ticks(path) == 4


def test_start_and_stop(device: Device, tmp_path: Path) -> None:
    cltrace.start(tmp_path / "a.cltrace")
    device.launch(1)
    with pytest.raises(TracingError, match="was begun already"):
        cltrace.start(tmp_path / "b.cltrace")
    device.launch(1)
    assert cltrace.stop() == tmp_path / "a.cltrace"
    with pytest.raises(TracingError, match="no tracing"):
        cltrace.stop()
    cltrace.start(tmp_path / "b.cltrace")
    device.launch(6)
    cltrace.stop()
    assert [ticks(tmp_path / "a.cltrace"), ticks(tmp_path / "b.cltrace")] == [2, 6]


def test_refuses_to_overwrite_unless_told(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    with cltrace.trace(path):
        device.launch(1)
    before = path.read_bytes()
    with pytest.raises(RefusedError, match="exists already"), cltrace.trace(path):
        pytest.fail("the block must not run")
    assert path.read_bytes() == before
    with cltrace.trace(path, force=True):
        device.launch(2)
    assert ticks(path) == 2


def test_a_place_that_cannot_be_written_is_refused_before_the_block(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be made"), cltrace.trace(tmp_path / "no" / "t"):
        pytest.fail("the block must not run")


def test_pause_and_resume(device: Device, tmp_path: Path) -> None:
    cltrace.pause()
    cltrace.resume()
    with cltrace.trace(tmp_path / "t.cltrace"):
        device.launch(1)
        cltrace.pause()
        device.launch(10)
        cltrace.resume()
        device.launch(2)
    assert ticks(tmp_path / "t.cltrace") == 3


def test_regions(device: Device, tmp_path: Path) -> None:
    @cltrace.region("decorated")
    def work(depth: int) -> int:
        """Its own words."""
        return depth and work(depth - 1)

    assert work.__name__ == "work"
    assert work.__doc__ == "Its own words."
    with cltrace.region("untraced"):
        work(1)
    with cltrace.trace(tmp_path / "t.cltrace"):
        with cltrace.region("outer"), cltrace.region("inner"):
            device.launch(1)
        work(2)
        with pytest.raises(KeyError), cltrace.region("fails"):
            raise KeyError
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        rows = trace.rows("SELECT name, enter_host_ns, leave_host_ns, duration_ns FROM v_region")
        assert Counter(row[0] for row in rows) == {
            "outer": 1, "inner": 1, "decorated": 3, "fails": 1,
        }  # fmt: skip
        spans = {row[0]: row[1:] for row in rows}
        launch = trace.rows("SELECT enter_host_ns, return_host_ns FROM v_command")[0]
        assert spans["outer"][0] <= spans["inner"][0] <= launch[0]
        assert launch[1] <= spans["inner"][1] <= spans["outer"][1]


def test_within_run_the_block_is_a_region(run: Runner, tmp_path: Path) -> None:
    code = (
        "import cltrace, numpy as np, pyopencl as cl\n"
        "context = cl.create_some_context(interactive=False)\n"
        "queue = cl.CommandQueue(context)\n"
        "kernel = cl.Program(context, 'kernel void tick(global int *a) {}').build().tick\n"
        "memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)\n"
        "with cltrace.trace('inner.cltrace'):\n"
        "    kernel(queue, (1,), None, memory)\n"
        "kernel(queue, (1,), None, memory)\n"
        "queue.finish()\n"
    )
    assert run("run", "-q", "-o", "outer.cltrace", "-c", code).status == 0
    assert not (tmp_path / "inner.cltrace").exists()
    with cltrace.load(tmp_path / "outer.cltrace") as trace:
        assert trace.rows("SELECT name FROM v_region") == [("trace inner.cltrace",)]
    assert ticks(tmp_path / "outer.cltrace") == 2


def test_a_fork_within_the_block_stays_out_of_the_trace(run: Runner, tmp_path: Path) -> None:
    code = (
        "import cltrace, os, pyopencl as cl\n"
        "context = cl.create_some_context(interactive=False)\n"
        "queue = cl.CommandQueue(context)\n"
        "with cltrace.trace('t.cltrace'):\n"
        "    cl.enqueue_marker(queue); queue.finish()\n"
        "    pid = os.fork()\n"
        "    if pid == 0: os._exit(5)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "    cl.enqueue_marker(queue); queue.finish()\n"
    )
    done = run("-c", code, command=[sys.executable])
    assert (done.status, done.stdout) == (0, "5\n"), done.stderr
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_command WHERE kind = 'marker'") == [(2,)]
        assert trace.rows("SELECT count(*) FROM v_process") == [(1,)]


def test_the_notebook_magic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython()
    monkeypatch.chdir(tmp_path)
    shell.run_line_magic("load_ext", "cltrace")
    shell.user_ns["device"] = Device()
    assert shell.user_ns["device"].queue.properties == 0
    shell.run_cell_magic("cltrace", "-o cell.cltrace -n mine", "device.launch(3)\nanswer = 42")
    shell.run_line_magic("cltrace", "-o 'line.cltrace' device.launch(2); x = '-f'")
    shell.run_cell_magic("cltrace", "", "device.launch(1)")
    assert shell.user_ns["answer"] == 42
    assert shell.user_ns["x"] == "-f"
    assert shell.user_ns["mine"]["v_command"]["duration_ns"].notna().sum() == 3
    shell.user_ns["mine"].close()
    assert [ticks(tmp_path / "cell.cltrace"), ticks(tmp_path / "line.cltrace")] == [3, 2]
    assert len(list((tmp_path / "cltrace-results").glob("*.cltrace"))) == 1
    shell.run_line_magic("unload_ext", "cltrace")
