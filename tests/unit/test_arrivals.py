"""Launches that find a device idle, or are the first of their program."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels import BufferArgument, KernelCounts, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.machine import Machine
from cltrace.predict.launch_states import LaunchStates
from cltrace.predict.models import Cache
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.arrivals import (
    ARRIVAL_FAMILIES,
    ArrivalTimes,
    arrival_costs,
    arrival_times,
)
from cltrace.predict.models.overlap.isolated_costs import near_cache_costs
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.predict.traces import predict_trace
from cltrace.profile import load_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

DATA = Path(__file__).parents[1] / "data"
H200 = load_profile("nvidia-h200")
SOURCE = """__kernel void copy(__global const float *a, __global float *b) {
    size_t i = get_global_id(0);
    b[i] = a[i];
}"""
IDLE_NS, IDLE_TIME_NS, FIRST_NS, CHANGE_NS = 22_000.0, 8e6, 1_500.0, 2_700.0


@pytest.fixture(scope="module")
def counts() -> KernelCounts:
    return count(
        parse(SOURCE), "copy", (1 << 14,), (256,), [BufferArgument(4 << 14)] * 2,
        machine=machine_of(H200.device),
    )  # fmt: skip


def made_up(
    counts: KernelCounts, x: float, family: str, extra_ns: Callable[[float], float]
) -> MeasuredProbe:
    demand = demand_of(counts, frozenset())
    return MeasuredProbe(family, "copy", x, 5_000.0 + extra_ns(x), demand)


def test_costs_that_were_put_in_are_found_again(counts: KernelCounts) -> None:
    def after_idle(x: float) -> float:
        return IDLE_NS * (1.0 - math.exp(-math.sqrt(x / IDLE_TIME_NS)))

    waits = (0.0, 1e5, 3e5, 1e6, 1e7, 3e7, 1e8, 3e8)
    probes = [made_up(counts, x, "idle", after_idle) for x in waits]
    probes += [made_up(counts, x, "first", lambda first: FIRST_NS * first) for x in (0.0, 1.0)]
    for changed in (0.0, 1.0, 2.0):
        probes.append(made_up(counts, changed, "image-changes", lambda x: CHANGE_NS * x))
    costs = {name: parameter.value for name, parameter in arrival_costs(probes)}
    assert costs["idle"] == pytest.approx(IDLE_NS, rel=0.05)
    assert costs["idle time"] == pytest.approx(IDLE_TIME_NS, rel=0.15)
    assert costs["first launch"] == FIRST_NS
    assert costs["image change"] == CHANGE_NS


def test_a_calibration_without_these_families_has_no_such_costs(counts: KernelCounts) -> None:
    assert dict(arrival_costs([made_up(counts, 1.0, "base", lambda _: 0.0)])) == {}
    assert arrival_times([Arrival(1e9, 1.0, 2.0)], {}) == ArrivalTimes()


def test_each_changed_image_costs_the_same(counts: KernelCounts) -> None:
    model = OVERLAP.for_device(H200)
    steady, single, double = (
        model.predict(counts, Cache.WARM, [Arrival(changed_images=changed)]).duration_ns
        for changed in (0.0, 1.0, 2.0)
    )
    assert 1_000.0 < single - steady == pytest.approx(double - single)


def test_a_longer_idle_time_never_shortens_a_launch(counts: KernelCounts) -> None:
    model = OVERLAP.for_device(H200)
    steady = model.predict(counts)
    before = steady.duration_ns
    for idle_ns in (0.0, 1e5, 1e7, 1e8, 1e9):
        prediction = model.predict(counts, Cache.WARM, [Arrival(idle_ns)])
        parts = {part.name: part.time_ns for part in prediction.parts}
        assert prediction.duration_ns >= before
        assert prediction.duration_ns == pytest.approx(
            steady.duration_ns + parts.get("idle device", 0.0)
        )
        before = prediction.duration_ns
    assert before > steady.duration_ns + 10_000


def test_times_are_those_of_the_median_call() -> None:
    """As measured times are medians: of two calls, one after idle time, half of that time."""
    constants = {"idle": 20_000.0, "idle time": 1e6, "first launch": 100.0, "image change": 3000.0}
    late, soon = Arrival(1e9, 1.0), Arrival(0.0, 0.0, 1.0)
    alone = arrival_times([late], constants)
    assert alone.total_ns == pytest.approx(20_100, rel=1e-6)
    both = arrival_times([late, soon], constants)
    assert both.idle_ns == pytest.approx(alone.idle_ns / 2)
    assert both.first_ns == pytest.approx(50.0)
    assert both.images_ns == pytest.approx(1500.0)
    assert arrival_times([late, soon, soon], constants) == arrival_times([soon], constants)
    assert arrival_times([soon, late, late], constants) == alone


def test_launches_that_waited_in_the_queue_begin_sooner() -> None:
    """As measured on an H200, for kernels of 6 to 54 µs."""
    constants = OVERLAP.for_device(H200).costs.constants
    queued = arrival_times([Arrival(is_queued=True)], constants)
    assert queued.total_ns == 0.0
    measured = json.loads((DATA / "h200-queued-launches.json").read_text(encoding="utf-8"))["ns"]
    sooner_ns = [times["alone"] - times["queued"] for times in measured.values()]
    assert queued.queued_ns == pytest.approx(np.median(sooner_ns), rel=0.05)
    half = arrival_times([Arrival(is_queued=True), STEADY], constants)
    assert half.queued_ns == pytest.approx(queued.queued_ns / 2)


def test_waiting_in_the_queue_saves_no_more_than_half_of_a_launch(counts: KernelCounts) -> None:
    model = OVERLAP.for_device(H200)
    model = replace(model, costs=model.costs.with_constants({"queued launch": 1e9}))
    alone, queued = (
        model.predict(counts, arrivals=[Arrival(is_queued=is_queued)])
        for is_queued in (False, True)
    )
    launch_ns = next(part.time_ns for part in alone.parts if part.name == "launch")
    assert queued.duration_ns == pytest.approx(alone.duration_ns - launch_ns / 2)


def test_a_trace_shows_which_launches_waited() -> None:
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        states = LaunchStates.of(trace, [], Machine(compute_units=132), "", is_what_if=False)
        commands = trace["v_command"].dropna(subset=["start_device_ns", "end_device_ns"])
    calls = [call for own in states.arrivals.values() for call in own]
    ordered = commands[commands.kind.isin(["kernel", "fill", "copy"])].sort_values(
        "start_device_ns"
    )
    ends = np.maximum.accumulate(ordered.end_device_ns.to_numpy(np.int64))
    gaps = ordered.start_device_ns.to_numpy(np.int64)[1:] - ends[:-1]
    waited = (gaps >= 0) & (gaps <= 2_500) & ordered.launch_id.notna().to_numpy()[1:]
    assert 0 < waited.sum() < len(calls)
    assert sum(call.is_queued for call in calls) == waited.sum()


def test_no_launch_waits_on_a_device_that_was_not_recorded() -> None:
    """Whether one waited depends on how long the launches before it took on the recorded device."""
    other = replace(H200, device=replace(H200.device, name="Another GPU"))
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        own, what_if = (predict_trace(trace, profile) for profile in (H200, other))
    assert what_if.is_what_if
    assert not any(call.is_queued for launch in what_if.launches for call in launch.arrivals)
    waited = [
        (alone.prediction.duration_ns, queued.prediction.duration_ns)
        for alone, queued in zip(what_if.launches, own.launches, strict=True)
        if 2 * sum(call.is_queued for call in queued.arrivals) > len(queued.arrivals)
    ]
    assert waited
    assert all(alone > queued for alone, queued in waited)


def test_states_are_those_of_the_calls() -> None:
    calls = [Arrival(100, 0.0, 0.0), Arrival(300, 0.0, 2.0), Arrival(90_000, 1.0, 2.0)]
    states = LaunchStates({1: 3, 2: -1}, {1: calls, 2: [Arrival(7, 1.0)]})
    assert states.arrivals_of([1]) == calls
    assert states.arrivals_of([2, 1]) == [Arrival(7, 1.0), *calls]
    assert list(states.arrivals_of([3])) == [STEADY]
    many = LaunchStates({}, {1: [Arrival(float(at)) for at in range(5000)]})
    spaced = [call.idle_ns for call in many.arrivals_of([1])]
    assert 500 < len(spaced) <= 1000
    assert set(np.diff(spaced)) == {spaced[1]}
    assert states.cache([1, 2]) is Cache.WARM
    assert states.cache([2]) is Cache.COLD


def test_idle_times_of_a_trace_are_those_of_its_compute_units() -> None:
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        states = LaunchStates.of(trace, [], Machine(compute_units=132), "", is_what_if=False)
        commands = trace["v_command"].dropna(subset=["start_device_ns", "end_device_ns"])
    working = commands[commands.kind.isin(["kernel", "fill", "copy"])]
    assert len(working) < len(commands)
    calls = [call for own in states.arrivals.values() for call in own]
    launched = commands[commands.launch_id.notna()]
    assert len(calls) == len(launched)
    assert sum(call.first_share for call in calls) == launched.first_launch.sum()
    ordered = working.sort_values("start_device_ns")
    ends = np.maximum.accumulate(ordered.end_device_ns.to_numpy(np.int64))
    gaps = np.maximum(ordered.start_device_ns.to_numpy(np.int64)[1:] - ends[:-1], 0)
    expected = gaps[ordered.launch_id.notna().to_numpy()[1:]].sum()
    assert sum(call.idle_ns for call in calls if call.idle_ns != 1_000_000_000) == expected


def test_probes_of_gpus_alone_begin_in_every_state() -> None:
    gpu = ProbeLimits.of(H200.device, Effort.FULL)
    waits = {probe.arrival.idle_ns for probe in FAMILIES["idle"].probes(gpu)}
    assert {probe.x for probe in FAMILIES["idle"].probes(gpu)} == waits
    assert {probe.arrival.first_share for probe in FAMILIES["first"].probes(gpu)} == {0.0, 1.0}
    changes = {probe.arrival.changed_images for probe in FAMILIES["image-changes"].probes(gpu)}
    assert changes == {0.0, 1.0, 2.0}
    cpu = ProbeLimits.of(load_profile("pocl-cpu").device, Effort.FULL)
    assert not [probe for family in ARRIVAL_FAMILIES for probe in FAMILIES[family].probes(cpu)]


def test_the_size_of_the_near_cache_is_found_again(counts: KernelCounts) -> None:
    def missing(x: float) -> float:
        return 300_000.0 / (1.0 + (200_000.0 / x) ** 6)

    sizes = [1 << exponent for exponent in range(14, 21)]
    probes = [made_up(counts, size, "near-sets", missing) for size in sizes]
    costs = {name: parameter.value for name, parameter in near_cache_costs(probes)}
    assert costs["l1 size"] == pytest.approx(200_000, rel=0.05)
    assert costs["l1 sharpness"] == pytest.approx(6.0, rel=0.2)
    flat = [made_up(counts, size, "near-sets", lambda _: 0.0) for size in sizes]
    assert not dict(near_cache_costs(flat))
