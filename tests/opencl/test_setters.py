"""Arguments that functions made by others set, many by one call, are known for what they are."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.trace.reader import Trace
from tests.conftest import Finished, finished
from tests.opencl.after import HEAD, After

pytestmark = pytest.mark.opencl

ARGUMENTS = """
SELECT position, kind, size_bytes, dtype, value FROM v_launch_arg ORDER BY launch_id, position
"""

MANY = """
text = '''
kernel void many(
    global int *a, local int *l, global int *none, float2 both,
    char c, uchar b, short h, ushort H, int i, uint I, long q, ulong Q, float f, double d) {}
'''
many = cl.Kernel(cl.Program(context, text).build(), 'many')
import struct
import sys
"""


HOOKS = ("--layer", "off")
"""These tests are about the hooks of setters. The layer sees what the driver is given."""


def known(trace: Trace) -> list[int]:
    return [one for (one,) in trace.rows("SELECT arguments_known FROM v_launch ORDER BY launch_id")]


def test_every_kind_of_argument_is_seen(after: After) -> None:
    with after(
        MANY + "memory = buffer(96)\n"
        "many._set_arg_multi((0, memory, 1, cl.LocalMemory(32), 2, None))\n"
        "many._set_arg_buf_multi((3, struct.pack('ff', 1.5, 2.5)))\n"
        "many._set_arg_buf_pack_multi((\n"
        "    4, b'c', 300, 5, b'B', -1, 6, b'h', -2, 7, b'H', 65535, 8, b'i', np.int8(-4), 9, b'I', 5,\n"
        "    10, b'l', 6, 11, b'L', 2**64 - 1, 12, b'f', 0.1, 13, b'd', np.float32(0.5)))\n"
        "cl.enqueue_nd_range_kernel(queue, many, (1,), (1,)).wait()\n",
        *HOOKS,
    ) as trace:
        assert known(trace) == [1]
        rows = trace.rows(ARGUMENTS)
        assert [row[1] for row in rows] == ["buffer", "local", "null", *["scalar"] * 11]
        assert rows[1][2] == 32
        assert rows[3][4] == struct.pack("ff", 1.5, 2.5)
        numbers = [np.frombuffer(value, dtype)[0] for *_, dtype, value in rows[4:]]
        assert numbers == [44, 255, -2, 65535, -4, 5, 6, 2**64 - 1, np.float32(0.1), 0.5]


def test_arguments_set_one_by_one_past_set_arg_are_seen(after: After) -> None:
    with after(
        "text = 'kernel void k(global int *a, global int *b, int n) {}'\n"
        "k = cl.Kernel(cl.Program(context, text).build(), 'k')\n"
        "memory = buffer()\n"
        "k.set_args(memory, memory, np.int32(1))\n"
        "k._set_arg_null(0)\n"
        "k._set_arg_buf(2, np.int32(7))\n"
        "cl.enqueue_nd_range_kernel(queue, k, (1,), None).wait()\n",
        *HOOKS,
    ) as trace:
        assert [row[1] for row in trace.rows(ARGUMENTS)] == ["null", "buffer", "scalar"]
        assert trace.rows(ARGUMENTS)[2][4] == struct.pack("i", 7)


def test_set_args_says_what_the_kernel_gets(after: After) -> None:
    with after(
        "import pyopencl.array\n"
        "from pyopencl.tools import VectorArg\n"
        "text = 'kernel void k(global float *x, long offset, float2 z, short n) {}'\n"
        "k = cl.Kernel(cl.Program(context, text).build(), 'k')\n"
        "k.set_arg_types([VectorArg(np.float32, 'x', with_offset=True), np.complex64, np.int16])\n"
        "x = cl.array.zeros(queue, 16, np.float32)\n"
        "k.set_args(x[4:], 1.5 + 2.5j, -3)\n"
        "cl.enqueue_nd_range_kernel(queue, k, (1,), None).wait()\n"
        "k(queue, (1,), None, x[4:], 1.5 + 2.5j, -3).wait()\n"
    ) as trace:
        rows = trace.rows(
            "SELECT a.position, a.kind, a.value FROM v_launch_arg a JOIN v_command c USING (launch_id) "
            "WHERE c.kernel = 'k' ORDER BY c.command_id, a.position"
        )
        of_one = [
            (0, "buffer", None),
            (1, "scalar", struct.pack("q", 16)),
            (2, "scalar", struct.pack("ff", 1.5, 2.5)),
            (3, "scalar", struct.pack("h", -3)),
        ]
        assert rows == of_one * 2


def test_a_lane_and_others_take_turns(after: After) -> None:
    with after(
        "other = cl.Kernel.from_int_ptr(kernel.int_ptr, True)\n"
        "sizes = [buffer(64 * one) for one in range(1, 6)]\n"
        "def bare(): cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)\n"
        "kernel(queue, (1,), None, sizes[0])\n"
        "kernel._set_arg_multi((0, sizes[1])); bare()\n"
        "kernel(queue, (1,), None, sizes[2])\n"
        "bare()\n"  # what the lane set: not known
        "other._set_arg_multi((0, sizes[3]))\n"
        "kernel(queue, (1,), None, sizes[4])\n"
        "bare()\n"  # what the lane of another object of this kernel set: not known
        "queue.finish()\n",
        *HOOKS,
    ) as trace:
        sizes = trace.rows(
            "SELECT l.arguments_known, b.size_bytes FROM v_command c JOIN v_launch l USING (launch_id) "
            "LEFT JOIN v_launch_arg a USING (launch_id) LEFT JOIN v_buffer b USING (buffer_id) "
            "ORDER BY c.command_id"
        )
        unknown = (0, None)
        assert sizes == [(1, 64), (1, 128), (1, 192), unknown, (1, 320), unknown]


def test_arguments_are_unknown_after_some_of_several_could_not_be_set(after: After) -> None:
    with after(
        "text = 'kernel void k(global int *a, int n) {}'\n"
        "two = cl.Kernel(cl.Program(context, text).build(), 'k')\n"
        "first, second = buffer(64), buffer(128)\n"
        "two._set_arg_multi((0, first, 1, np.int32(3)))\n"
        "cl.enqueue_nd_range_kernel(queue, two, (1,), None)\n"
        "try: two._set_arg_multi((0, second, 1, 'x'))\n"
        "except Exception as error: print(error)\n"
        "else: raise AssertionError\n"
        "cl.enqueue_nd_range_kernel(queue, two, (1,), None).wait()\n",
        *HOOKS,
    ) as trace:
        assert known(trace) == [1, 0]


def test_a_kernel_made_before_tracing_has_arguments(tmp_path: Path) -> None:
    done = python(
        HEAD + "import cltrace\n"
        "kernel(queue, (1,), None, buffer(64)).wait()\n"
        "with cltrace.trace('t.cltrace'): kernel(queue, (1,), None, buffer(256)).wait()\n"
        "kernel(queue, (1,), None, buffer(64)).wait()\n"
        "assert not hasattr(cl.Kernel._set_arg_multi, '__wrapped__')\n",
        tmp_path,
    )
    assert done.status == 0, done.stderr
    with cltrace.load(tmp_path / "t.cltrace") as trace:
        sizes = "SELECT b.size_bytes FROM v_buffer b JOIN v_launch_arg USING (buffer_id)"
        assert known(trace) == [1]
        assert trace.rows(sizes) == [(256,)]


def test_a_launch_by_a_lane_meets_no_hook_of_the_methods_that_set(after: After) -> None:
    """It is the loop that must be cheap. What a profiler of Python sees says which functions ran."""
    with after(
        "memory = buffer()\n"
        "kernel(queue, (1,), None, memory)\n"
        "names = set()\n"
        "def profiler(frame, event, arg):\n"
        "    names.add(getattr(arg, '__name__', '') if event == 'c_call' else frame.f_code.co_name)\n"
        "sys.setprofile(profiler)\n"
        "kernel(queue, (1,), None, memory)\n"
        "sys.setprofile(None)\n"
        "queue.finish()\n"
        "assert 'enqueue_knl_k' in names and not names & {'hook', '_remember'}, names\n"
    ) as trace:
        assert known(trace) == [1]


def test_a_traceback_of_one_that_fails_is_the_programs_own(tmp_path: Path) -> None:
    code = HEAD + "kernel._set_arg_multi((0, 'x'))\n"
    native = python(code, tmp_path)
    command = ("-m", "cltrace", "run", "-q", "-o", "t.cltrace", "program.py")
    traced = python(code, tmp_path, *command)
    assert native.status == traced.status == 1
    assert native.stderr == traced.stderr


def python(code: str, directory: Path, *words: str) -> Finished:
    """Run `code` as program.py, by itself or under the words of another command."""
    (directory / "program.py").write_text(code)
    return finished([sys.executable, *(words or ("program.py",))], directory)
