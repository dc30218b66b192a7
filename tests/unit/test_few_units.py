"""Launches of few work-groups: a compute unit's own limits, and those that all share."""

from dataclasses import replace
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
def test_a_compute_unit_alone_differs_from_all_of_them(series: str) -> None:
    model = OVERLAP.for_device(load_profile("nvidia-h200"))
    counter = WorkloadCounter(H200.device)
    points = (point for point in H200.points("few-units") if point.series == series)
    measured = {point.x: point.median_ns for point in points}
    # Work-groups on units of their own take as long as one, until the shared cache is the limit.
    assert measured[16] < 1.1 * measured[1] < measured[132]
    for groups, limiters in ((1, {"L1", "latency"}), (528, {"L2"})):
        launch = PROBES[series, groups].launch
        assert launch is not None
        prediction = model.predict(counter.count(launch))
        assert prediction.duration_ns == pytest.approx(measured[groups], rel=0.25)
        assert prediction.limiter in limiters


def test_profiles_of_earlier_versions_are_read() -> None:
    shipped = load_profile("nvidia-h200")
    costs = dict(shipped.parameters[OVERLAP.name])
    for name in ("line read", "line written", "p near"):
        del costs[name]
    earlier = replace(shipped, parameters={**shipped.parameters, OVERLAP.name: costs})
    model = OVERLAP.for_device(earlier)
    assert model.costs["line read"] == model.costs["line written"] == 0.0
    launch = PROBES["written", 1].launch
    assert launch is not None
    counts = WorkloadCounter(H200.device).count(launch)
    now = OVERLAP.for_device(shipped).predict(counts)
    assert model.predict(counts).duration_ns < 0.5 * now.duration_ns
