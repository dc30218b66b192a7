"""A disk that shrinks, or is mounted read-only, while a program is recorded on it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cltrace
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

LAUNCHES = 3_000
PROGRAM = """
import subprocess, sys, time
import pyopencl as cl
option, disk, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
def launch(count):
    for _ in range(count): kernel(queue, (1,), None)
    queue.finish()
launch(1)
while subprocess.run(["mount", "-o", "remount," + option, disk], capture_output=True).returncode:
    time.sleep(0.01)  # a file is being written
launch(count - 1)
print(count)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own. Only root can mount it."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("layer", "option", "descriptors", "missing"),
    [("auto", "size=64k", 1024, True), ("off", "ro", 150, False)],
)
def test_what_a_changed_disk_does_not_take_is_missing(
    layer: str,
    option: str,
    descriptors: int,
    missing: bool,
    disk: Path,
    run: Runner,
    tmp_path: Path,
) -> None:
    # A disk with open files cannot be made read-only: with few descriptors there are none.
    (tmp_path / "program.py").write_text(PROGRAM)
    shell = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]
    words = ("-m", "cltrace", "run", "-q", "--layer", layer, "-o", disk / "t.cltrace")
    program = (tmp_path / "program.py", option, disk, str(LAUNCHES))
    done = run(*words, *program, command=[*shell, sys.executable])
    assert (done.status, done.stdout) == (0, f"{LAUNCHES}\n"), done.stderr
    assert "recover" in done.stderr
    subprocess.run(["mount", "-o", "remount,rw,size=20m", str(disk)], check=True)
    assert run("recover", disk / "t.cltrace").status == 0
    with cltrace.load(disk / "t.cltrace") as trace:
        assert trace.meta["state"] == "incomplete"
        recorded = trace.rows("SELECT count(*) FROM v_command")[0][0]
        counted = trace.meta_int("commands_missing")
    assert recorded < LAUNCHES
    assert counted == (LAUNCHES - recorded if missing else None)
    assert run("check", disk / "t.cltrace", disk / "t.cltrace").status == 3
