"""Programs whose own work keeps the device idle. See `workload`."""

from collections.abc import Callable

import numpy as np
import pyopencl as cl
from workload import ITEMS, Variant, buffer, case, main, queue, spin, work


def arrays(count: int = 2) -> list[np.ndarray]:
    """Return host arrays that one item of a launch fills."""
    return [np.zeros(ITEMS, np.float32) for _ in range(count)]


def one_step_later(steps: int, step: Callable[[int], cl.Event], rounds: int) -> None:
    """Enqueue each step before the work on the results of the one before. `step` returns its read."""
    last: list[cl.Event] = []
    for at in range(steps):
        last.append(step(at))
        queue.flush()
        if at:
            last[at - 1].wait()
            work(rounds)
    last[-1].wait()
    work(rounds)


@case("work-on-results", "host-gap")
def work_on_results() -> tuple[Variant, Variant]:
    x, outs = buffer(4 * ITEMS), arrays()

    def step(at: int) -> cl.Event:
        spin(x, 2000)
        return cl.enqueue_copy(queue, outs[at % 2], x, is_blocking=False)

    def before() -> None:
        for _ in range(60):
            spin(x, 2000)
            cl.enqueue_copy(queue, outs[0], x)
            work(150_000)

    return before, lambda: one_step_later(60, step, 150_000)


@case("finish-before-results", "host-gap")
def finish_before_results() -> tuple[Variant, Variant]:
    x, y, outs, ins = buffer(4 * ITEMS), buffer(4 * ITEMS), arrays(), arrays()
    kept: list[cl.Event] = []

    def step(at: int) -> cl.Event:
        copied = cl.enqueue_copy(queue, x, ins[at % 2], is_blocking=False)
        spin(x, 1600)
        kept[:] = copied, cl.enqueue_copy(queue, y, x)
        return cl.enqueue_copy(queue, outs[at % 2], y, is_blocking=False)

    def before() -> None:
        for _ in range(50):
            read = step(0)
            queue.finish()
            del read
            work(120_000)

    return before, lambda: one_step_later(50, step, 120_000)


@case("work-before-each-launch", "host-gap")
def work_before_each_launch() -> tuple[Variant, Variant]:
    x = buffer(4 * ITEMS)

    def before() -> None:
        for _ in range(40):
            rounds = work(300_000) % 7
            spin(x, 100 + rounds)

    def after() -> None:
        rounds = work(300_000) % 7
        for _ in range(40):
            spin(x, 100 + rounds)

    return before, after


@case("work-between-writes", "host-gap")
def work_between_writes() -> tuple[Variant, Variant]:
    x, ins = buffer(4 * ITEMS), arrays(40)
    kept: list[cl.Event] = []

    def send(at: int) -> None:
        kept.append(cl.enqueue_copy(queue, x, ins[at], is_blocking=False))
        spin(x, 100)

    def before() -> None:
        for at in range(40):
            ins[at][:] = work(250_000)
            send(at)
        queue.finish()
        kept.clear()

    def after() -> None:
        ins[0][:] = work(250_000)
        for at in range(40):
            send(at)
        queue.finish()
        kept.clear()

    return before, after


if __name__ == "__main__":
    main()
