"""Launches in every form that programs use: what changes from launch to launch is in the trace."""

import struct

import numpy as np
import pytest

from cltrace.trace.reader import Trace
from tests.opencl.after import After

pytestmark = pytest.mark.opencl

SIZES = """
SELECT l.global_size, l.local_size, l.global_offset FROM command c JOIN launch l ON l.id = c.launch_id
ORDER BY c.enter_host_ns
"""
VALUES = """
SELECT a.value FROM command c JOIN launch_arg a ON a.launch_id = c.launch_id
WHERE a.position = 1 ORDER BY c.enter_host_ns
"""
BUFFERS = """
SELECT a.buffer_id FROM command c JOIN launch_arg a ON a.launch_id = c.launch_id
WHERE a.position = 0 ORDER BY c.enter_host_ns
"""

TWO = """
import numpy as np
program = cl.Program(context, 'kernel void scale(global float *a, float f) { a[get_global_id(0)] *= f; }')
scale = cl.Kernel(program.build(), 'scale')
memory = cl.Buffer(context, 0, 4096)
"""


def sizes(trace: Trace) -> list[tuple[object, ...]]:
    return [tuple(row) for row in trace.rows(SIZES)]


def factors(trace: Trace) -> list[float]:
    return [struct.unpack("<f", value)[0] for (value,) in trace.rows(VALUES)]


def test_every_form_of_sizes_is_recorded_as_it_was_passed(after: After) -> None:
    with after(
        TWO + "one = np.float32(1)\n"
        "scale(queue, (8,), None, memory, one)\n"
        "size = [16]\n"
        "scale(queue, size, [4], memory, one)\n"
        "size[0] = 32\n"
        "scale(queue, size, [4], memory, one)\n"
        "scale(queue, np.array([8]), None, memory, one)\n"
        "scale(queue, (2,), (4,), memory, one, g_times_l=True)\n"
        "scale(queue, (8,), None, memory, one, global_offset=(4,))\n"
        "scale(queue, (8, 1), (4, 1), memory, one)\n"
        "scale.set_args(memory, one)\n"
        "cl.enqueue_nd_range_kernel(queue, scale, (8,), None, global_work_offset=(3,))\n"
        "cl.enqueue_nd_range_kernel(queue, scale, [8], (2,), [1], None, True)\n"
        "cl.enqueue_nd_range_kernel(queue, scale, global_work_size=(8,), local_work_size=None)\n"
        "queue.finish()\n"
    ) as trace:
        assert sizes(trace) == [
            ("[8]", None, None),
            ("[16]", "[4]", None),
            ("[32]", "[4]", None),
            ("[8]", None, None),
            ("[8]", "[4]", None),
            ("[8]", None, "[4]"),
            ("[8, 1]", "[4, 1]", None),
            ("[8]", None, "[3]"),
            ("[16]", "[2]", "[2]"),
            ("[8]", None, None),
        ]
        assert trace.rows("SELECT count(*) FROM diagnostic WHERE severity = 'error'") == [(0,)]


def test_a_scalar_that_changes_at_every_launch_is_known_at_every_launch(after: After) -> None:
    with after(
        TWO + "for number in range(300):\n"
        "    scale(queue, (8,), None, memory, np.float32(number))\n"
        "scale.set_args(memory, np.float32(-1))\n"
        "for number in range(300):\n"
        "    scale.set_arg(1, np.float32(number))\n"
        "    cl.enqueue_nd_range_kernel(queue, scale, (8,), None)\n"
        "queue.finish()\n"
    ) as trace:
        assert factors(trace) == [*range(300), *range(300)]
        assert trace.rows("SELECT count(DISTINCT launch_id) FROM command") == [(300,)]


def test_launches_with_arguments_of_other_types_than_the_first_are_known(after: After) -> None:
    with after(
        TWO
        + "for factor in (np.float32(1), np.array(2, np.float32), np.float32(3), np.float32(4)):\n"
        "    scale(queue, (8,), None, memory, factor)\n"
        "queue.finish()\n"
    ) as trace:
        assert factors(trace) == [1, 2, 3, 4]


def test_a_buffer_at_the_address_of_an_earlier_one_is_another(after: After) -> None:
    with after(
        TWO + "for number in range(50):\n"
        "    memory = cl.Buffer(context, 0, 64)\n"
        "    scale(queue, (8,), None, memory, np.float32(number))\n"
        "    queue.finish()\n"
        "    del memory\n"
    ) as trace:
        used = [number for (number,) in trace.rows(BUFFERS)]
        handles = trace.rows(
            "SELECT count(*) FROM buffer WHERE size_bytes = 64 AND fate = 'released'"
        )
        assert len(set(used)) == 50
        assert used == sorted(used)
        assert handles[0][0] >= 49


def test_each_launch_of_arrays_uses_its_own_result(after: After) -> None:
    with after(
        TWO + "import pyopencl.array as ca\n"
        "x = ca.to_device(queue, np.arange(64, dtype=np.float32))\n"
        "for _ in range(20):\n"
        "    y = x + x\n"
        "queue.finish()\n"
    ) as trace:
        results = trace.rows(BUFFERS)
        assert len(set(results)) == len(results) == 20
        sites = trace.rows("SELECT count(DISTINCT site_id) FROM command WHERE launch_id NOT NULL")
        assert sites == [(1,)]


def test_a_structure_is_recorded_by_its_bytes(after: After) -> None:
    kind = np.dtype([("a", "i4"), ("b", "f4"), ("c", "i4")])
    with after(
        "import numpy as np\n"
        "text = '''typedef struct { int a; float b; int c; } s;\n"
        "kernel void f(global int *o, s v) { o[0] = v.a; }'''\n"
        "f = cl.Kernel(cl.Program(context, text).build(), 'f')\n"
        "memory = cl.Buffer(context, 0, 64)\n"
        "value = np.zeros((), [('a', 'i4'), ('b', 'f4'), ('c', 'i4')])\n"
        "for number in range(3):\n"
        "    value['a'] = number\n"
        "    f(queue, (1,), None, memory, value[()])\n"
        "queue.finish()\n"
    ) as trace:
        values = [np.frombuffer(value, kind)[0]["a"] for (value,) in trace.rows(VALUES)]
        assert values == [0, 1, 2]
