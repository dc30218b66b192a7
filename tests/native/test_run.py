"""`cltrace run` of programs without Python: all verbs work on their traces."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cltrace
from tests.conftest import Runner, needs
from tests.native.conftest import Toolbox

pytestmark = pytest.mark.opencl

NUMBER = re.compile(r"[0-9.]+")


def test_a_program_is_traced_and_ends_as_it_ends(
    toolbox: Toolbox, run: Runner, tmp_path: Path
) -> None:
    program = toolbox.program("launches")
    plain = subprocess.run([program, "100"], capture_output=True, text=True, check=False)
    assert NUMBER.sub("", plain.stdout) == " ns per launch\n"
    path = tmp_path / "a.cltrace"
    done = run("run", "-o", path, program, "100")
    outputs = [NUMBER.sub("", result) for result in (done.stdout, plain.stdout)]
    assert (done.status, outputs[0]) == (plain.returncode, outputs[1])
    assert "Kernels" in done.stderr
    with cltrace.load(path) as trace:
        launches = trace.rows(
            "SELECT count(*), count(end_device_ns) FROM command WHERE launch_id > 0"
        )
        assert launches[0][0] == launches[0][1] >= 100
        ended = trace.rows("SELECT ended_how, pyopencl_version FROM process")
        assert ended == [("exit", None)] or ended == [("exit", "")]
        files = {file for (file,) in trace.rows("SELECT file FROM site")}
        assert any(file.endswith(("launches.c", "launches")) for file in files)


@pytest.mark.parametrize(
    "verb",
    [
        ("summary",),
        ("timeline",),
        ("view", "-o", "page.html"),
        ("info",),
        ("kernel",),
        ("predict", "--profile", "nvidia-h200"),
        ("query", "SELECT count(*) FROM v_command"),
    ],
    ids=lambda words: words[0],
)
def test_every_verb_reads_such_a_trace(
    verb: tuple[str, ...], toolbox: Toolbox, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "a.cltrace"
    assert run("run", "-q", "-o", path, toolbox.program("launches"), "100").status == 0
    name, *words = verb
    done = run(name, path, *words)
    assert done.status == 0, done.stderr
    assert "internal error" not in done.stderr
    assert "Not in this trace" not in done.stdout  # these are limits of hooks


def test_a_program_without_opencl_has_one_note(run: Runner, tmp_path: Path) -> None:
    program = shutil.which("true")
    assert program is not None
    done = run("run", "-o", tmp_path / "a.cltrace", program)
    assert (done.status, done.stdout) == (0, "")
    notes = [line for line in done.stderr.splitlines() if "OpenCL" in line]
    assert len(notes) == 1
    assert notes[0].endswith("true does not use OpenCL")


def test_without_the_layer_such_programs_are_not_traced(
    toolbox: Toolbox, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "a.cltrace"
    done = run("run", "--layer", "off", "-o", path, toolbox.program("launches"), "100")
    assert done.status == 0
    assert "programs without Python are not traced: --layer off" in done.stderr
    with cltrace.load(path) as trace:
        assert trace.rows("SELECT count(*) FROM command") == [(0,)]


def test_without_a_compiler_the_hooks_serve_alone(run: Runner, tmp_path: Path) -> None:
    needs(Path("/bin/true").exists(), "/bin/true")
    environment = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    code = (
        "import sys; sys.modules['ziglang'] = None; from cltrace.cli import main; sys.exit(main())"
    )
    command = (sys.executable, "-c", code)
    (tmp_path / "cache").mkdir(mode=0o700)
    path = tmp_path / "a.cltrace"
    done = run("run", "-o", path, "/bin/true", env=environment, command=command)
    assert done.status == 0
    assert "programs without Python are not traced" in done.stderr
    assert "install one" in done.stderr
    done = run(
        "run", "--layer", "on", "-f", "-o", path, "/bin/true", env=environment, command=command
    )
    assert done.status == 125
    assert "--layer on" in done.stderr


@pytest.mark.parametrize("flags", [("--timing", "sync"), ("--inside", "scale")], ids=str)
def test_what_the_layer_lacks_is_refused_by_name(
    flags: tuple[str, ...], run: Runner, tmp_path: Path
) -> None:
    done = run("run", "--layer", "on", *flags, "-o", tmp_path / "a.cltrace", "/bin/true")
    assert done.status == 125
    assert flags[0] in done.stderr


def test_a_python_program_and_a_program_that_it_starts_are_traced(
    toolbox: Toolbox, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "a.cltrace"
    code = (
        "import subprocess, sys, pyopencl as cl\n"
        "context = cl.create_some_context(interactive=False)\n"
        "cl.enqueue_marker(cl.CommandQueue(context)).wait()\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
    )
    words = (toolbox.program("launches"), "100")
    done = run("run", "-q", "-o", path, sys.executable, "-c", code, *words)
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        rows = trace.rows(
            "SELECT p.pyopencl_version IS NOT NULL AND p.pyopencl_version != '', count(*) "
            "FROM command c JOIN thread t ON t.id = c.thread_id "
            "JOIN process p ON p.id = t.process_id GROUP BY 1 ORDER BY 1"
        )
        assert [row[0] for row in rows] == [0, 1]
        assert rows[0][1] >= 100
        assert rows[1][1] == 1


def test_a_program_pauses_the_layer_as_it_pauses_the_hooks(run: Runner, tmp_path: Path) -> None:
    code = (
        "import cltrace, pyopencl as cl\n"
        "context = cl.create_some_context(interactive=False)\n"
        "queue = cl.CommandQueue(context)\n"
        "cl.enqueue_marker(queue).wait()\n"
        "cltrace.pause()\n"
        "cl.enqueue_barrier(queue).wait()\n"
        "cltrace.resume()\n"
        "cl.enqueue_marker(queue).wait()\n"
    )
    for use in ("off", "on"):
        path = tmp_path / f"{use}.cltrace"
        assert run("run", "-q", "--layer", use, "-o", path, sys.executable, "-c", code).status == 0
        with cltrace.load(path) as trace:
            names = trace.rows("SELECT a.name FROM command c JOIN api a ON a.id = c.api")
            assert names == [("clEnqueueMarkerWithWaitList",)] * 2
