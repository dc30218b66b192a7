"""Children, forks and images: every Python process that does OpenCL work is in the trace."""

import sys
import time
from pathlib import Path

import pytest

import cltrace
from cltrace.spool.layout import ProcessIdentity
from tests.conftest import PROGRAMS, Runner

pytestmark = pytest.mark.opencl

FAMILY = PROGRAMS / "family.py"


def ticks(path: Path) -> list[int]:
    """Launches of the test kernel in each process of a trace."""
    with cltrace.load(path) as trace:
        rows = trace.rows(
            "SELECT process_id, count(*) FROM v_command WHERE kernel = 'tick' GROUP BY process_id"
        )
    return [count for _, count in rows]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("subprocess", [5]),
        ("system", [5]),
        ("exec", [5]),
        ("raw-fork", [5]),
        ("fork-after", [5]),
        ("isolated", [5]),
        ("no-environment", []),
    ],
)
@pytest.mark.parametrize("producer", ["on", "off"])
def test_traces_what_a_program_starts(
    how: str, expected: list[int], producer: str, run: Runner, tmp_path: Path
) -> None:
    if producer == "off" and how == "isolated":  # the interpreter imports no hooks
        expected = []
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "--layer", producer, "-o", path, sys.executable, FAMILY, how)
    assert done.status == 0, done.stderr
    assert ticks(path) == expected
    warned = "is not traced" in run("info", path, "--format", "json").stdout
    assert warned == (not expected)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_traces_multiprocessing(method: str, run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "-o", path, sys.executable, FAMILY, method)
    assert (done.status, done.stdout) == (0, "parent done\n"), done.stderr
    assert sum(ticks(path)) == 20


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_that_is_terminated_loses_nothing(method: str, run: Runner, tmp_path: Path) -> None:
    program = tmp_path / "pooled.py"
    program.write_text(
        """
import multiprocessing, sys
import numpy as np

def work(number):
    import pyopencl as cl
    global queue, kernel, memory
    if "queue" not in globals():
        context = cl.create_some_context(interactive=False)
        queue = cl.CommandQueue(context)
        source = "kernel void tick(global int *a) { a[0]++; }"
        kernel = cl.Kernel(cl.Program(context, source).build(), "tick")
        memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
    for _ in range(4):
        kernel(queue, (1,), None, memory)
    got = np.zeros(1, np.int32)
    cl.enqueue_copy(queue, got, memory)
    return number

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sorted(pool.map(work, range(6), chunksize=1)))
"""
    )
    done = run("run", "-q", "-o", "t.cltrace", sys.executable, program, method)
    assert (done.status, done.stdout) == (0, "[0, 1, 2, 3, 4, 5]\n"), done.stderr
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        counts = dict(trace.rows("SELECT kind, count(end_device_ns) FROM v_command GROUP BY kind"))
    assert counts == {"kernel": 24, "read": 6}


FLUSHING = """
import os, signal, subprocess, sys
import pyopencl as cl
if len(sys.argv) == 2:
    for _ in range(10): subprocess.run([sys.executable, __file__, "child", sys.argv[1]])
else:
    from cltrace.intercept import session
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, "kernel void tick() { }").build(), "tick")
    for _ in range(4): kernel(queue, (1,), None)
    queue.finish()
    if sys.argv[2] == "exec": os.execv("/bin/true", ["true"])
    session.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("producer", ["on", "off"])
@pytest.mark.parametrize("end", ["exec", "kill"])
def test_stamps_are_written_before_an_image_may_end(
    end: str, producer: str, run: Runner, tmp_path: Path
) -> None:
    (tmp_path / "flushing.py").write_text(FLUSHING)
    done = run("run", "-q", "--layer", producer, "-o", "t.cltrace", "flushing.py", end)
    assert done.status == 0, done.stderr
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        counts = trace.rows("SELECT count(*), count(end_device_ns) FROM v_command")
    assert counts == [(40, 40)]


def test_leaves_children_alone_when_told_to(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "--no-children", "-o", path, FAMILY, "subprocess")
    assert (done.status, ticks(path)) == (0, [])


def test_a_child_that_outlives_the_command_is_added_by_recover(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "-o", path, FAMILY, "outlive")
    assert done.status == 0, done.stderr
    assert "still runs" in done.stderr
    parts = path.with_name("t.cltrace.parts")
    assert parts.is_dir()
    child = ProcessIdentity.of(int((tmp_path / "child").read_text()))
    (tmp_path / "go-on").touch()
    while child.is_alive:
        time.sleep(0.05)
    assert run("recover", path).status == 0
    assert sorted(ticks(path)) == [5, 10]
    assert not parts.exists()


def test_a_shell_script_is_traced(run: Runner, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n'{sys.executable}' '{FAMILY}' subprocess && exit 5\n")
    script.chmod(0o755)
    done = run("run", "-q", "-o", "t.cltrace", script)
    assert (done.status, ticks(tmp_path / "t.cltrace")) == (5, [5])
