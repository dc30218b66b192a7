"""Times of few warps that read in unrolled loops, against an H200."""

from functools import cache

import numpy as np
import pytest

from benchmarks.reads_in_flight import BODIES, COLUMNS, COPIES, GROUP_ITEMS, ROWS, source
from cltrace.events.workloads import BufferInput, Workload
from tests.h200_times import counts_on_h200, measured_ns, predicted_ns

MEASURED_NS = measured_ns("reads-in-flight")


@cache
def quotient(name: str, copies: int) -> float:
    """Return the predicted duration by the measured one."""
    matrix, vector, out = (BufferInput(4 * length) for length in (ROWS * COLUMNS, COLUMNS, ROWS))
    sizes = np.int32(ROWS), np.int32(COLUMNS), np.float32(0.5)
    inputs = (matrix, vector, out, *sizes)
    work = Workload(source(name, copies), "f", (ROWS,), (GROUP_ITEMS,), inputs, "")
    return float(predicted_ns(counts_on_h200(work)) / MEASURED_NS[name][str(copies)])


@pytest.mark.parametrize("name", BODIES)
def test_warps_wait_about_as_long_as_measured(name: str) -> None:
    quotients = [quotient(name, copies) for copies in COPIES]
    assert quotients == pytest.approx([1.0] * len(COPIES), abs=0.3)


@pytest.mark.parametrize("name", ["column", "column and vector"])
def test_further_copies_of_a_body_save_little(name: str) -> None:
    measured = MEASURED_NS[name]["16"] / MEASURED_NS[name]["64"]
    assert measured < 1.25
    assert quotient(name, 16) / quotient(name, 64) * measured == pytest.approx(measured, rel=0.2)
