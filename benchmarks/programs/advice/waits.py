"""Programs that wait where they need not. See `workload`."""

import numpy as np
import pyopencl as cl
from workload import Variant, buffer, case, context, main, queue, spin, work

SMALL = 900_000
"""Bytes of arrays: below the size from which copies of pageable memory are worth a remark."""


@case("finish-in-loop", "unneeded-wait")
def finish_in_loop() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)

    def before() -> None:
        for _ in range(150):
            spin(x, 200)
            work(12_000)
            queue.finish()

    def after() -> None:
        for _ in range(150):
            spin(x, 200)
            work(12_000)

    return before, after


@case("wait-then-work", "unneeded-wait")
def wait_then_work() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)

    def before() -> None:
        for _ in range(100):
            spin(x, 400).wait()
            work(15_000)

    def after() -> None:
        for _ in range(100):
            spin(x, 400)
            work(15_000)

    return before, after


@case("finish-then-long-work", "unneeded-wait")
def finish_then_long_work() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)

    def before() -> None:
        for _ in range(30):
            spin(x, 2000)
            queue.finish()
            work(60_000)

    def after() -> None:
        for _ in range(30):
            spin(x, 2000)
            work(60_000)

    return before, after


@case("wait-between-kernels", "unneeded-wait")
def wait_between_kernels() -> tuple[Variant, Variant]:
    x, y = buffer(1 << 20), buffer(1 << 20)

    def before() -> None:
        for _ in range(300):
            first = spin(x, 50)
            cl.wait_for_events([first])
            spin(y, 50)

    def after() -> None:
        for _ in range(300):
            spin(x, 50)
            spin(y, 50)

    return before, after


@case("finish-tiny-kernels", "unneeded-wait")
def finish_tiny_kernels() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)

    def before() -> None:
        for _ in range(4000):
            spin(x, 1, 256)
            queue.finish()

    def after() -> None:
        for _ in range(4000):
            spin(x, 1, 256)

    return before, after


@case("wait-for-fills", "unneeded-wait")
def wait_for_fills() -> tuple[Variant, Variant]:
    x = buffer(1 << 22)
    zero = np.float32(0)

    def before() -> None:
        for _ in range(60):
            cl.enqueue_fill_buffer(queue, x, zero, 0, 1 << 22).wait()
            spin(x, 50)
            work(5_000)

    def after() -> None:
        for _ in range(60):
            cl.enqueue_fill_buffer(queue, x, zero, 0, 1 << 22)
            spin(x, 50)
            work(5_000)

    return before, after


@case("wait-between-queues", "unneeded-wait")
def wait_between_queues() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)
    second = cl.CommandQueue(context)
    kernel = spin.__globals__["kernels"]["spin"]

    def launch(where: cl.CommandQueue, wait_for: list[cl.Event] | None = None) -> cl.Event:
        return kernel(where, (4096,), None, x, np.int32(150), wait_for=wait_for)

    def before() -> None:
        for _ in range(100):
            launch(queue).wait()
            work(8_000)
            launch(second).wait()
            work(8_000)

    def after() -> None:
        last: list[cl.Event] = []
        for _ in range(100):
            last = [launch(queue, last)]
            work(8_000)
            last = [launch(second, last)]
            work(8_000)
        second.finish()

    return before, after


@case("finish-in-function", "unneeded-wait")
def finish_in_function() -> tuple[Variant, Variant]:
    x = buffer(1 << 20)

    def step() -> None:
        spin(x, 300)
        queue.finish()

    def before() -> None:
        for _ in range(120):
            step()
            work(4_000)

    def after() -> None:
        for _ in range(120):
            spin(x, 300)
            work(4_000)

    return before, after


@case("blocking-writes", "blocking-write")
def blocking_writes() -> tuple[Variant, Variant]:
    x = buffer(SMALL)
    arrays = [np.zeros(SMALL // 4, np.float32) for _ in range(2)]

    def before() -> None:
        for at in range(120):
            arrays[0][:] = at
            work(3_000)
            cl.enqueue_copy(queue, x, arrays[0])
            spin(x, 200)

    def after() -> None:
        copied: list[cl.Event] = []
        for at in range(120):
            if at > 1:
                copied[at - 2].wait()
            arrays[at % 2][:] = at
            work(3_000)
            copied.append(cl.enqueue_copy(queue, x, arrays[at % 2], is_blocking=False))
            spin(x, 200)
        queue.finish()

    return before, after


@case("blocking-writes-long-kernels", "blocking-write")
def blocking_writes_long_kernels() -> tuple[Variant, Variant]:
    x = buffer(SMALL)
    arrays = [np.zeros(SMALL // 4, np.float32) for _ in range(2)]

    def before() -> None:
        for _ in range(40):
            work(30_000)
            cl.enqueue_copy(queue, x, arrays[0])
            spin(x, 1000)

    def after() -> None:
        copied: list[cl.Event] = []
        for at in range(40):
            if at > 1:
                copied[at - 2].wait()
            work(30_000)
            copied.append(cl.enqueue_copy(queue, x, arrays[at % 2], is_blocking=False))
            spin(x, 1000)
        queue.finish()

    return before, after


@case("dropped-events", "dropped-event")
def dropped_events() -> tuple[Variant, Variant]:
    x = buffer(SMALL)
    arrays = [np.zeros(SMALL // 4, np.float32) for _ in range(2)]

    def before() -> None:
        for _ in range(80):
            work(10_000)
            cl.enqueue_copy(queue, x, arrays[0], is_blocking=False)
            spin(x, 400)

    def after() -> None:
        copied: list[cl.Event] = []
        for at in range(80):
            if at > 1:
                copied[at - 2].wait()
            work(10_000)
            copied.append(cl.enqueue_copy(queue, x, arrays[at % 2], is_blocking=False))
            spin(x, 400)
        queue.finish()

    return before, after


@case("dropped-events-two-arrays", "dropped-event")
def dropped_events_two_arrays() -> tuple[Variant, Variant]:
    x, y = buffer(SMALL), buffer(SMALL)
    a, b = (np.zeros(SMALL // 4, np.float32) for _ in range(2))

    def before() -> None:
        for _ in range(60):
            work(12_000)
            cl.enqueue_copy(queue, x, a, is_blocking=False)
            cl.enqueue_copy(queue, y, b, is_blocking=False)
            spin(x, 300)
            spin(y, 300)

    def after() -> None:
        copied: list[cl.Event] = []
        for _ in range(60):
            work(12_000)
            copied.append(cl.enqueue_copy(queue, x, a, is_blocking=False))
            copied.append(cl.enqueue_copy(queue, y, b, is_blocking=False))
            spin(x, 300)
            spin(y, 300)
        queue.finish()

    return before, after


if __name__ == "__main__":
    main()
