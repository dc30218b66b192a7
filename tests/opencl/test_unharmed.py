"""Programs that do unusual things do the same under cltrace, and their traces are right."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cltrace
from cltrace.trace.reader import Trace
from tests.conftest import Finished, Runner, clean_environment

pytestmark = pytest.mark.opencl

HEAD = """
import gc, os, signal, subprocess, sys, threading, time
import numpy as np
import pyopencl as cl
flags = cl.mem_flags
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = "kernel void k(global int *a) { a[0] = 7; }"
kernel = cl.Kernel(cl.Program(context, source).build(), "k")
def buffer(size=4096): return cl.Buffer(context, flags.READ_WRITE, size)
"""

UNUSUAL = {
    "closes all descriptors": """
memory = buffer()
kernel(queue, (1,), None, memory); queue.finish(); time.sleep(0.2)
os.closerange(3, 1024)
files = [open(f"mine{i}.txt", "w+") for i in range(12)]
for i in range(500): kernel(queue, (i % 5 + 1,), None, memory)
queue.finish(); time.sleep(0.3)
for file in files: file.write("hello"); file.close()
print([os.path.getsize(f"mine{i}.txt") for i in range(12)])
for i in range(12): os.unlink(f"mine{i}.txt")
""",
    "is timed out by a signal handler that raises": """
class Timeout(Exception): pass
def handler(*args): raise Timeout
signal.signal(signal.SIGALRM, handler)
memory = buffer(); lost = 0
for i in range(40):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0011 + i * 1e-6); end = time.time() + 0.03
        while time.time() < end: kernel(queue, (1,), None, memory)
        lost += 1
    except Timeout: pass
    queue.finish()
print(lost)
""",
    "sets arguments by name": """
memory = buffer()
kernel.set_arg(arg_index=0, arg=memory)
cl.enqueue_nd_range_kernel(queue, kernel, (1,), None).wait()
""",
    "forks many times": """
for i in range(12):
    child = os.fork()
    if not child:
        os._exit(0) if i % 2 else sys.exit(0)
    os.waitpid(child, 0)
""",
    "counts and joins its threads": """
thread = threading.Thread(target=lambda: kernel(queue, (1,), None, buffer()).wait())
thread.start()
for one in threading.enumerate():
    if one is not threading.main_thread(): one.join()
print(threading.active_count(), [one.name for one in threading.enumerate()])
""",
    "gives a queue too many arguments": """
device = context.devices[0]
for args, kwargs in (((context, device, 0, 7), {}), ((context, device), {"context": context})):
    try: cl.CommandQueue(*args, **kwargs); print("made")
    except TypeError: print("refused")
print(cl.CommandQueue(context, properties=[]).properties_array)
""",
    "prepares children by a function": """
for _ in range(3): print(subprocess.run(["/bin/true"], preexec_fn=lambda: None).returncode)
""",
    "replaces its image": """
kernel(queue, (1,), None, buffer()).wait()
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, "-c", "print('another')"])
""",
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_does_what_it_does_untraced(what: str, run: Runner, tmp_path: Path) -> None:
    code, quiet = HEAD + UNUSUAL[what], {"OPENBLAS_NUM_THREADS": "1"}
    plain = run("-c", code, command=[sys.executable], env=quiet)
    traced = run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", code, env=quiet)
    assert traced == plain
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        stopped = trace.rows("SELECT message FROM v_diagnostic WHERE code = 'tracing-stopped'")
        assert not stopped
        assert trace.meta["state"] == "complete"
        ended = trace.rows("SELECT DISTINCT ended_how FROM v_process ORDER BY 1")
        assert ("killed",) not in ended


def test_a_signal_that_the_program_blocks_stays_blocked(run: Runner) -> None:
    # Without a context: the threads of the driver would take the signal, traced or not.
    code = (
        "import os, signal, time, pyopencl\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
        "time.sleep(0.1); os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.1)\n"
        "print(signal.sigtimedwait({signal.SIGUSR1}, 5) is not None)\n"
    )
    quiet = {"OPENBLAS_NUM_THREADS": "1"}
    plain = run("-c", code, command=[sys.executable], env=quiet)
    assert plain.stdout == "True\n"
    assert run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", code, env=quiet) == plain


@pytest.fixture
def after(run: Runner, tmp_path: Path) -> "After":
    return After(run, tmp_path)


class After:
    """Runs code behind `HEAD`, traced, and opens the trace."""

    def __init__(self, run: Runner, directory: Path) -> None:
        self._run = run
        self._path = directory / "after.cltrace"
        self.done = Finished(0, "", "")

    def __call__(self, code: str, *flags: str) -> Trace:
        words = ("run", "-q", "-o", self._path, *flags, sys.executable, "-c", HEAD + code)
        self.done = self._run(*words)
        assert self.done.status == 0, self.done.stderr
        return cltrace.load(self._path)


ARGUMENT_SIZES = """
SELECT b.size_bytes FROM v_command c JOIN v_launch_arg a USING (launch_id)
JOIN v_buffer b USING (buffer_id) ORDER BY c.command_id
"""


def test_arguments_are_those_of_the_launch_however_they_were_set(after: After) -> None:
    with after(
        "large, small = buffer(4096), buffer(64)\n"
        "kernel(queue, (1,), None, small)\n"
        "kernel.set_args(large)\n"
        "kernel(queue, (1,), None, small)\n"
        "kernel.set_args(large)\n"
        "cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)\n"
        "import cltrace\n"
        "cltrace.pause(); kernel.set_args(small); cltrace.resume()\n"
        "cl.enqueue_nd_range_kernel(queue, kernel, (1,), None).wait()\n"
    ) as trace:
        assert [size for (size,) in trace.rows(ARGUMENT_SIZES)] == [64, 64, 4096, 64]


def test_arguments_that_a_lane_set_are_not_taken_for_others(after: After) -> None:
    with after(
        "large, small = buffer(4096), buffer(64)\n"
        "kernel(queue, (1,), None, small)\n"
        "kernel.set_arg(0, large)\n"
        "kernel(queue, (1,), None, small)\n"
        "cl.enqueue_nd_range_kernel(queue, kernel, (1,), None).wait()\n"
    ) as trace:
        sizes = [size for (size,) in trace.rows(ARGUMENT_SIZES)]
        assert 4096 not in sizes


def test_shared_memory_at_the_same_address_is_another(after: After) -> None:
    with after(
        "for _ in range(30):\n"
        "    svm = cl.SVMAllocation(context, 1 << 20, 64, cl.svm_mem_flags.READ_WRITE)\n"
        "    kernel(queue, (1,), None, svm); queue.finish(); svm.release()\n"
    ) as trace:
        found = trace.rows(
            "SELECT count(DISTINCT a.buffer_id) FROM v_command c JOIN v_launch_arg a USING (launch_id)"
        )
        assert found == [(30,)]


def test_a_program_made_while_paused_is_not_taken_for_an_earlier_one(after: After) -> None:
    with after(
        "import cltrace\n"
        "def launch(text):\n"
        "    one = cl.Kernel(cl.Program(context, text).build(), 'k')\n"
        "    return one\n"
        "first = launch(source); first(queue, (1,), None, buffer()).wait()\n"
        "cltrace.pause(); del first; gc.collect()\n"
        "second = launch(source.replace('7', '8')); cltrace.resume()\n"
        "second(queue, (1,), None, buffer()).wait()\n"
    ) as trace:
        sources = trace.rows(
            "SELECT p.source FROM v_command c JOIN v_launch USING (launch_id) "
            "JOIN v_kernel k USING (kernel_id) JOIN v_program p USING (program_id) "
            "WHERE c.kind = 'kernel' ORDER BY c.command_id"
        )
        assert ["8" in source for (source,) in sources] == [False, True]


def test_a_queue_is_itself_after_another_ones_block(after: After) -> None:
    with after(
        "other = cl.CommandQueue(context); event = cl.enqueue_marker(other); kept = []\n"
        "with cl.CommandQueue(context) as inner: where = id(inner)\n"
        "del inner\n"
        "for _ in range(1000):\n"
        "    again = event.command_queue\n"
        "    cl.enqueue_barrier(again)\n"
        "    if id(again) == where: break\n"
        "    kept.append(again)\n"
    ) as trace:
        found = trace.rows("SELECT count(DISTINCT queue_id) FROM v_command")
        assert found == [(1,)]


def test_a_user_event_is_no_command(after: After) -> None:
    with after(
        "memory = buffer()\n"
        "for _ in range(50):\n"
        "    for _ in range(4): kernel(queue, (1,), None, memory)\n"
        "    queue.finish(); time.sleep(0.002)\n"
        "    held = cl.UserEvent(context)\n"
        "    marker = cl.enqueue_marker(queue, [held])\n"
        "    held.set_status(cl.command_execution_status.COMPLETE); marker.wait()\n"
    ) as trace:
        assert trace.rows("SELECT count(*) FROM v_edge") == [(0,)]
        kinds = trace.rows(
            "SELECT DISTINCT a.api, c.kind FROM v_wait JOIN v_api_call a USING (call_id) "
            "JOIN v_command c ON c.command_id = v_wait.command_id"
        )
        assert kinds == [("clWaitForEvents", "marker")]


def test_a_part_of_a_buffer_that_is_written_is_not_the_old_whole(after: After) -> None:
    with after(
        "zeros = np.zeros(1024, 'i4')\n"
        "whole = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=zeros)\n"
        "cl.enqueue_copy(queue, whole[0:2048], np.full(512, 5, 'i4'))\n"
        "kernel(queue, (1,), None, whole).wait()\n",
        "--capture-buffers",
        "1",
    ) as trace:
        assert trace.rows("SELECT count(*) FROM v_content") == [(0,)]


def test_an_image_is_an_image(after: After) -> None:
    with after(
        "form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)\n"
        "image = cl.Image(context, flags.READ_ONLY, form, shape=(8, 8))\n"
        "text = 'kernel void p(read_only image2d_t i, global int *a) { a[0] = get_image_width(i); }'\n"
        "cl.Kernel(cl.Program(context, text).build(), 'p')(queue, (1,), None, image, buffer()).wait()\n"
    ) as trace:
        kinds = trace.rows("SELECT kind FROM v_launch_arg ORDER BY position")
        assert kinds == [("image",), ("buffer",)]


def test_looking_for_the_module_first_is_no_import(run: Runner, tmp_path: Path) -> None:
    code = (
        "import importlib.util\n"
        "assert importlib.util.find_spec('pyopencl')\n"
        "assert importlib.util.find_spec('pyopencl')\n"
    )
    done = run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", code + HEAD)
    assert done.status == 0, done.stderr
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_program") == [(1,)]


def test_a_kernel_of_an_earlier_tracing_is_seen_from_its_first_launch(run: Runner) -> None:
    code = HEAD + (
        "import cltrace\n"
        "memory = buffer()\n"
        "for name in 'abc':\n"
        "    with cltrace.trace(f'{name}.cltrace'):\n"
        "        for _ in range(3): kernel(queue, (1,), None, memory).wait()\n"
        "    with cltrace.load(f'{name}.cltrace') as trace:\n"
        "        print(trace.rows(\"SELECT count(*) FROM v_command WHERE kernel = 'k'\")[0][0])\n"
    )
    done = run("-c", code, command=[sys.executable])
    assert done.stdout.split() == ["3", "3", "3"], done.stderr


def test_a_tracing_that_the_program_forgot_to_stop_is_written(run: Runner, tmp_path: Path) -> None:
    code = (
        "import cltrace\ncltrace.start('t.cltrace')\n"
        + HEAD
        + ("kernel(queue, (1,), None, buffer()).wait()\n")
    )
    done = run("-c", code, command=[sys.executable])
    assert (done.status, done.stderr) == (0, "")
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_command") == [(1,)]
    assert [one.name for one in tmp_path.iterdir()] == ["t.cltrace"]


def test_a_child_with_a_search_path_of_its_own_is_noted(after: After) -> None:
    with after(
        "environment = {**os.environ, 'PYTHONPATH': '/nonexistent'}\n"
        "subprocess.run([sys.executable, '-c', 'import pyopencl'], env=environment, check=True)\n"
    ) as trace:
        notes = trace.rows("SELECT message FROM v_diagnostic WHERE code = 'untraced'")
        assert len(notes) == 1
        assert "PYTHONPATH of its own" in notes[0][0]


@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full"])
def test_the_status_is_the_programs_when_nobody_hears_us(to: str, tmp_path: Path) -> None:
    code = HEAD + "kernel(queue, (1,), None, buffer()).wait(); sys.exit(3)"
    (tmp_path / "program.py").write_text(code)
    command = f"{sys.executable} -m cltrace run -o t.cltrace {sys.executable} program.py {to}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, env=clean_environment(), check=False
    )
    assert done.returncode == 3
    assert (tmp_path / "t.cltrace").exists()


def test_a_module_of_the_programs_own_is_the_programs(run: Runner, tmp_path: Path) -> None:
    names = ("json", "dataclasses", "random", "inspect", "tempfile", "shutil", "bisect")
    for name in names:
        (tmp_path / "inner").mkdir(exist_ok=True)
        (tmp_path / "inner" / f"{name}.py").write_text(f"mine = {name!r}\n")
    program = tmp_path / "inner" / "program.py"
    lines = [f"import {name}; print({name}.mine)" for name in names]
    program.write_text("\n".join(lines))
    traced = run("run", "-q", "-o", "t.cltrace", sys.executable, program)
    assert (traced.status, traced.stdout.split()) == (0, list(names)), traced.stderr


def test_a_region_belongs_to_the_thread_that_entered_it(after: After) -> None:
    with after(
        "import cltrace\n"
        "shared = cltrace.region('shared')\n"
        "def work(seconds):\n"
        "    with shared: time.sleep(seconds)\n"
        "threads = [threading.Thread(target=work, args=(one,)) for one in (0.4, 0.1)]\n"
        "for one in threads: one.start(); time.sleep(0.02)\n"
        "for one in threads: one.join()\n"
        "kernel(queue, (1,), None, buffer()).wait()\n"
    ) as trace:
        took = sorted(ns for (ns,) in trace.rows("SELECT duration_ns FROM v_region"))
        assert 0.09e9 < took[0] < 0.3e9 < 0.39e9 < took[1]


def test_options_go_with_the_source(run: Runner, tmp_path: Path) -> None:
    code = HEAD + "cl.Program(context, source).build(options=['-DPASSWORD=hunter2'])"
    run("run", "-q", "--no-source", "--no-args", "-o", "t.cltrace", sys.executable, "-c", code)
    assert b"hunter2" not in (tmp_path / "t.cltrace").read_bytes()
    shown = run("summary", "t.cltrace", "--format", "json")
    assert json.loads(shown.stdout)["builds"]
