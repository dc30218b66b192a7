"""Launches that are timed in a state of the device: after idle time, with other images."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pyopencl as cl
import pytest

from cltrace.events.workloads import Arrival, ArrivingLaunch, BufferInput, Workload
from cltrace.measure import Bench, StopRule
from cltrace.measure import arrivals as module
from cltrace.measure.arrivals import time_arriving
from cltrace.measure.devices import find_device

SOURCE = """__kernel void copy(__global const float *in, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i];
}"""
WORK = Workload(SOURCE, "copy", (256,), (64,), (BufferInput(1024), BufferInput(1024)))
RULE = StopRule(min_runs=3, max_runs=3, warm_runs=0)
_MS = 1_000_000


class Watched(Bench):
    """A bench that records which of its prepared launches are enqueued, in their order."""

    enqueued: list[int]
    prepared: list[int]

    @contextmanager
    def prepare(self, workload: Workload) -> Iterator[object]:  # type: ignore[override]
        number = len(self.prepared)
        self.prepared.append(number)
        with super().prepare(workload) as enqueue:

            def watched() -> cl.Event:
                self.enqueued.append(number)
                return enqueue()

            yield watched


@pytest.fixture
def bench() -> Iterator[Watched]:
    watched = Watched(find_device("Portable"))
    with watched:
        watched.enqueued, watched.prepared = [], []
        yield watched


def test_changed_images_are_other_arguments_of_the_same_kernel(bench: Watched) -> None:
    time_arriving(bench, ArrivingLaunch(WORK, Arrival(changed_images=2.0)), RULE)
    assert bench.enqueued == [1, 0] * 3
    bench.enqueued.clear()
    bench.prepared.clear()
    time_arriving(bench, ArrivingLaunch(WORK, Arrival()), RULE)
    assert bench.enqueued == [0, 0] * 3


def test_first_launches_are_of_a_program_each(bench: Watched) -> None:
    time_arriving(bench, ArrivingLaunch(WORK, Arrival(first_share=1.0)), RULE)
    assert bench.enqueued == [0, 1, 2]


@pytest.mark.parametrize(("idle_ns", "preparations"), [(_MS // 2, 0), (8 * _MS, 3)])
def test_the_idle_time_is_that_of_a_program_that_prepares_a_launch(
    bench: Watched, idle_ns: int, preparations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[Workload] = []
    slept: list[float] = []
    monkeypatch.setattr(module, "_prepare", lambda _, work: prepared.append(work))
    monkeypatch.setattr(module, "sleep", slept.append)
    ticks = count()
    launch = ArrivingLaunch(WORK, Arrival(float(idle_ns)))
    time_arriving(bench, launch, RULE, clock=lambda: next(ticks) * 1e-4)
    assert len(prepared) == len(slept) == preparations
    assert all(idle_ns * 0.3e-9 < seconds < idle_ns * 0.5e-9 for seconds in slept)
    # The clock has gone on by a tick for every reading, until each idle time was over.
    assert next(ticks) * 1e-4 >= 3 * (idle_ns * 1e-9 - sum(slept) / 3)


def test_preparing_leaves_nothing_behind(bench: Watched) -> None:
    module._prepare(bench, WORK)
    assert bench.enqueued == []
