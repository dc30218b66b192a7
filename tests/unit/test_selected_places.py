"""Small private arrays and shuffles at places that are not known, against an H200."""

from functools import cache

import numpy as np
import pytest

from benchmarks.selected_places import (
    BODIES,
    FEW_TRIPS,
    GROUP_ITEMS,
    ITEMS,
    MANY_TRIPS,
    source,
)
from cltrace.events.workloads import BufferInput, Workload
from cltrace.kernels import KernelCounts
from cltrace.kernels.costs.classes import CostClass
from tests.h200_times import counts_on_h200, distance, measured_ns, predicted_ns

MEASURED_NS = measured_ns("selected-places")


@cache
def counts_of(text: str, trips: int) -> KernelCounts:
    inputs = (BufferInput(4 * ITEMS + 64), BufferInput(4 * ITEMS), np.int32(trips))
    work = Workload(text, "f", (ITEMS,), (GROUP_ITEMS,), inputs, "")
    return counts_on_h200(work)


def loop_ns(name: str, trips: int) -> float:
    return predicted_ns(counts_of(source(name), trips))


@cache
def quotient(name: str) -> float:
    """Return the predicted duration of a trip by the measured one."""
    trips_ns = loop_ns(name, MANY_TRIPS) - loop_ns(name, FEW_TRIPS)
    return float(trips_ns / (MANY_TRIPS - FEW_TRIPS) / MEASURED_NS[name])


def private_requests(name: str) -> float:
    sites = counts_of(source(name), FEW_TRIPS).sites
    return sum(
        site.requests.value for site in sites if site.space == "private" and not site.is_register
    )


def test_bodies_take_about_as_long_as_measured() -> None:
    distances = [distance(quotient(name)) for name in BODIES]
    assert np.median(distances) < 1.2
    assert max(distances) < 1.8


@pytest.mark.parametrize("name", ["read of 8", "change of 5", "shuffle of 16"])
def test_small_arrays_are_in_registers(name: str) -> None:
    assert private_requests(name) == 0.0


@pytest.mark.parametrize("name", ["read of 12", "change of 6"])
def test_larger_arrays_are_in_memory(name: str) -> None:
    assert private_requests(name) > 0.0


def test_one_number_more_makes_a_change_much_slower() -> None:
    assert MEASURED_NS["change of 6"] > 5.0 * MEASURED_NS["change of 5"]
    for name in ("change of 5", "change of 6"):
        assert quotient(name) == pytest.approx(1.0, abs=0.2)


def selections(text: str) -> float:
    rows = counts_of(text, FEW_TRIPS).folded
    return sum(row.total for row in rows if row.cost is CostClass.SELECT)


def test_a_shuffle_by_a_literal_selects_nothing() -> None:
    unknown = source("shuffle of 4")
    known = unknown.replace("shuffle(v, m)", "shuffle(v, (uint4)(3, 2, 1, 0))")
    assert known != unknown
    assert selections(known) == 0.0
    assert selections(unknown) > 0.0


def test_an_array_of_other_elements_is_in_memory() -> None:
    text = source("change of 4").replace("float a[4]", "double a[4]").replace("1.0f; s", "1.0; s")
    sites = counts_of(text, FEW_TRIPS).sites
    assert any(site.space == "private" and not site.is_register for site in sites)


HISTOGRAM = """__kernel void f(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0), at = i;
    float a[4] = {0, 0, 0, 0};
    for (int k = 0; k < n; k++) { PLACE }
    out[i] = a[0] + a[1] + a[2] + a[3];
}"""


@pytest.mark.parametrize(
    ("place", "is_register"),
    [
        ("a[(int)in[k * get_global_size(0) + i] & 3] += 1;", False),
        ("a[at & 3] += 1; at += 5;", False),
        ("a[(at ^ k) & 3] += 1;", True),
    ],
)
def test_a_loop_whose_counter_only_counts_is_unrolled_once_more(
    place: str, is_register: bool
) -> None:
    """A histogram of four by contents reads local memory 30 times in NVIDIA's assembly."""
    sites = counts_of(HISTOGRAM.replace("PLACE", place), FEW_TRIPS).sites
    own = [site for site in sites if site.space == "private"]
    assert own
    assert all(site.is_register for site in own) == is_register
