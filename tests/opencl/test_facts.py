"""What a trace says of arguments, queues, programs, memory and regions is right, whatever came before."""

import pytest

from tests.opencl.after import After

pytestmark = pytest.mark.opencl

ARGUMENT_SIZES = """
SELECT b.size_bytes FROM v_command c JOIN v_launch_arg a USING (launch_id)
JOIN v_buffer b USING (buffer_id) ORDER BY c.command_id
"""


def test_arguments_are_those_of_the_launch_however_they_were_set(after: After) -> None:
    with after(
        "large, small = buffer(4096), buffer(64)\n"
        "kernel(queue, (1,), None, small)\n"
        "kernel.set_args(large)\n"
        "kernel(queue, (1,), None, small)\n"
        "kernel.set_args(large)\n"
        "cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)\n"
        "import cltrace\n"
        "cltrace.pause(); kernel.set_args(small); cltrace.resume()\n"
        "cl.enqueue_nd_range_kernel(queue, kernel, (1,), None).wait()\n"
    ) as trace:
        assert [size for (size,) in trace.rows(ARGUMENT_SIZES)] == [64, 64, 4096, 64]


def test_arguments_that_a_lane_set_are_not_taken_for_others(after: After) -> None:
    with after(
        "large, small = buffer(4096), buffer(64)\n"
        "kernel(queue, (1,), None, small)\n"
        "kernel.set_arg(0, large)\n"
        "kernel(queue, (1,), None, small)\n"
        "cl.enqueue_nd_range_kernel(queue, kernel, (1,), None).wait()\n"
    ) as trace:
        sizes = [size for (size,) in trace.rows(ARGUMENT_SIZES)]
        assert 4096 not in sizes


def test_shared_memory_at_the_same_address_is_another(after: After) -> None:
    with after(
        "for _ in range(30):\n"
        "    svm = cl.SVMAllocation(context, 1 << 20, 64, cl.svm_mem_flags.READ_WRITE)\n"
        "    kernel(queue, (1,), None, svm); queue.finish(); svm.release()\n"
    ) as trace:
        found = trace.rows(
            "SELECT count(DISTINCT a.buffer_id) FROM v_command c JOIN v_launch_arg a USING (launch_id)"
        )
        assert found == [(30,)]


def test_a_program_made_while_paused_is_not_taken_for_an_earlier_one(after: After) -> None:
    with after(
        "import cltrace\n"
        "def launch(text):\n"
        "    one = cl.Kernel(cl.Program(context, text).build(), 'k')\n"
        "    return one\n"
        "first = launch(source); first(queue, (1,), None, buffer()).wait()\n"
        "cltrace.pause(); del first; gc.collect()\n"
        "second = launch(source.replace('7', '8')); cltrace.resume()\n"
        "second(queue, (1,), None, buffer()).wait()\n"
    ) as trace:
        sources = trace.rows(
            "SELECT p.source FROM v_command c JOIN v_launch USING (launch_id) "
            "JOIN v_kernel k USING (kernel_id) JOIN v_program p USING (program_id) "
            "WHERE c.kind = 'kernel' ORDER BY c.command_id"
        )
        assert ["8" in source for (source,) in sources] == [False, True]


def test_a_queue_is_itself_after_another_ones_block(after: After) -> None:
    with after(
        "other = cl.CommandQueue(context); event = cl.enqueue_marker(other); kept = []\n"
        "with cl.CommandQueue(context) as inner: where = id(inner)\n"
        "del inner\n"
        "for _ in range(1000):\n"
        "    again = event.command_queue\n"
        "    cl.enqueue_barrier(again)\n"
        "    if id(again) == where: break\n"
        "    kept.append(again)\n"
    ) as trace:
        found = trace.rows("SELECT count(DISTINCT queue_id) FROM v_command")
        assert found == [(1,)]


def test_a_user_event_is_no_command(after: After) -> None:
    with after(
        "memory = buffer()\n"
        "for _ in range(50):\n"
        "    for _ in range(4): kernel(queue, (1,), None, memory)\n"
        "    queue.finish(); time.sleep(0.002)\n"
        "    held = cl.UserEvent(context)\n"
        "    marker = cl.enqueue_marker(queue, [held])\n"
        "    held.set_status(cl.command_execution_status.COMPLETE); marker.wait()\n"
    ) as trace:
        assert trace.rows("SELECT count(*) FROM v_edge") == [(0,)]
        kinds = trace.rows(
            "SELECT DISTINCT a.api, c.kind FROM v_wait JOIN v_api_call a USING (call_id) "
            "JOIN v_command c ON c.command_id = v_wait.command_id"
        )
        assert kinds == [("clWaitForEvents", "marker")]


def test_a_part_of_a_buffer_that_is_written_is_not_the_old_whole(after: After) -> None:
    with after(
        "zeros = np.zeros(1024, 'i4')\n"
        "whole = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=zeros)\n"
        "cl.enqueue_copy(queue, whole[0:2048], np.full(512, 5, 'i4'))\n"
        "kernel(queue, (1,), None, whole).wait()\n",
        "--capture-buffers",
        "1",
    ) as trace:
        assert trace.rows("SELECT count(*) FROM v_content") == [(0,)]


def test_an_image_is_an_image(after: After) -> None:
    with after(
        "form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)\n"
        "image = cl.Image(context, flags.READ_ONLY, form, shape=(8, 8))\n"
        "text = 'kernel void p(read_only image2d_t i, global int *a) { a[0] = get_image_width(i); }'\n"
        "cl.Kernel(cl.Program(context, text).build(), 'p')(queue, (1,), None, image, buffer()).wait()\n"
    ) as trace:
        kinds = trace.rows("SELECT kind FROM v_launch_arg ORDER BY position")
        assert kinds == [("image",), ("buffer",)]


def test_arguments_are_unknown_after_some_could_not_be_set(after: After) -> None:
    with after(
        "text = 'kernel void two(global int *a, int n) { a[0] = n; }'\n"
        "two = cl.Kernel(cl.Program(context, text).build(), 'two')\n"
        "two.set_scalar_arg_dtypes([None, np.int32])\n"
        "first, second = buffer(64), buffer(128)\n"
        "two.set_args(first, 1)\n"
        "try: two.set_args(second, 'x')\n"
        "except Exception: pass\n"
        "cl.enqueue_nd_range_kernel(queue, two, (1,), None).wait()\n",
        "--layer",
        "off",
    ) as trace:
        assert trace.rows("SELECT arguments_known FROM v_launch") == [(0,)]


def test_a_region_belongs_to_the_thread_that_entered_it(after: After) -> None:
    with after(
        "import cltrace\n"
        "shared = cltrace.region('shared')\n"
        "def work(seconds):\n"
        "    with shared: time.sleep(seconds)\n"
        "threads = [threading.Thread(target=work, args=(one,)) for one in (0.4, 0.1)]\n"
        "for one in threads: one.start(); time.sleep(0.02)\n"
        "for one in threads: one.join()\n"
        "kernel(queue, (1,), None, buffer()).wait()\n"
    ) as trace:
        took = sorted(ns for (ns,) in trace.rows("SELECT duration_ns FROM v_region"))
        assert 0.09e9 < took[0] < 0.3e9 < 0.39e9 < took[1]
