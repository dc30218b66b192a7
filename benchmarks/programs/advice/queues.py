"""Programs whose small kernels run one after another though nothing orders them. See `workload`."""

import numpy as np
import pyopencl as cl
from workload import Variant, buffer, case, context, kernels, main, queue

GROUP = 64
ROUNDS = 150_000


def spin_group(where: cl.CommandQueue, x: cl.Buffer) -> None:
    """Launch a kernel of one work-group."""
    kernels["spin"](where, (GROUP,), (GROUP,), x, np.int32(ROUNDS))


@case("two-parts-in-one-queue", "serial-queue")
def two_parts_in_one_queue() -> tuple[Variant, Variant]:
    x, y = buffer(4 * GROUP), buffer(4 * GROUP)
    second = cl.CommandQueue(context)

    def launch(where: cl.CommandQueue) -> None:
        for _ in range(20):
            spin_group(queue, x)
            spin_group(where, y)
        queue.flush()
        where.finish()

    return lambda: launch(queue), lambda: launch(second)


@case("many-rows-in-one-queue", "serial-queue")
def many_rows_in_one_queue() -> tuple[Variant, Variant]:
    rows = [buffer(4 * GROUP) for _ in range(16)]
    second = cl.CommandQueue(context)

    def launch(where: cl.CommandQueue) -> None:
        for _ in range(3):
            for at, each in enumerate(rows):
                spin_group((queue, where)[at % 2], each)
            queue.flush()
            where.flush()
        where.finish()

    return lambda: launch(queue), lambda: launch(second)


if __name__ == "__main__":
    main()
