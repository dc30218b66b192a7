"""A full disk under `run --inside`: the program is unharmed, and one line says what is missing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Runner

pytestmark = pytest.mark.opencl

PROGRAM = """
import hashlib, sys
import numpy as np, pyopencl as cl
items = int(sys.argv[1])
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
__kernel void walk(__global const int *x, __global int *y)
{ const int i = get_global_id(0); for (int k = 0; k < (x[i] & 15); ++k) y[i] ^= x[i] >> k; }''').build()
noise = np.random.default_rng(1).integers(1 << 30, size=items, dtype=np.int32)
first = np.full(items, 7, np.int32) if sys.argv[2] == "second" else noise
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
x, y = (cl.Buffer(context, flags, hostbuf=numbers) for numbers in (first, noise))
kernel = program.walk
for _ in range(3):
    kernel(queue, (items,), (64,), x, y)
out = np.empty(items, np.int32)
cl.enqueue_copy(queue, out, y)
print(hashlib.sha256(out.tobytes()).hexdigest())
sys.exit(7)
"""
"""Launches a kernel over so many work-items. One or both of its buffers cannot be compressed."""


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a disk of a size. Only root can mount it."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounter(size: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
            pytest.skip("mounting is not allowed here")
        return place

    yield mounter
    subprocess.run(["umount", str(place)], check=False)


STOPPED = "--inside: the recording stopped before launch 2 of walk and its buffers were written"
NO_TRACE = "--inside: launch 2 of walk was not recorded, as the trace was not written"
NO_EVENTS = "t.events cannot be written: No space left on device; the trace has its buffers"


@pytest.mark.parametrize(
    ("size", "items", "noise", "missing"),
    [
        ("2m", 1 << 20, "both", STOPPED),
        ("2m", 1 << 20, "second", STOPPED),
        ("6m", 1 << 20, "second", NO_TRACE),
        ("3m", 1 << 16, "both", NO_EVENTS),
    ],
    ids=["no buffers", "one buffer", "no trace", "no events"],
)
def test_a_program_is_unharmed_by_a_full_disk(
    size: str,
    items: int,
    noise: str,
    missing: str,
    mount: Callable[[str], Path],
    run: Runner,
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [program, str(items), noise]
    plain = run(*words, command=[sys.executable])
    path = mount(size) / "t.cltrace"
    done = run("run", "--inside", "walk:2", "-q", "-o", path, *words)
    assert (done.status, done.stdout) == (7, plain.stdout)
    told = [line for line in done.stderr.splitlines() if "--inside" in line]
    assert len(told) == 1, done.stderr
    assert missing in told[0]
    assert "Traceback" not in done.stderr
    assert not path.with_suffix(".events").exists()
