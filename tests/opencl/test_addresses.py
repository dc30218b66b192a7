"""Addresses that tracing takes of a program, which may have a limit of them (`RLIMIT_AS`)."""

import sys
from pathlib import Path

import pytest

from tests.conftest import Runner

pytestmark = pytest.mark.opencl

PROGRAM = """
import sys, time
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
for _ in range(10):
    for _ in range(100): kernel(queue, (1,), None)
    queue.finish()
    time.sleep(0.05)
sizes = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize")]
print(sizes[0])
"""
LAYERS = pytest.mark.parametrize("layer", ["auto", "off"])
MAX_MIB = {"limited": 6, "unlimited": 150}
"""Without a limit, the C library reserves 64 MiB for each thread that allocates."""
MAX_OWN_MIB = {"auto": 1.25, "off": 5}
"""Of a program with one heap, traced or not."""
LIMIT_KB = 4_000_000


@LAYERS
@pytest.mark.parametrize("limit", MAX_MIB)
def test_tracing_takes_few_addresses(layer: str, limit: str, run: Runner, tmp_path: Path) -> None:
    plain, traced = sizes_mib(layer, limit, run, tmp_path, {})
    assert traced - plain < MAX_MIB[limit]


@LAYERS
def test_tracing_itself_takes_few_addresses(layer: str, run: Runner, tmp_path: Path) -> None:
    # Where tracing decides the number of heaps, a program with threads has fewer than untraced. Python's
    # own allocator takes 1 MiB at a time: which program is just short of the next differs by its names.
    exact = {"MALLOC_ARENA_MAX": "1", "PYTHONMALLOC": "malloc"}
    plain, traced = sizes_mib(layer, "limited", run, tmp_path, exact)
    assert plain < traced < plain + MAX_OWN_MIB[layer]


@LAYERS
def test_a_number_of_heaps_that_the_program_chose_is_kept(
    layer: str, run: Runner, tmp_path: Path
) -> None:
    plain, traced = sizes_mib(layer, "limited", run, tmp_path, {"MALLOC_ARENA_MAX": "5"})
    assert traced >= plain


def sizes_mib(
    layer: str, limit: str, run: Runner, tmp_path: Path, environment: dict[str, str]
) -> tuple[float, float]:
    """Return the addresses that the program has in the end, untraced and traced."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    quiet = {"OPENBLAS_NUM_THREADS": "1"} | environment
    shell = ["sh", "-c", f'ulimit -v {LIMIT_KB}; exec "$@"', "sh"]
    before = shell if limit == "limited" else []
    flags = ("-q", "-f", "--layer", layer, "-o", "t.cltrace", sys.executable, program)
    plain = run(program, command=[*before, sys.executable], env=quiet).stdout
    traced = run(
        "run", *flags, command=[*before, sys.executable, "-m", "cltrace"], env=quiet
    ).stdout
    return int(plain) / 1024, int(traced) / 1024
