"""The suites run on a device, and what evaluation cases compute is what their references say."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cltrace.events.workloads import BufferInput
from cltrace.measure import Bench, StopRule, find_device
from cltrace.measure.clocks import NoClocks
from cltrace.predict.calibration import MeasuredDevice
from cltrace.profile import DeviceFacts
from cltrace.suite.calibration import FAMILIES, Effort, Probe, ProbeLimits
from cltrace.suite.evaluation import EVALUATION, Case, Scale
from cltrace.suite.filled import fill_values

ONCE = StopRule(min_runs=1, max_runs=1, warm_runs=0)
SCALES = (Scale(12, 64), Scale(13, 16))


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(find_device()) as found:
        yield found


def before(case: Case) -> list[Any]:
    """What is in the buffers of a case before it runs."""
    found = []
    for one in case.work.inputs:
        if isinstance(one, BufferInput):
            whole = fill_values(one.size_bytes // 4 + 1)
            if one.contents is not None:
                raw = np.ascontiguousarray(one.contents()).view(np.uint8)
                whole = np.zeros(-(-one.size_bytes // 4), np.float32)
                whole.view(np.uint8)[: len(raw)] = raw
            found.append(whole.view(np.uint8)[: one.size_bytes])
    return [one.view(np.float32) if len(one) % 4 == 0 else one for one in found]


@pytest.mark.parametrize("scale", SCALES, ids=["4096", "8192"])
@pytest.mark.parametrize("name", EVALUATION)
def test_cases_compute_what_their_references_say(bench: Bench, name: str, scale: Scale) -> None:
    for case in EVALUATION[name](scale):
        expected = case.reference(before(case))
        results = bench.results(case.work)
        for index, values in expected.items():
            check(case, results[index], np.ascontiguousarray(values).ravel())


def check(case: Case, raw: NDArray[np.uint8], expected: NDArray[Any]) -> None:
    """Floats within the case's tolerance of the largest; integers exactly, but where rounding decides."""
    assert expected.size
    if expected.dtype.kind == "f":
        got = raw.view(np.float32)[: expected.size].astype(np.float64)
        assert np.abs(got - expected).max() <= case.tolerance * np.abs(expected).max(), case.name
    else:
        integers = raw.view(np.uint8 if expected.dtype == np.uint8 else np.int32)
        wrong = float(np.mean(integers[: expected.size] != expected))
        assert wrong <= (0.001 if case.family == "fractal" else 0.0), case.name


def test_at_least_twenty_families_have_cases() -> None:
    families = {case.family for make in EVALUATION.values() for case in make(Scale(14, 64))}
    assert len(families) >= 20


def smallest_of_a_gpu(name: str, limits: ProbeLimits) -> Probe:
    """The probe with the least memory of a family that GPUs alone have; other devices run it, too."""
    probes = FAMILIES[name].probes(replace(limits, is_cpu=False, compute_units=1))
    works = {probe.launch.buffer_bytes: probe for probe in probes if probe.launch is not None}
    return works[min(works)]


@pytest.mark.parametrize("name", FAMILIES)
def test_probes_run(bench: Bench, name: str) -> None:
    limits = ProbeLimits.of(bench.facts, Effort.QUICK)
    probes = list(FAMILIES[name].probes(limits)) or [smallest_of_a_gpu(name, limits)]
    for probe in probes[:: max(len(probes) // 4, 1)]:
        sample = MeasuredDevice.of(bench, NoClocks()).time_work(probe.work, ONCE)
        assert sample.mean_ns > 0


def test_evaluation_and_calibration_share_no_source() -> None:
    """Nothing is evaluated on what was calibrated with."""
    room = ProbeLimits.of(find_facts(), Effort.FULL)
    calibration = {
        probe.launch.source
        for limits in (room, replace(room, is_cpu=False))
        for family in FAMILIES.values()
        for probe in family.probes(limits)
        if probe.launch is not None
    }
    evaluation = {case.work.source for make in EVALUATION.values() for case in make(SCALES[0])}
    assert calibration
    assert not calibration & evaluation


def find_facts() -> DeviceFacts:
    with Bench(find_device()) as found:
        return found.facts
