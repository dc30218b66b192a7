"""Steady work: a device busy with one workload for seconds, while its power is measured."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyopencl as cl

from cltrace.events.workloads import Transfer, Workload
from cltrace.measure.bench import Bench, device_ns
from cltrace.measure.transfers import prepare_transfer

_BATCH_S: Final = 0.02
_BATCHES_AHEAD: Final = 2
_MAX_SAMPLES: Final = 32
_SLICE_NS: Final = 3_000_000
_S_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SteadyRun:
    """Runs of a workload between two host times, during which the device was busy.

    `device_ns` is the median time of a run on the device, None for transfers.
    """

    runs: int
    begin_host_ns: int
    end_host_ns: int
    device_ns: float | None

    @property
    def seconds(self) -> float:
        """Duration."""
        return (self.end_host_ns - self.begin_host_ns) / _S_NS


IsWarm: TypeAlias = Callable[[float], bool]
"""Condition on the seconds of warm-up: True when the measurement can begin."""


def run_steadily(
    bench: Bench, work: Workload | Transfer, is_warm: IsWarm, measure_s: float
) -> SteadyRun:
    """Repeat `work`: first until `is_warm`, which is not measured, then for `measure_s` seconds.

    Raises: `WorkloadError` if the work cannot be built or run.
    """
    if isinstance(work, Transfer):
        with prepare_transfer(bench, work) as run:
            return _by_host(run, is_warm, measure_s)
    with bench.prepare(work) as enqueue:
        return _by_device(enqueue, bench.queue, is_warm, measure_s)


def time_once_ns(bench: Bench, work: Workload) -> float:
    """Return the time of a single run on the device, after another one. Raises: `WorkloadError`."""
    with bench.prepare(work) as enqueue:
        enqueue().wait()
        return device_ns(enqueue())


@contextmanager
def switchable_load(bench: Bench, work: Workload) -> Iterator[Callable[[float], tuple[int, int]]]:
    """Yield a function that keeps the device busy for some seconds.

    It returns the begin and the end in the host's time, in ns. Raises: `WorkloadError`.
    """
    with bench.prepare(work) as enqueue:
        enqueue().wait()
        run_ns = device_ns(enqueue())

        def switch_on(seconds: float) -> tuple[int, int]:
            begin_ns = time.perf_counter_ns()
            until_ns = begin_ns + int(seconds * _S_NS)
            slot_ns = max(run_ns, 1_000.0)
            while (now_ns := time.perf_counter_ns()) < until_ns:
                # Short batches, so that the device is idle at the requested time.
                batch = int(min(until_ns - now_ns, _SLICE_NS) / slot_ns)
                for _ in range(max(batch, 1)):
                    enqueue()
                bench.queue.finish()
            return begin_ns, time.perf_counter_ns()

        yield switch_on


def _by_host(run: Callable[[], None], is_warm: IsWarm, measure_s: float) -> SteadyRun:
    first_s = time.perf_counter()
    while not is_warm(time.perf_counter() - first_s):
        run()
    begin_ns, runs = time.perf_counter_ns(), 0
    while time.perf_counter_ns() - begin_ns < measure_s * _S_NS or not runs:
        run()
        runs += 1
    return SteadyRun(runs, begin_ns, time.perf_counter_ns(), None)


def _by_device(
    enqueue: Callable[[], cl.Event], queue: cl.CommandQueue, is_warm: IsWarm, measure_s: float
) -> SteadyRun:
    """Enqueue batches of launches ahead, so that the device never waits for the host."""
    size = max(int(_BATCH_S * _S_NS / max(device_ns(enqueue()), 1_000.0)), 1)
    ahead: deque[cl.Event] = deque()
    times: list[float] = []
    begin_ns, end_ns, runs, first_ns = 0, 0, 0, time.perf_counter_ns()
    while not begin_ns or end_ns - begin_ns < measure_s * _S_NS:
        last = [enqueue() for _ in range(size)][-1]
        queue.flush()
        ahead.append(last)
        if len(ahead) <= _BATCHES_AHEAD:
            continue
        done = ahead.popleft()
        done.wait()
        end_ns = time.perf_counter_ns()
        if begin_ns:
            runs += size
            if len(times) < _MAX_SAMPLES:
                times.append(device_ns(done))
        elif is_warm((end_ns - first_ns) / _S_NS):
            begin_ns = end_ns
    queue.finish()
    times.sort()
    return SteadyRun(runs, begin_ns, end_ns, times[len(times) // 2] if times else None)
