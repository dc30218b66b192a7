"""Loops of few warps that read: predicted times beside those of an H200, on which no cost is fitted."""

import json
from pathlib import Path

import pytest

from benchmarks.read_ahead import GROUP, ITEMS, TOGETHER, TRIPS, numbers, sources
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

MEASURED_NS = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-read-ahead.json").read_text(encoding="utf-8")
)["ns"]
H200 = load_profile("nvidia-h200")


def predicted_ns(name: str) -> float:
    source = sources()[name]
    buffers = (BufferInput(16 * ITEMS * 2 * TRIPS), BufferInput(16 * ITEMS))
    launch = Workload(source, "loop", (ITEMS,), (GROUP,), (*buffers, *numbers(name, source)))
    return OVERLAP.for_device(H200).predict(WorkloadCounter(H200.device).count(launch)).duration_ns


@pytest.mark.parametrize("name", sorted(MEASURED_NS))
def test_a_loop_takes_as_long_as_its_reads_ahead_let_it(name: str) -> None:
    assert predicted_ns(name) == pytest.approx(MEASURED_NS[name], rel=0.3)


def test_a_warp_waits_longer_for_several_reads_than_for_one() -> None:
    """16 reads together take 1.9 times as long as one with their operations, not 16 times."""
    rounds_ns = [MEASURED_NS[f"together {count}"] * count / TRIPS for count in TOGETHER]
    predicted = [predicted_ns(f"together {count}") * count / TRIPS for count in TOGETHER]
    assert predicted == sorted(predicted)
    assert predicted[-1] / predicted[0] == pytest.approx(rounds_ns[-1] / rounds_ns[0], rel=0.2)
