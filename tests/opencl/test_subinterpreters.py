"""A program with a second interpreter: Python then says in every thread that it has the lock."""

from pathlib import Path

import pytest

import cltrace
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

PROGRAM = """
import pyopencl as cl
try: import _xxsubinterpreters as interpreters
except ImportError: import _interpreters as interpreters
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k() { }").build(), "k")
other = interpreters.create()
try: print(interpreters.run_string(other, "import pyopencl"))
except Exception as error: print(type(error).__name__)
for _ in range(3): kernel(queue, (1,), None)
queue.finish()
interpreters.destroy(other)
for _ in range(4): kernel(queue, (1,), None)
queue.finish()
print("end")
"""


@pytest.mark.parametrize("layer", ["auto", "off"])
def test_a_second_interpreter_does_no_harm(layer: str, run: Runner, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    done = run("run", "-q", "--layer", layer, "-o", "t.cltrace", "p.py")
    assert done.status == 0, done.stderr
    assert done.stdout.endswith("end\n")
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        assert trace.rows("SELECT count(*) FROM v_command WHERE kind = 'kernel'") == [(7,)]
        assert trace.meta["state"] == "complete"
