"""Loops with two exits: the exit that ends them first is known before they begin."""

import pytest

from cltrace.kernels import parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.kernel_analysis import analyse_kernel
from cltrace.kernels.flow.canonical_loops import find_canonical_loops
from cltrace.kernels.fold.unrolling import UnrolledLoop, find_unrolled_loops
from cltrace.kernels.machine import Machine

PRODUCT = """
__kernel void f(__global const float *a, __global const float *x, __global float *y, int rows, int n) {
    __local float part[128];
    int row = get_global_id(0), l = get_local_id(0);
    float sum = 0;
    for (int i = 0; i < n; i += 128) {
        barrier(CLK_LOCAL_MEM_FENCE);
        part[l] = x[i + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TRIPS && TEST; j++) { sum += a[row + (i + j) * rows] * part[j]; BODY }
    }
    y[row] = sum;
}
"""


def inner_loop(
    test: str, body: str = "", machine: Machine | None = None, trips: int = 128
) -> UnrolledLoop | None:
    source = PRODUCT.replace("TRIPS", str(trips)).replace("TEST", test).replace("BODY", body)
    kernel = analyse_kernel(parse(source), "f", CodeForm.OPTIMISED).full_kernel
    (inner,) = (at for at, loop in enumerate(kernel.graph.loops) if loop.parent >= 0)
    return find_unrolled_loops(kernel, machine or Machine()).get(inner)


@pytest.mark.parametrize("trips", [32, 64, 128])
def test_a_loop_that_ends_at_the_first_of_two_bounds_is_unrolled(trips: int) -> None:
    loop = inner_loop("i + j < n", trips=trips)
    assert loop is not None
    assert (loop.trips, loop.is_whole, loop.has_one_block) == (4, False, True)
    assert loop.evolution.trips() is None


def test_a_few_trips_are_unrolled_wholly_with_a_test_before_each() -> None:
    loop = inner_loop("i + j < n", trips=4)
    assert loop is not None
    assert (loop.trips, loop.is_whole) == (4, True)


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("a[j] < 1.0f", ""),  # contents end it
        ("i + j < n", "y[j] = sum;"),  # which stays behind each test
    ],
)
def test_other_loops_with_two_exits_are_not(test: str, body: str) -> None:
    assert inner_loop(test, body) is None


def test_a_cpu_tests_both() -> None:
    assert inner_loop("i + j < n", machine=Machine.of_cpu(4)) is None


def test_trips_are_counted_with_one_exit_only() -> None:
    source = PRODUCT.replace("TRIPS", "128").replace("TEST", "i + j < n").replace("BODY", "")
    kernel = analyse_kernel(parse(source), "f", CodeForm.OPTIMISED).full_kernel
    alone = find_canonical_loops(kernel.function, kernel.graph)
    joined = find_canonical_loops(kernel.function, kernel.graph, joins_exits=True)
    (header,) = joined.keys() - alone.keys()
    assert len(joined[header].further_tests) == 1
    assert len(joined[header].tests) == 2
