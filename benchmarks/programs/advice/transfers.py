"""Programs that transfer more, or more often, than they need. See `workload`."""

import numpy as np
import pyopencl as cl
from workload import ITEMS, Variant, buffer, case, kernels, main, queue, spin, work

SMALL = 900_000
LARGE = 8 << 20


@case("read-twice", "redundant-transfer")
def read_twice() -> tuple[Variant, Variant]:
    x, result = buffer(SMALL), np.empty(SMALL // 4, np.float32)

    def before() -> None:
        for _ in range(300):
            spin(x, 20)
            cl.enqueue_copy(queue, result, x)
            result.max()
            cl.enqueue_copy(queue, result, x)
            result.sum()

    def after() -> None:
        for _ in range(300):
            spin(x, 20)
            cl.enqueue_copy(queue, result, x)
            result.max()
            result.sum()

    return before, after


@case("read-per-consumer", "redundant-transfer")
def read_per_consumer() -> tuple[Variant, Variant]:
    x, result = buffer(SMALL), np.empty(SMALL // 4, np.float32)

    def read() -> np.ndarray:
        cl.enqueue_copy(queue, result, x)
        return result

    def before() -> None:
        spin(x, 20)
        for _ in range(600):
            read()[:100].sum()

    def after() -> None:
        spin(x, 20)
        values = read()
        for _ in range(600):
            values[:100].sum()

    return before, after


@case("cleared-before-write", "redundant-transfer")
def cleared_before_write() -> tuple[Variant, Variant]:
    x = buffer(SMALL)
    zeros, data = (np.zeros(SMALL // 4, np.float32) for _ in range(2))

    def before() -> None:
        for _ in range(300):
            kept = cl.enqueue_copy(queue, x, zeros, is_blocking=False)
            copied = cl.enqueue_copy(queue, x, data, is_blocking=False)
            spin(x, 20)
            queue.finish()
            kept, copied = copied, kept

    def after() -> None:
        for _ in range(300):
            copied = cl.enqueue_copy(queue, x, data, is_blocking=False)
            spin(x, 20)
            queue.finish()
            copied.wait()

    return before, after


@case("weights-per-step", "redundant-transfer")
def weights_per_step() -> tuple[Variant, Variant]:
    weights, x = buffer(SMALL), buffer(SMALL)
    table = np.linspace(0, 1, SMALL // 4, dtype=np.float32)

    def step() -> None:
        kernels["weigh"](queue, (ITEMS,), None, weights, x)
        spin(x, 200)

    def before() -> None:
        for _ in range(300):
            cl.enqueue_copy(queue, weights, table)
            step()
        queue.finish()

    def after() -> None:
        cl.enqueue_copy(queue, weights, table)
        for _ in range(300):
            step()
        queue.finish()

    return before, after


@case("reads-in-a-row", "tiny-transfers")
def reads_in_a_row() -> tuple[Variant, Variant]:
    x, values = buffer(4 * 1200), np.empty(1200, np.float32)

    def before() -> None:
        for at in range(1200):
            cl.enqueue_copy(queue, values[at : at + 1], x, src_offset=4 * at)

    def after() -> None:
        cl.enqueue_copy(queue, values, x)

    return before, after


@case("writes-in-a-row", "tiny-transfers")
def writes_in_a_row() -> tuple[Variant, Variant]:
    x, values = buffer(16 * 1200), np.zeros(4 * 1200, np.float32)

    def before() -> None:
        for at in range(1200):
            cl.enqueue_copy(queue, x, values[4 * at : 4 * at + 4], dst_offset=16 * at)
        spin(x, 10)

    def after() -> None:
        cl.enqueue_copy(queue, x, values)
        spin(x, 10)

    return before, after


@case("rows-in-a-row", "tiny-transfers")
def rows_in_a_row() -> tuple[Variant, Variant]:
    x, values = buffer(1024 * 200), np.zeros((200, 256), np.float32)

    def before() -> None:
        for _ in range(4):
            for at in range(200):
                cl.enqueue_copy(queue, x, values[at], dst_offset=1024 * at)
            spin(x, 400)

    def after() -> None:
        for _ in range(4):
            cl.enqueue_copy(queue, x, values)
            spin(x, 400)

    return before, after


@case("unblocked-writes-in-a-row", "tiny-transfers")
def unblocked_writes_in_a_row() -> tuple[Variant, Variant]:
    x, values = buffer(64 * 4000), np.zeros(16 * 4000, np.float32)

    def before() -> None:
        events = [
            cl.enqueue_copy(
                queue, x, values[16 * at : 16 * at + 16], dst_offset=64 * at, is_blocking=False
            )
            for at in range(4000)
        ]
        spin(x, 10)
        queue.finish()
        events.clear()

    def after() -> None:
        cl.enqueue_copy(queue, x, values)
        spin(x, 10)

    return before, after


@case("test-each-step", "frequent-reads")
def test_each_step() -> tuple[Variant, Variant]:
    x, error = buffer(1 << 20), np.zeros(1, np.float32)

    def before() -> None:
        for _ in range(400):
            spin(x, 50)
            cl.enqueue_copy(queue, error, x)

    def after() -> None:
        for at in range(400):
            spin(x, 50)
            if at % 8 == 0:
                cl.enqueue_copy(queue, error, x)

    return before, after


@case("test-each-step-with-work", "frequent-reads")
def test_each_step_with_work() -> tuple[Variant, Variant]:
    x, error = buffer(1 << 20), np.zeros(1, np.float32)

    def before() -> None:
        for _ in range(160):
            spin(x, 300)
            cl.enqueue_copy(queue, error, x)
            work(5_000)

    def after() -> None:
        for at in range(160):
            spin(x, 300)
            if at % 8 == 0:
                cl.enqueue_copy(queue, error, x)
            work(5_000)

    return before, after


@case("large-writes", "pageable-copy")
def large_writes() -> tuple[Variant, Variant]:
    x, array = buffer(LARGE), np.zeros(LARGE // 4, np.float32)

    def before() -> None:
        for at in range(20):
            array[:] = at
            cl.enqueue_copy(queue, x, array)
            spin(x, 100)

    def after() -> None:
        for at in range(20):
            mapped, _ = cl.enqueue_map_buffer(
                queue, x, cl.map_flags.WRITE, 0, array.shape, array.dtype
            )
            mapped[:] = at
            mapped.base.release(queue)
            spin(x, 100)

    return before, after


@case("large-reads", "pageable-copy")
def large_reads() -> tuple[Variant, Variant]:
    x, array = buffer(LARGE), np.zeros(LARGE // 4, np.float32)

    def before() -> None:
        for _ in range(20):
            spin(x, 100)
            cl.enqueue_copy(queue, array, x)
            array[::4096].sum()

    def after() -> None:
        for _ in range(20):
            spin(x, 100)
            mapped, _ = cl.enqueue_map_buffer(
                queue, x, cl.map_flags.READ, 0, array.shape, array.dtype
            )
            mapped[::4096].sum()
            mapped.base.release(queue)

    return before, after


if __name__ == "__main__":
    main()
