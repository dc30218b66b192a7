"""Addresses that tracing takes of a program, which may have a limit of them (`RLIMIT_AS`)."""

import sys
from pathlib import Path

import pytest

from tests.conftest import Runner

pytestmark = pytest.mark.opencl

PROGRAM = """
import sys
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
for _ in range(1000): kernel(queue, (1,), None)
queue.finish()
sizes = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize")]
print(sizes[0])
"""
MAX_MIB = {"auto": 8, "off": 90}
ROUNDS = 3
"""Threads of the driver may reserve memory at their first allocation, in some runs."""


@pytest.mark.parametrize("layer", MAX_MIB)
def test_tracing_takes_few_addresses(layer: str, run: Runner, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    quiet = {"OPENBLAS_NUM_THREADS": "1"}
    flags = ("run", "-q", "-f", "--layer", layer, "-o", "t.cltrace", sys.executable)
    plain, traced = [], []
    for _ in range(ROUNDS):
        plain.append(int(run(program, command=[sys.executable], env=quiet).stdout))
        traced.append(int(run(*flags, program, env=quiet).stdout))
    assert min(traced) - min(plain) < MAX_MIB[layer] * 1024
