"""Times of functions of `double` against an H200.

Instructions of these functions are fitted to loops of one chain, those of the other forms are not.
"""

from functools import cache

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
from tests.h200_times import counts_on_h200, distance, measured_ns, predicted_ns

MEASURED_NS = measured_ns("double-functions")


def loop_ns(name: str, form: str, trips: int) -> float:
    items, chains = FORMS[form]
    group = items // 132 if form == "alone" else GROUP_ITEMS
    inputs = (BufferInput(8 * items + 16), BufferInput(8 * items), np.float64(0.7), np.int32(trips))
    work = Workload(source(name, chains), "f", (items,), (group,), inputs, "")
    return predicted_ns(counts_on_h200(work))


@cache
def quotient(name: str, form: str) -> float:
    """Return the predicted duration of a trip by the measured one."""
    trips_ns = loop_ns(name, form, MANY_TRIPS) - loop_ns(name, form, FEW_TRIPS)
    return float(trips_ns / (MANY_TRIPS - FEW_TRIPS) / MEASURED_NS[form][name])


def distances(form: str) -> list[float]:
    return [distance(quotient(name, form)) for name in EXPRESSIONS]


def test_functions_take_as_long_as_the_loops_that_their_instructions_are_fitted_to() -> None:
    assert len(EXPRESSIONS) == len(MEASURED_NS["one"]) > 60
    assert np.median(distances("one")) < 1.07
    assert max(distances("one")) < 1.25


def test_functions_of_independent_chains_take_about_as_long_as_measured() -> None:
    assert np.median(distances("four")) < 1.1
    assert sum(far > 1.35 for far in distances("four")) <= 2


def test_a_warp_that_is_alone_waits_for_functions_about_as_long_as_measured() -> None:
    assert np.median(distances("alone")) < 1.15
    assert sum(far > 1.8 for far in distances("alone")) <= 6


@pytest.mark.parametrize("name", ["cos", "tanh", "erf", "pown by 2", "exp2", "normalize of 3"])
def test_functions_are_not_those_of_float(name: str) -> None:
    assert MEASURED_NS["one"][name] > 2.0 * MEASURED_NS["one"]["fma"]
    assert quotient(name, "one") == pytest.approx(1.0, abs=0.15)
