"""Launches of few work-groups: a compute unit's own limits, and those that all share."""

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
    for probe in FAMILIES["few-units"].probes(ProbeLimits.of(H200.device, Effort.FULL))
}


@pytest.mark.parametrize("series", sorted({series for series, _ in PROBES}))
def test_a_compute_unit_alone_is_told_from_all_of_them(series: str) -> None:
    model = OVERLAP.for_device(load_profile("nvidia-h200"))
    counter = WorkloadCounter(H200.device)
    measured = {point.x: point.median_ns for point in H200.points("few-units") if point.series == series}
    predicted = {}
    for groups in (1, 528):
        launch = PROBES[series, groups].launch
        assert launch is not None
        predicted[groups] = model.predict(counter.count(launch))
        assert predicted[groups].duration_ns == pytest.approx(measured[groups], rel=0.25)
    assert predicted[1].limiter == "L1"
    assert predicted[528].limiter == "L2"
    # Work-groups side by side on units of their own take no longer until the shared cache is the limit.
    assert measured[16] < 1.1 * measured[1]
    assert measured[528] > 1.3 * 4 * measured[16] / 4


def test_profiles_of_earlier_versions_have_no_limit_of_lines() -> None:
    shipped = load_profile("nvidia-h200")
    model = OVERLAP.for_device(shipped)
    assert model.costs["line written"] > 3 * 32 * model.costs["line read"]
    assert model.costs["line read"] > 1.5 * model.costs["sector read"]
