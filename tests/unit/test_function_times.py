"""Times of functions, and of what options that allow approximations make of them, against an H200.

No cost is fitted on the measured times.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.functions import EXPRESSIONS, GROUP_ITEMS, ITEMS, OPTIONS, TRIPS, source
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.machine import Machine
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, Mapping[str, float]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-functions.json").read_text(encoding="utf-8")
)["ns"]
FAST = "-cl-fast-relaxed-math"


@cache
def counts_of(name: str, options: str) -> KernelCounts:
    inputs = (BufferInput(4 * ITEMS + 12), BufferInput(4 * ITEMS), np.float32(0.7), np.int32(TRIPS))
    work = Workload(source(name), "f", (ITEMS,), (GROUP_ITEMS,), inputs, options)
    return WorkloadCounter(H200.device).count(work)


@cache
def quotient(name: str, options: str) -> float:
    """Return the predicted duration by the measured one."""
    predicted = OVERLAP.for_device(H200).predict(counts_of(name, options))
    return predicted.duration_ns / MEASURED_NS[options][name]


@pytest.mark.parametrize("options", OPTIONS[:2])
def test_functions_take_about_as_long_as_measured(options: str) -> None:
    distances = [float(np.exp(abs(np.log(quotient(name, options))))) for name in EXPRESSIONS]
    assert len(distances) == len(MEASURED_NS[options]) > 60
    assert np.median(distances) < 1.08
    assert max(distances) < 1.6
    assert sum(distance > 1.25 for distance in distances) <= 4


@pytest.mark.parametrize(
    "name",
    ["sin", "cos", "exp", "log", "sincos", "powr", "quotient", "length of 3", "normalize of 4"],
)
def test_options_that_allow_approximations_make_functions_shorter(name: str) -> None:
    measured = MEASURED_NS[""][name] / MEASURED_NS[FAST][name]
    predicted = OVERLAP.for_device(H200).predict(counts_of(name, "")).duration_ns / (
        OVERLAP.for_device(H200).predict(counts_of(name, FAST)).duration_ns
    )
    assert measured > 1.15
    assert predicted == pytest.approx(measured, rel=0.3)


@pytest.mark.parametrize("name", ["pow", "tanh", "cbrt", "pown by 7", "sinpi"])
def test_other_functions_stay_as_they_are(name: str) -> None:
    assert MEASURED_NS[FAST][name] == pytest.approx(MEASURED_NS[""][name], rel=0.1)
    assert quotient(name, FAST) == pytest.approx(quotient(name, ""), rel=0.15)


def test_a_small_power_is_a_few_products_and_others_are_not() -> None:
    for exponent, limit_ns in ((2, 30_000.0), (3, 30_000.0)):
        assert MEASURED_NS[""][f"pown by {exponent}"] < limit_ns
    for exponent in (4, 7):
        assert MEASURED_NS[""][f"pown by {exponent}"] > 5 * MEASURED_NS[""]["pown by 3"]


def test_a_processor_approximates_nothing() -> None:
    def functions(options: str) -> set[tuple[str, str]]:
        inputs = (BufferInput(4 * ITEMS), BufferInput(4 * ITEMS), np.float32(0.7), np.int32(2))
        work = Workload(source("sin"), "f", (256,), (64,), inputs, options)
        counter = WorkloadCounter(load_profile("pocl-cpu").device)
        return {(row.cost, row.function) for row in counter.count(work).folded}

    assert Machine.of_cpu(2).has_item_loops
    assert functions("") == functions(FAST)
