"""Keeping a device busy with one thing for seconds: what its power is measured by."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyopencl as cl

from cltrace.events.workloads import Transfer, Workload
from cltrace.measure.bench import Bench, device_ns
from cltrace.measure.transfers import prepared_transfer

_BATCH_S: Final = 0.02
_BATCHES_AHEAD: Final = 2
_SAMPLED: Final = 32
_SLICE_NS: Final = 3_000_000
_S_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Steady:
    """What was done from one host time to another, while the device was busy all along.

    `device_ns` is the median time of a run on the device, None for what is timed by the host alone.
    """

    runs: int
    begin_host_ns: int
    end_host_ns: int
    device_ns: float | None

    @property
    def seconds(self) -> float:
        """How long it was."""
        return (self.end_host_ns - self.begin_host_ns) / _S_NS


IsWarm: TypeAlias = Callable[[float], bool]
"""Whether what was run for so many seconds is enough to begin with."""


def steady(bench: Bench, work: Workload | Transfer, is_warm: IsWarm, most_s: float) -> Steady:
    """Run `work` again and again: until `is_warm`, which does not count, and then for `most_s`.

    Raises: `WorkloadError` when it cannot be built or run.
    """
    if isinstance(work, Transfer):
        with prepared_transfer(bench, work) as run:
            return _by_host(run, is_warm, most_s)
    with bench.prepared(work) as enqueue:
        return _by_device(enqueue, bench.queue, is_warm, most_s)


def once_ns(bench: Bench, work: Workload) -> float:
    """How long one run takes on the device, after another one. Raises: `WorkloadError`."""
    with bench.prepared(work) as enqueue:
        enqueue().wait()
        return device_ns(enqueue())


@contextmanager
def switched(bench: Bench, work: Workload) -> Iterator[Callable[[float], tuple[int, int]]]:
    """What keeps the device busy for so many seconds, and returns when, in the host's time.

    Raises: `WorkloadError`.
    """
    with bench.prepared(work) as enqueue:
        enqueue().wait()
        taken_ns = device_ns(enqueue())

        def on(seconds: float) -> tuple[int, int]:
            begin_ns = time.perf_counter_ns()
            until_ns = begin_ns + int(seconds * _S_NS)
            each_ns = max(taken_ns, 1_000.0)
            while (now_ns := time.perf_counter_ns()) < until_ns:
                # No more than what is left, and little at once: it is to end when it should.
                left = int(min(until_ns - now_ns, _SLICE_NS) / each_ns)
                for _ in range(max(left, 1)):
                    enqueue()
                bench.queue.finish()
            return begin_ns, time.perf_counter_ns()

        yield on


def _by_host(run: Callable[[], None], is_warm: IsWarm, most_s: float) -> Steady:
    first_s = time.perf_counter()
    while not is_warm(time.perf_counter() - first_s):
        run()
    begin_ns, runs = time.perf_counter_ns(), 0
    while time.perf_counter_ns() - begin_ns < most_s * _S_NS or not runs:
        run()
        runs += 1
    return Steady(runs, begin_ns, time.perf_counter_ns(), None)


def _by_device(
    enqueue: Callable[[], cl.Event], queue: cl.CommandQueue, is_warm: IsWarm, most_s: float
) -> Steady:
    """Batches of launches, of which some are always waiting: the device never waits for the host."""
    size = max(int(_BATCH_S * _S_NS / max(device_ns(enqueue()), 1_000.0)), 1)
    ahead: deque[cl.Event] = deque()
    times: list[float] = []
    begin_ns, end_ns, runs, first_ns = 0, 0, 0, time.perf_counter_ns()
    while not begin_ns or end_ns - begin_ns < most_s * _S_NS:
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
            if len(times) < _SAMPLED:
                times.append(device_ns(done))
        elif is_warm((end_ns - first_ns) / _S_NS):
            begin_ns = end_ns
    queue.finish()
    times.sort()
    return Steady(runs, begin_ns, end_ns, times[len(times) // 2] if times else None)
