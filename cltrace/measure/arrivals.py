"""Times of launches that begin in a given state of the device."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from time import perf_counter, sleep
from typing import Final

import numpy as np
import pyopencl as cl

from cltrace.events.workloads import ArrivingLaunch, Workload
from cltrace.measure.bench import Bench, device_ns
from cltrace.measure.repetition import Repetitions, StopRule, repeat

_PREPARING_S: Final = 1e-3
"""Idle time in which a program has time to prepare its next launch."""
_PREPARED_BYTES: Final = 256 << 10
_SLEEPS_FROM_S: Final = 1e-3
"""Times that are shorter are waited for by computing alone: sleeping may take longer."""


def time_arriving(
    bench: Bench, launch: ArrivingLaunch, rule: StopRule, clock: Callable[[], float] = perf_counter
) -> Repetitions:
    """Time a launch on the device in the state of its arrival.

    Where images change, two sets of arguments take turns. `clock` returns seconds.
    Raises: `WorkloadError` if the workload cannot be built or run.
    """
    if launch.arrival.first_share:
        return _time_first(bench, launch, rule, clock)
    with ExitStack() as stack:
        enqueue = stack.enter_context(bench.prepare(launch.work))
        before = enqueue
        if launch.arrival.changed_images:
            before = stack.enter_context(bench.prepare(launch.work))

        def run() -> float:
            before().wait()
            _idle(bench, launch, clock)
            return device_ns(enqueue())

        return repeat(run, rule)


def _time_first(
    bench: Bench, launch: ArrivingLaunch, rule: StopRule, clock: Callable[[], float]
) -> Repetitions:
    """Time the first launches of programs, each of which is built anew."""
    numbers = count()

    def run() -> float:
        source = f"{launch.work.source}\n// program {next(numbers)}\n"
        with bench.prepare(replace(launch.work, source=source)) as enqueue:
            _wait_until(clock() + launch.arrival.idle_ns * 1e-9, clock)
            return device_ns(enqueue())

    return repeat(run, rule)


def _idle(bench: Bench, launch: ArrivingLaunch, clock: Callable[[], float]) -> None:
    """Let the device be idle as a program does that prepares its next launch.

    It asks the driver for a kernel and for memory, then computes, then sleeps. The host's cores and
    caches are in the state that this leaves: a launch is delayed less after computing alone, and more
    after sleep alone.
    """
    idle_s = launch.arrival.idle_ns * 1e-9
    begin_s = clock()
    if idle_s >= _PREPARING_S:
        _prepare(bench, launch.work)
    left_s = begin_s + idle_s - clock()
    if left_s > _SLEEPS_FROM_S:
        _wait_until(clock() + left_s / 2, clock)
        sleep(max(begin_s + idle_s - clock(), 0.0))
    _wait_until(begin_s + idle_s, clock)


def _prepare(bench: Bench, work: Workload) -> None:
    cl.Kernel(bench.program(work.source, work.options), work.kernel)
    buffer = cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, _PREPARED_BYTES)
    try:
        contents = np.ones(_PREPARED_BYTES, np.uint8)
        cl.enqueue_copy(bench.queue, buffer, contents, is_blocking=True)
    finally:
        buffer.release()


def _wait_until(end_s: float, clock: Callable[[], float]) -> None:
    while clock() < end_s:
        pass
