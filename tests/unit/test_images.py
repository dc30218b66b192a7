"""Reads of images: they take the units for images, by interpolation, planes and channels."""

import pytest

from cltrace.kernels import BufferArgument, count, parse
from cltrace.kernels.counts.workloads import WorkloadCounter, machine_of
from cltrace.kernels.demand import Demand, demand_of
from cltrace.predict.models.overlap import OVERLAP
from cltrace.profile import load_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

H200 = load_profile("nvidia-h200")
GPU = ProbeLimits.of(H200.device, Effort.FULL)
COPY = """__kernel void copy(__global const float *in, __global float *out) {
    int x = get_global_id(0), y = get_global_id(1), at = y * get_global_size(0) + x;
    out[at] = in[at];
}"""


def demand_of_series(series: str, trips: int) -> Demand:
    probe = next(
        probe
        for probe in FAMILIES["images"].probes(GPU)
        if (probe.series, probe.x) == (series, trips)
    )
    assert probe.launch is not None
    return demand_of(WorkloadCounter(H200.device).count(probe.launch), frozenset())


@pytest.mark.parametrize(
    ("series", "passes"),
    [
        ("nearest", 0.5), ("linear", 1.0), ("nearest, four channels", 2.0),
        ("linear, four channels", 4.0), ("nearest, volume", 1.0), ("linear, volume", 2.0),
    ],
)  # fmt: skip
def test_passes_of_a_read(series: str, passes: float) -> None:
    demand = demand_of_series(series, 16)
    assert demand.texels == pytest.approx(16 * passes * demand.warps)
    # Plain requests are those of the result only.
    assert demand.requests == pytest.approx(demand.warps)


def test_a_read_of_an_image_takes_longer_than_one_of_a_buffer() -> None:
    model, side = OVERLAP.for_device(H200), 1024
    probe = next(
        probe
        for probe in FAMILIES["images"].probes(GPU)
        if (probe.series, probe.x) == ("linear", 64)
    )
    assert probe.launch is not None
    image = model.predict(WorkloadCounter(H200.device).count(probe.launch))
    buffers = [BufferArgument(4 * side * side)] * 2
    plain = count(
        parse(COPY), "copy", (side, side), (16, 16), buffers, machine=machine_of(H200.device)
    )
    assert image.limiter == "L1"
    assert image.duration_ns > 4 * model.predict(plain).duration_ns
