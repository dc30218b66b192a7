"""When something is missing or breaks, cltrace fails alone and says so in one line."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cltrace
from tests.conftest import PROGRAMS, Runner

pytestmark = pytest.mark.opencl

MANY = """
import resource, sys
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void tick(global int *a) { a[0]++; }").build(), "tick")
zero = np.zeros(1, np.int32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
memory = cl.Buffer(context, flags, hostbuf=zero)
for _ in range(60_000):
    kernel(queue, (1,), None, memory)
    if _ == 100 and len(sys.argv) > 1:
        queue.finish()
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    if _ % 1000 == 0:
        queue.finish()
got = np.zeros(1, np.int32)
cl.enqueue_copy(queue, got, memory)
print(got[0])
sys.exit(5)
"""


def own_lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("cltrace: ")]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system with such options; only root can."""
    places: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / "disk"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
            pytest.skip("mounting is not allowed here")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_ends_the_recording_and_not_the_program(
    run: Runner, mounted: Callable[[str], Path]
) -> None:
    disk = mounted("size=1m")
    done = run("run", "-o", disk / "t.cltrace", sys.executable, "-c", MANY)
    assert (done.status, done.stdout) == (5, "60000\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert any("space" in line.lower() for line in own_lines(done.stderr)), done.stderr
    assert not list(disk.glob("*.cltrace"))
    parts = disk / "t.cltrace.parts"
    assert parts.is_dir()
    elsewhere = run("recover", parts, "-o", "whole.cltrace", "--keep-parts")
    assert elsewhere.status == 0, elsewhere.stderr
    assert "exited 5" in run("summary", "whole.cltrace").stdout


def test_a_limit_of_file_size_ends_the_recording_and_not_the_program(run: Runner) -> None:
    done = run("run", "-o", "t.cltrace", sys.executable, "-c", MANY, "limited")
    assert (done.status, done.stdout) == (5, "60000\n"), done.stderr
    assert "Traceback" not in done.stderr
    shown = run("info", "t.cltrace")
    assert shown.status == 0
    assert "tracing stopped" in shown.stdout or "disabled" in shown.stdout, shown.stdout


def test_a_directory_that_cannot_be_written_is_refused_before_the_program(run: Runner) -> None:
    done = run("run", "-o", "/proc/t.cltrace", sys.executable, "-c", "print('ran')")
    assert (done.status, done.stdout) == (125, "")
    assert len(own_lines(done.stderr)) == 1
    assert "/proc" in done.stderr


def test_a_read_only_directory_is_refused(run: Runner, tmp_path: Path) -> None:
    place = tmp_path / "closed"
    place.mkdir(mode=0o500)
    if os.access(place, os.W_OK):
        pytest.skip("root writes into any directory")
    done = run("run", "-o", place / "t.cltrace", sys.executable, "-c", "print('ran')")
    assert (done.status, done.stdout) == (125, "")


def test_a_read_only_disk_is_refused(run: Runner, mounted: Callable[[str], Path]) -> None:
    done = run("run", "-o", mounted("ro") / "t.cltrace", sys.executable, "-c", "print('ran')")
    assert (done.status, done.stdout) == (125, "")
    assert len(own_lines(done.stderr)) == 1
    assert "Read-only file system" in done.stderr


def test_without_a_platform_the_program_fails_as_it_does_untraced(run: Runner) -> None:
    nothing = {"OCL_ICD_VENDORS": "/nonexistent", "OPENCL_VENDOR_PATH": "/nonexistent"}
    code = """
import pyopencl as cl
try:
    print(cl.get_platforms())
except cl.Error as error:
    print(error.code)
"""
    plain = run("-c", code, command=[sys.executable], env=nothing)
    done = run("run", "-o", "t.cltrace", sys.executable, "-c", code, env=nothing)
    assert (done.status, done.stdout) == (plain.status, plain.stdout)
    shown = run("summary", "t.cltrace")
    assert shown.status == 0
    assert "none: no OpenCL device was used" in shown.stdout


def test_a_program_without_opencl_leaves_a_trace_that_says_so(run: Runner) -> None:
    done = run("run", "-o", "t.cltrace", sys.executable, "-c", "print('hello')")
    assert (done.status, done.stdout) == (0, "hello\n")
    for words in (["summary", "t.cltrace"], ["info", "t.cltrace"], ["summary", "--failed"]):
        assert run(*words).status == 0
    assert "no process used pyopencl" in run("info", "t.cltrace").stdout


def test_the_doctor_finds_what_is_there(run: Runner) -> None:
    done = run("doctor", "--no-surcharge", "--format", "json")
    assert done.status == 0, done.stdout
    assert '"missing"' not in done.stdout
    assert "builds a kernel, which runs" in done.stdout
    assert '"absent"' not in done.stdout
    assert "libOpenCL" in done.stdout


def test_the_doctor_says_when_a_driver_builds_nothing(run: Runner) -> None:
    environment = {"POCL_EXTRA_BUILD_FLAGS": "--no-such-flag", "COLUMNS": "200"}
    done = run("doctor", "--no-surcharge", env=environment)
    assert done.status == 2
    assert "builds nothing: Invalid build option: --no-such-flag" in done.stdout
    assert "trial build: PoCL" in done.stdout


def test_the_doctor_survives_a_build_that_crashes(run: Runner) -> None:
    # PoCL ends the process when it finds no linker: here also the one that measures launches.
    done = run("doctor", env={"PATH": "/nonexistent", "COLUMNS": "300"})
    assert done.status == 2
    assert "builds nothing: it was killed by signal 6: a driver crashed, saying: " in done.stdout
    assert "install binutils" in done.stdout
    assert "pip install pyopencl" not in done.stdout


def test_the_doctor_says_what_is_missing_and_how_to_get_it(run: Runner) -> None:
    # Nothing on PATH: PoCL would not find its linker.
    done = run("doctor", "--no-surcharge", env={"PATH": "/nonexistent", "COLUMNS": "100"})
    assert done.status == 2
    assert "install binutils" in done.stdout
    hidden = run("doctor", env={"PYTHONPATH": str(PROGRAMS / "without_pyopencl"), "COLUMNS": "100"})
    assert hidden.status == 2
    assert "pip install pyopencl" in hidden.stdout


def test_the_doctor_needs_no_compiler(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ld").symlink_to(shutil.which("ld") or "/usr/bin/ld")
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "__init__.py").touch()  # a package of that name, without the compiler
    environment = {"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    done = run("doctor", "--no-surcharge", env=environment)
    assert done.status == 0, done.stdout
    assert "programs without Python are not traced: found no C compiler" in done.stdout
    assert "OpenCL layer: install one: " in done.stdout


def test_the_doctor_survives_a_driver_that_crashes(run: Runner) -> None:
    done = run("doctor", env={"PYTHONPATH": str(PROGRAMS / "crashing_pyopencl"), "COLUMNS": "100"})
    assert done.status == 2
    assert "killed by signal 6" in done.stdout


def test_recover_says_what_there_is_to_do(run: Runner, tmp_path: Path) -> None:
    run("run", "-q", "-o", "t.cltrace", sys.executable, PROGRAMS / "tick.py")
    whole = (tmp_path / "t.cltrace").read_bytes()
    done = run("recover", "t.cltrace")
    assert done.status == 0
    assert (tmp_path / "t.cltrace").read_bytes() == whole
    missing = run("recover", "nosuch.cltrace")
    assert missing.status == 2
    assert len(own_lines(missing.stderr)) == 1


def test_merge_refuses_what_it_cannot_do(run: Runner, tmp_path: Path) -> None:
    run("run", "-q", "-o", "t.cltrace", sys.executable, PROGRAMS / "tick.py")
    for words in (
        ["merge", "-o", "m.cltrace", "t.cltrace"],
        ["merge", "-o", "m.cltrace", "t.cltrace", "nosuch.cltrace"],
        ["merge", "-o", "m.cltrace", "t.cltrace", "t.cltrace"],
        ["merge", "-o", "t.cltrace", "t.cltrace", "u.cltrace"],
        ["merge", "-f", "-o", "t.cltrace", "t.cltrace", "u.cltrace"],
    ):
        done = run(*words)
        assert done.status == 2
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "m.cltrace").exists()
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        once = trace.rows("SELECT count(*) FROM v_command")[0][0]
    shutil.copy(tmp_path / "t.cltrace", tmp_path / "u.cltrace")
    assert run("merge", "-o", "m.cltrace", "t.cltrace", "u.cltrace").status == 0
    with cltrace.load(tmp_path / "m.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_command")[0][0] == 2 * once


def test_a_failed_call_is_named_by_its_entry_point(run: Runner) -> None:
    code = """
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void f(global int *a) {}").build(), "f")
for attempt in (
    lambda: cl.Buffer(context, cl.mem_flags.READ_WRITE, 0),
    lambda: cl.Program(context, "kernel void g( {").build(),
    lambda: kernel(queue, (10,), (3,), cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)),
    lambda: kernel(queue, (1,), None, cl.LocalMemory(0)),
):
    try:
        attempt()
    except cl.Error:
        pass
"""
    assert run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", code).status == 0
    shown = run("summary", "t.cltrace", "--failed", "--format", "csv")
    for name in ("clCreateBuffer", "clBuildProgram", "clEnqueueNDRangeKernel", "clSetKernelArg"):
        assert name in shown.stdout, shown.stdout
    assert "INVALID_BUFFER_SIZE" in shown.stdout
