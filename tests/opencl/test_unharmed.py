"""Programs that do unusual things do the same under cltrace, and their traces are right."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cltrace
from tests.conftest import Runner, clean_environment
from tests.opencl.after import HEAD, After

pytestmark = pytest.mark.opencl


# Python 3.12 warns, with the process's number, of a fork beside the driver's threads.
FORKS_AMONG_THREADS = {"PYTHONWARNINGS": "ignore::DeprecationWarning"}

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
    code, quiet = HEAD + UNUSUAL[what], {"OPENBLAS_NUM_THREADS": "1", **FORKS_AMONG_THREADS}
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
        "subprocess.run([sys.executable, '-c', 'import pyopencl'], env=environment, check=True)\n",
        "--layer",
        "off",  # the layer records such a child
    ) as trace:
        notes = trace.rows("SELECT message FROM v_diagnostic WHERE code = 'untraced'")
        assert len(notes) == 1
        assert "PYTHONPATH of its own" in notes[0][0]


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(f'env -i {sys.executable} -c 1', shell=True, check=True)",
        "subprocess.run(['/bin/sh', '-c', 'true'], env={}, check=True)",
        "subprocess.run('true', shell=True, env={}, check=True)",
    ],
)
def test_a_shell_with_an_environment_of_its_own_is_noted(code: str, after: After) -> None:
    with after(code) as trace:
        notes = trace.rows("SELECT message FROM v_diagnostic WHERE code = 'untraced'")
        assert len(notes) == 1
        assert "a shell" in notes[0][0]


@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full"])
def test_the_status_is_the_programs_when_nobody_hears_us(to: str, tmp_path: Path) -> None:
    code = HEAD + "kernel(queue, (1,), None, buffer()).wait(); sys.exit(3)"
    (tmp_path / "program.py").write_text(code)
    command = f"{sys.executable} -m cltrace run -o t.cltrace {sys.executable} program.py {to}"
    environment = clean_environment()
    environment.pop("PYTHONUNBUFFERED", None)  # what is buffered is written at the very end
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env=environment, check=False)
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


def test_shadowing_modules_keep_nothing_from_being_traced(run: Runner, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("json", "socket", "fnmatch", "platform"):
        (inner / f"{name}.py").write_text(f"mine = {name!r}\n")
    (inner / "program.py").write_text(
        "import fnmatch\n" + HEAD + "kernel(queue, (1,), None, buffer()).wait()\n"
        "import json, fnmatch\nprint(json.mine, fnmatch.mine)\n"
    )
    traced = run("run", "-q", "-o", "t.cltrace", sys.executable, inner / "program.py")
    plain = run(inner / "program.py", command=[sys.executable])
    # What is shadowed breaks pyopencl itself on some Pythons; where is not ours to keep.
    assert traced == plain if plain.status == 0 else traced.status == plain.status
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        expected = 1 if plain.status == 0 else 0
        assert trace.rows("SELECT count(*) FROM v_command") == [(expected,)]


def test_a_failing_import_of_pyopencl_looks_as_it_does_untraced(
    run: Runner, tmp_path: Path
) -> None:
    (tmp_path / "pytools.py").write_text("x = 1\n")
    program = tmp_path / "program.py"
    program.write_text("import pyopencl\n")
    traced = run("run", "-q", "-o", "t.cltrace", sys.executable, program)
    plain = run(program, command=[sys.executable])
    assert traced == plain
    assert "cannot import name" in plain.stderr


def test_threads_that_import_meanwhile_lose_nothing(run: Runner, tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"own_{number}.py").write_text(f"import json\nnumber = {number}\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import importlib, sys, threading\n"
        "def load(numbers):\n"
        "    for one in numbers: importlib.import_module(f'own_{one}')\n"
        "threads = [threading.Thread(target=load, args=(range(one, 300, 2),)) for one in (0, 1)]\n"
        "for one in threads: one.start()\n"
        "import pyopencl\n"
        "for one in threads: one.join()\n"
        "print(sum(f'own_{one}' in sys.modules for one in range(300)))\n"
    )
    done = run("run", "-q", "-o", "t.cltrace", sys.executable, program)
    assert (done.stdout, done.stderr) == ("300\n", "")


@pytest.mark.parametrize("how", ["with", "start"])
def test_a_fork_leaves_the_tracing_to_the_parent(how: str, run: Runner, tmp_path: Path) -> None:
    begin = "tracing = cltrace.trace('t.cltrace'); tracing.__enter__()\n"
    end = "tracing.__exit__(None, None, None)\n"
    if how == "start":
        begin, end = "cltrace.start('t.cltrace')\n", "cltrace.stop()\n"
    code = HEAD + (
        "import cltrace\n" + begin + "kernel(queue, (1,), None, buffer()).wait()\n"
        "child = os.fork()\n"
        "if not child:\n    " + end + "    sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "kernel(queue, (1,), None, buffer()).wait()\n" + end
    )
    done = run("-c", code, command=[sys.executable], env=FORKS_AMONG_THREADS)
    assert (done.status, done.stderr) == (0, "")
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_command WHERE kind = 'kernel'") == [(2,)]


def test_options_go_with_the_source(run: Runner, tmp_path: Path) -> None:
    code = HEAD + "cl.Program(context, source).build(options=['-DPASSWORD=hunter2'])"
    run("run", "-q", "--no-source", "--no-args", "-o", "t.cltrace", sys.executable, "-c", code)
    assert b"hunter2" not in (tmp_path / "t.cltrace").read_bytes()
    shown = run("summary", "t.cltrace", "--format", "json")
    assert json.loads(shown.stdout)["builds"]


FEW_DESCRIPTORS = """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
for _ in range(10): kernel(queue, (1,), None)
queue.finish()
print(os.open("/dev/null", os.O_RDONLY) < 10)
"""


@pytest.mark.parametrize("layer", ["auto", "off"])
def test_a_program_with_few_descriptors_has_them_all(
    layer: str, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "--layer", layer, "-o", path, "-c", FEW_DESCRIPTORS)
    assert (done.status, done.stdout) == (0, "True\n"), done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM v_command") == [(10,)]
        assert trace.meta["state"] == "complete"
