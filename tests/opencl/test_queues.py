"""Queues of all kinds, from all threads, on several devices."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cltrace.trace.reader import Trace
from tests.conftest import Runner

pytestmark = pytest.mark.opencl

Traced = Callable[..., Trace]

HEAD = """
import sys, threading
import numpy as np, pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
program = cl.Program(context, "kernel void f(global int *a) { a[get_global_id(0)]++; }").build()
properties = cl.command_queue_properties
"""


def test_threads_with_a_queue_each(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
def work(number):
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(program, "f")
    memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    for _ in range(200 + number): kernel(queue, (16,), None, memory)
    queue.finish()
threads = [threading.Thread(target=work, args=(n,), name=f"worker {n}") for n in range(6)]
for one in threads: one.start()
for one in threads: one.join()
""",
        code=True,
    )
    rows = trace.rows(
        "SELECT t.name, count(*), count(DISTINCT c.queue_id), count(c.end_device_ns) "
        "FROM v_command c JOIN v_thread t USING (thread_id) "
        "WHERE c.kind = 'kernel' GROUP BY t.thread_id ORDER BY t.name"
    )
    assert rows == [(f"worker {n}", 200 + n, 1, 200 + n) for n in range(6)]
    assert trace.rows("SELECT count(DISTINCT queue_id) FROM v_command") == [(6,)]


def test_one_kernel_object_from_many_threads(traced: Traced, tmp_path: Path) -> None:
    """Each launch is its thread's, with the buffer that the device changed.

    That may be another thread's, as it sets the argument between this one's setting and its launch.
    """
    changed = tmp_path / "changed"
    trace = traced(
        HEAD
        + f"""
kernel = program.f
queue = cl.CommandQueue(context)
zeros = np.zeros(16, np.int32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
memory = [cl.Buffer(context, flags, hostbuf=zeros) for _ in range(4)]
sys.setswitchinterval(1e-6)
def work(number):
    for _ in range(500): kernel(queue, (16,), None, memory[number])
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for one in threads: one.start()
for one in threads: one.join()
found = [np.empty_like(zeros) for _ in memory]
for target, source in zip(found, memory): cl.enqueue_copy(queue, target, source)
open({str(changed)!r}, "w").write(" ".join(str(each[0]) for each in found))
""",
        code=True,
    )
    launches = (
        "FROM v_command c JOIN v_launch_arg a USING (launch_id) WHERE c.kind = 'kernel' GROUP BY 1"
    )
    assert [row[1] for row in trace.rows(f"SELECT c.thread_id, count(*) {launches}")] == [500] * 4
    by_buffer = trace.rows(f"SELECT a.buffer_id, count(*) {launches} ORDER BY 1")
    assert [row[1] for row in by_buffer] == [int(word) for word in changed.read_text().split()]
    assert len(by_buffer) == 4


def test_out_of_order_queues_and_wait_lists(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
queue = cl.CommandQueue(context, properties=properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
assert queue.properties == properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
kernel = program.f
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
a = kernel(queue, (16,), None, memory)
b = kernel(queue, (16,), None, memory, wait_for=[a])
c = kernel(queue, (16,), None, memory, wait_for=[a, b])
d = cl.enqueue_marker(queue, wait_for=[b, c])
cl.wait_for_events([c, d])
""",
        code=True,
    )
    assert trace.rows("SELECT out_of_order, profiling FROM v_queue") == [(1, 1)]
    first = trace.rows("SELECT min(command_id) FROM v_command WHERE kind = 'kernel'")[0][0]
    edges = trace.rows("SELECT command_id, waits_for_command_id FROM v_edge ORDER BY 1, 2")
    assert [(one - first, other - first) for one, other in edges] == [
        (1, 0), (2, 0), (2, 1), (3, 1), (3, 2),
    ]  # fmt: skip
    waited = trace.rows(
        "SELECT w.command_id FROM v_wait w JOIN v_api_call c USING (call_id) "
        "WHERE c.api = 'clWaitForEvents' ORDER BY 1"
    )
    assert [one - first for (one,) in waited] == [2, 3]


def test_several_devices(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
count = min(2, device.max_compute_units)
parts = device.create_sub_devices([cl.device_partition_property.BY_COUNTS] + [1] * count
                                  + [cl.device_partition_property.BY_COUNTS_LIST_END])
context = cl.Context(parts)
program = cl.Program(context, "kernel void f(global int *a) { a[get_global_id(0)]++; }").build()
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
for part in parts:
    queue = cl.CommandQueue(context, part)
    cl.Kernel(program, "f")(queue, (16,), None, memory)
    queue.finish()
print(count)
""",
        code=True,
    )
    rows = trace.rows(
        "SELECT d.device_id, d.parent_device_id IS NOT NULL, count(*) FROM v_command c "
        "JOIN v_device d USING (device_id) WHERE c.kind = 'kernel' GROUP BY 1"
    )
    assert rows
    assert all(row[1:] == (1, 1) for row in rows)
    parts = trace.rows("SELECT count(*) FROM v_device WHERE parent_device_id IS NOT NULL")
    assert parts == [(len(rows),)]


@pytest.mark.parametrize(
    "asked",
    [
        "None",
        "'nonsense'",
        "1 << 62",
        "[1, 2, 3]",
        "0",
        "properties.PROFILING_ENABLE",
        "[cl.queue_properties.PROPERTIES, 0]",
        "[cl.queue_properties.PROPERTIES, properties.OUT_OF_ORDER_EXEC_MODE_ENABLE]",
    ],
)
def test_a_queue_has_the_properties_that_it_was_asked_for(
    asked: str, run: Runner, traced: Traced
) -> None:
    code = HEAD + (
        f"queue = cl.CommandQueue(context, properties={asked})\n"
        "info = cl.command_queue_info\n"
        "print(queue.properties, queue.get_info(info.PROPERTIES), queue.context == context)\n"
        "queue2 = cl.CommandQueue(context, device, properties.PROFILING_ENABLE)\n"
        "print(queue2.properties)\n"
    )
    plain = run("-c", code, command=[sys.executable])
    done = run("run", "-q", "-o", "t.cltrace", sys.executable, "-c", code)
    assert (done.status, done.stdout) == (plain.status, plain.stdout)
    assert done.stderr == plain.stderr
    if plain.status:
        return
    trace = traced(code, code=True)
    wanted = int("PROFILING" in asked)
    assert trace.rows("SELECT profiling, profiling_forced FROM v_queue ORDER BY queue_id") == [
        (1, 1 - wanted),
        (1, 0),
    ]


def test_a_command_that_fails_on_the_device(traced: Traced) -> None:
    trace = traced(
        HEAD
        + """
queue = cl.CommandQueue(context)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
held = cl.UserEvent(context)
failed = cl.Kernel(program, "f")(queue, (16,), None, memory, wait_for=[held])
held.set_status(-5)
try:
    failed.wait()
except cl.Error as error:
    print(error)
cl.Kernel(program, "f")(cl.CommandQueue(context), (16,), None, memory).wait()
""",
        code=True,
    )
    rows = trace.rows(
        "SELECT execution_status < 0 FROM v_command WHERE kind = 'kernel' ORDER BY command_id"
    )
    assert rows == [(1,), (0,)]
