"""Device memory: what is made, where, how much is live, and when it goes."""

from collections.abc import Callable

import pytest

from cltrace.trace.reader import Trace

pytestmark = pytest.mark.opencl

Traced = Callable[..., Trace]

HEAD = """
import gc
import numpy as np, pyopencl as cl, pyopencl.array, pyopencl.tools
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
flags = cl.mem_flags
def make(size, **options): return cl.Buffer(context, flags.READ_WRITE, size, **options)
"""


def test_counts_what_is_live(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
kept = make(1000)
for _ in range(10):
    temporary = make(1 << 20)
del temporary
two = [make(3 << 20), make(3 << 20)]
two.clear()
late = make(500)
""",
        code=True,
    )
    rows = trace.rows("SELECT size_bytes, fate, count(*) FROM v_buffer GROUP BY 1, 2 ORDER BY 1, 2")
    assert rows == [
        (500, "at-exit", 1),
        (1000, "at-exit", 1),
        (1 << 20, "released", 10),
        (3 << 20, "released", 2),
    ]
    # `temporary` is bound to the new buffer before the old one goes: two of them are live at once.
    assert trace.rows("SELECT memory_peak_bytes FROM v_process") == [((6 << 20) + 1000,)]
    spans = trace.rows(
        "SELECT known_host_ns, released_after_host_ns, released_before_host_ns FROM v_buffer "
        "WHERE fate = 'released'"
    )
    assert all(known <= before and after <= before for known, after, before in spans)


def test_a_handle_used_again_is_another_object(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
program = cl.Program(context, "kernel void f(global int *a) {}").build()
kernel = program.f
for size in range(64, 64 + 50):
    memory = make(size)
    kernel(queue, (1,), None, memory)
    queue.finish()
    memory.release()
""",
        code=True,
    )
    rows = trace.rows(
        "SELECT b.size_bytes, count(*) FROM v_command c JOIN v_launch_arg a USING (launch_id) "
        "JOIN v_buffer b ON b.buffer_id = a.buffer_id WHERE c.kind = 'kernel' GROUP BY 1 ORDER BY 1"
    )
    assert rows == [(size, 1) for size in range(64, 64 + 50)]
    assert trace.rows("SELECT DISTINCT fate FROM v_buffer") == [("released",)]


def test_names_the_place_of_what_is_left(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
def forgotten():
    leak = make(4096)
    leak.int_ptr and cl.Buffer.from_int_ptr(leak.int_ptr, retain=True)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(leak))
import ctypes
forgotten()
""",
        code=True,
    )
    rows = trace.rows(
        "SELECT fate, site, function FROM v_buffer JOIN v_site ON "
        "site = file || ':' || line WHERE size_bytes = 4096"
    )
    assert [row[::2] for row in rows] == [("leaked", "make")]


def test_sees_parts_images_pools_and_arrays(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
whole = make(8192)
part = whole.get_sub_region(1024, 2048)
image = cl.Image(context, flags.READ_ONLY, cl.ImageFormat(cl.channel_order.RGBA,
                 cl.channel_type.UNORM_INT8), shape=(16, 8))
pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
for _ in range(20):
    array = cl.array.zeros(queue, 1000, np.float32, allocator=pool)
    queue.finish()
del array
on_device = cl.array.to_device(queue, np.arange(10))
""",
        code=True,
    )
    kinds = dict(trace.rows("SELECT kind, count(*) FROM v_buffer GROUP BY kind"))
    assert kinds["sub-buffer"] == 1
    assert kinds["image"] == 1
    pooled = trace.rows("SELECT count(*) FROM v_buffer WHERE size_bytes BETWEEN 4000 AND 5000")
    assert pooled[0][0] in {1, 2}
    (part,) = trace.rows(
        "SELECT s.origin_bytes, s.size_bytes, w.size_bytes FROM v_buffer s "
        "JOIN v_buffer w ON w.buffer_id = s.parent_buffer_id"
    )
    assert part == (1024, 2048, 8192)
    (image,) = trace.rows("SELECT width, height, size_bytes FROM v_buffer WHERE kind = 'image'")
    assert image == (16, 8, 16 * 8 * 4)
    # A part has no memory of its own.
    peak = trace.rows("SELECT memory_peak_bytes FROM v_process")[0][0]
    whole = trace.rows("SELECT sum(size_bytes) FROM v_buffer WHERE parent_buffer_id IS NULL")[0][0]
    assert 8192 < peak <= whole


def test_never_keeps_a_host_array_or_a_wait_alive(traced: Traced) -> None:
    """A kept `NannyEvent` would hold the array, and take away the wait that dropping it is."""
    traced(
        HEAD
        + """
import sys, weakref
class Mine(np.ndarray): pass
memory = make(1 << 22)
for trip in range(20):
    host = np.full(1 << 20, trip, np.int32).view(Mine)
    reference = weakref.ref(host)
    cl.enqueue_copy(queue, memory, host, is_blocking=False)
    host = None
    assert reference() is None, "the array outlives its last user"
    back = np.empty(1 << 20, np.int32)
    cl.enqueue_copy(queue, back, memory, is_blocking=False)
    assert (back == trip).all(), "the copy was not waited for"
""",
        code=True,
    )


def test_knows_memory_made_before_tracing_by_its_use(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
import cltrace
program = cl.Program(context, "kernel void f(global int *a) {}").build()
cltrace.pause()
memory = make(640)
cltrace.resume()
program.f(queue, (1,), None, memory)
queue.finish()
""",
        code=True,
    )
    rows = trace.rows(
        "SELECT b.size_bytes, b.created_here FROM v_launch_arg a JOIN v_buffer b USING (buffer_id)"
    )
    assert [row[0] for row in rows] == [640]
