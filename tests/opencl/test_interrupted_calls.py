"""Calls that exceptions of signal handlers end: the layer records them, hooks tell of them."""

from pathlib import Path

import pytest

import cltrace
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

INTERRUPTED = """
import signal, sys
alarm = {signal.SIGALRM}
signal.pthread_sigmask(signal.SIG_BLOCK, alarm)  # in threads of libraries, which inherit it
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k(global int *a) { a[0]++; }").build(), "k")
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
memory = cl.Buffer(context, flags, hostbuf=np.zeros(1, "i4"))
class Interrupt(Exception): pass
def interrupt(number, frame):
    global is_interrupted
    is_interrupted = True  # an exception may come up in a destructor, where Python drops it
    if sys.argv[1] == "own": raise Interrupt
    signal.default_int_handler(number, frame)
signal.signal(signal.SIGALRM, interrupt)
kernel(queue, (1,), None, memory)
queue.finish()
signal.pthread_sigmask(signal.SIG_UNBLOCK, alarm)  # Python sees late what another thread gets
for _ in range(int(sys.argv[2])):
    is_interrupted = False
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0007)
        while not is_interrupted: kernel(queue, (1,), None, memory)
        print("dropped", file=sys.stderr)
    except (Interrupt, KeyboardInterrupt): pass
result = np.zeros(1, "i4")
cl.enqueue_copy(queue, result, memory)
print(result[0])
"""
"""A program whose signal handlers interrupt launches by exceptions. It prints how many were executed."""


@pytest.mark.parametrize("layer", ["auto", "off"])
@pytest.mark.parametrize("handler", ["own", "default"])
def test_interrupted_launches_are_recorded_or_told(
    handler: str, layer: str, run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "t.cltrace"
    done = run("run", "-q", "--layer", layer, "-o", path, "-c", INTERRUPTED, handler, "100")
    assert done.status == 0, done.stderr
    with cltrace.load(path) as trace:
        recorded = trace.rows("SELECT count(*) FROM v_command WHERE kind = 'kernel'")[0][0]
    missing = int(done.stdout) - recorded
    assert 0 <= missing <= 100
    assert not missing or "interrupted-call" in run("info", path).stdout
    if layer == "auto":
        assert not missing
