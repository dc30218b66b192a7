"""Times of functions of `double` against an H200.

Instructions of these functions are fitted to loops of one chain, those of the other forms are not.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.double_functions import (
    EXPRESSIONS,
    FEW_TRIPS,
    FORMS,
    GROUP_ITEMS,
    MANY_TRIPS,
    source,
)
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, Mapping[str, float]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-double-functions.json").read_text(encoding="utf-8")
)["ns"]


def predicted_ns(name: str, form: str, trips: int) -> float:
    items, chains = FORMS[form]
    group = items // 132 if form == "alone" else GROUP_ITEMS
    inputs = (BufferInput(8 * items + 16), BufferInput(8 * items), np.float64(0.7), np.int32(trips))
    work = Workload(source(name, chains), "f", (items,), (group,), inputs, "")
    counts = WorkloadCounter(H200.device).count(work)
    return OVERLAP.for_device(H200).predict(counts).duration_ns


@cache
def quotient(name: str, form: str) -> float:
    """Return the predicted duration of a trip by the measured one."""
    trips_ns = predicted_ns(name, form, MANY_TRIPS) - predicted_ns(name, form, FEW_TRIPS)
    return trips_ns / (MANY_TRIPS - FEW_TRIPS) / MEASURED_NS[form][name]


def distances(form: str) -> list[float]:
    return [float(np.exp(abs(np.log(quotient(name, form))))) for name in EXPRESSIONS]


def test_functions_take_as_long_as_the_loops_that_their_instructions_are_fitted_to() -> None:
    assert len(EXPRESSIONS) == len(MEASURED_NS["one"]) > 60
    assert np.median(distances("one")) < 1.07
    assert max(distances("one")) < 1.25


def test_functions_of_independent_chains_take_about_as_long_as_measured() -> None:
    assert np.median(distances("four")) < 1.1
    assert sum(distance > 1.35 for distance in distances("four")) <= 2


def test_a_warp_that_is_alone_waits_for_functions_about_as_long_as_measured() -> None:
    assert np.median(distances("alone")) < 1.15
    assert sum(distance > 1.8 for distance in distances("alone")) <= 6


@pytest.mark.parametrize("name", ["cos", "tanh", "erf", "pown by 2", "exp2", "normalize of 3"])
def test_functions_are_not_those_of_float(name: str) -> None:
    assert MEASURED_NS["one"][name] > 2.0 * MEASURED_NS["one"]["fma"]
    assert quotient(name, "one") == pytest.approx(1.0, abs=0.15)
