"""Times of few warps that read in unrolled loops, against an H200."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reads_in_flight import BODIES, COLUMNS, COPIES, GROUP_ITEMS, ROWS, source
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, Mapping[str, float]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-reads-in-flight.json").read_text(encoding="utf-8")
)["ns"]


@cache
def quotient(name: str, copies: int) -> float:
    """Return the predicted duration by the measured one."""
    matrix, vector, out = (BufferInput(4 * length) for length in (ROWS * COLUMNS, COLUMNS, ROWS))
    sizes = np.int32(ROWS), np.int32(COLUMNS), np.float32(0.5)
    inputs = (matrix, vector, out, *sizes)
    work = Workload(source(name, copies), "f", (ROWS,), (GROUP_ITEMS,), inputs, "")
    counts = WorkloadCounter(H200.device).count(work)
    return OVERLAP.for_device(H200).predict(counts).duration_ns / MEASURED_NS[name][str(copies)]


@pytest.mark.parametrize("name", BODIES)
def test_warps_wait_about_as_long_as_measured(name: str) -> None:
    quotients = [quotient(name, copies) for copies in COPIES]
    assert quotients == pytest.approx([1.0] * len(COPIES), abs=0.3)


@pytest.mark.parametrize("name", ["column", "column and vector"])
def test_further_copies_of_a_body_save_little(name: str) -> None:
    measured = MEASURED_NS[name]["16"] / MEASURED_NS[name]["64"]
    assert measured < 1.25
    assert quotient(name, 16) / quotient(name, 64) * measured == pytest.approx(measured, rel=0.2)
