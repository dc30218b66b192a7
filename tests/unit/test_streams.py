"""Streams through memory: wide accesses, sums of several arrays, and groups of all sizes."""

from pathlib import Path

import pytest

from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile, read_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

DATA = Path(__file__).parents[1] / "data"
H200 = read_profile(DATA / "nvidia-h200-calibration.json")
PROBES = {
    (probe.series, probe.x): probe
    for probe in FAMILIES["widths"].probes(ProbeLimits.of(H200.device, Effort.FULL))
}
LARGE = 256
"""Local size from which handing out work-groups is not the limit."""


@pytest.fixture(scope="module")
def predicted() -> dict[tuple[str, float], float]:
    """The predicted times of an H200, in ns."""
    model = OVERLAP.for_device(load_profile("nvidia-h200"))
    counter = WorkloadCounter(H200.device)
    times = {}
    for key, probe in PROBES.items():
        assert probe.launch is not None
        times[key] = model.predict(counter.count(probe.launch)).duration_ns
    return times


def test_each_is_predicted(predicted: dict[tuple[str, float], float]) -> None:
    measured = {(point.series, point.x): point.median_ns for point in H200.points("widths")}
    assert predicted.keys() == measured.keys()
    errors = {key: abs(predicted[key] / time_ns - 1.0) for key, time_ns in measured.items()}
    assert sum(errors.values()) / len(errors) < 0.05
    assert max(errors.values()) < 0.15


def test_waiting_costs_a_narrow_stream_and_no_wide_one(
    predicted: dict[tuple[str, float], float],
) -> None:
    """A wide access has more bytes in flight, so memory is busy while work-groups wait."""
    measured = {(point.series, point.x): point.median_ns for point in H200.points("widths")}
    for times in (predicted, measured):
        for group in (LARGE, 1024):
            narrow, wide, widest = (
                times[f"added {kind}", group] for kind in ("float", "float2", "float4")
            )
            assert narrow > 1.2 * wide, group
            assert wide < 1.15 * widest, group


def test_large_work_groups_wait_longer(predicted: dict[tuple[str, float], float]) -> None:
    measured = {(point.series, point.x): point.median_ns for point in H200.points("widths")}
    for times in (predicted, measured):
        assert times["copied float", 1024] > 1.08 * times["copied float", LARGE]
        for_narrow, for_wide = (
            times[series, 1024] / times[series, LARGE]
            for series in ("copied float", "copied float4")
        )
        assert for_narrow > for_wide
