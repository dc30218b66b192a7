"""Rows that a work-item reads each, and windows over images, against an H200. No cost is fitted on them."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.row_walks import BYTES, SOURCES, launches
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, float] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-row-walks.json").read_text(encoding="utf-8")
)["ns"]
LAUNCHES = {name: rest for name, *rest in launches()}


def counts_of(name: str) -> KernelCounts:
    key, global_size, local_size, numbers = LAUNCHES[name]
    inputs = (*[BufferInput(BYTES)] * 3, *numbers)
    return WorkloadCounter(H200.device).count(
        Workload(SOURCES[key], "f", global_size, local_size, inputs)
    )


def predicted_ns(name: str) -> float:
    return OVERLAP.for_device(H200).predict(counts_of(name)).duration_ns


@pytest.mark.parametrize("name", sorted(MEASURED_NS))
def test_a_launch_takes_as_long_as_measured(name: str) -> None:
    assert predicted_ns(name) == pytest.approx(MEASURED_NS[name], rel=0.3)
