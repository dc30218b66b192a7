"""Lines of accesses, and trips of loops, as the source has them."""

import pytest

from cltrace.kernels import Argument, BufferArgument, LocalArgument, count, parse
from cltrace.kernels.ir.instructions import Access

UNTIL = """__kernel void until(__global const float *x, __global float *y) {
    int i = get_global_id(0);
    float v = x[i];
    while (v > 1.0f) v *= 0.5f;
    y[i] = v;
}
"""


def test_a_loop_and_its_accesses_have_an_interval_if_contents_decide() -> None:
    counts = count(parse(UNTIL), "until", (4096,), (64,), [BufferArgument(1 << 14)] * 2)
    (loop,) = counts.loops
    assert loop.trips.low < loop.trips.value < loop.trips.high <= 64


@pytest.mark.parametrize("n", [0, 1, 10, 1000])
def test_a_loop_that_is_tested_behind_a_barrier_has_as_many_trips_as_its_body_runs(n: int) -> None:
    program = parse(
        """__kernel void k(__global float *a, __local float *s, int n) {
            int l = get_local_id(0), i = 0;
            while (1) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (i >= n) break;
                s[l] = a[i++];
                barrier(CLK_LOCAL_MEM_FENCE);
                a[l] += s[63 - l];
            }
        }"""
    )
    arguments: list[Argument] = [BufferArgument(1 << 12), LocalArgument(256), n]
    counts = count(program, "k", (64,), (64,), arguments)
    assert [loop.trips.value for loop in counts.loops] == [n]
    writes = [
        site.accesses.value
        for site in counts.sites
        if site.memory == "s" and site.access is Access.WRITE
    ]
    assert sum(writes) == 64 * n


MERGED = """__kernel void k(__global const int *in, __global int *out, __global int *other) {
    int i = get_global_id(0), v = in[i];
    if (v > 3)
        out[i] = v * 7;
    else
        out[i] = v - 2;
    if (v & 1) {
        other[i] = 1;
    } else if (v & 2) {
        other[i] = v * 3;
    } else {
        other[i] = 5;
    }
}
"""


def test_a_merged_access_has_all_lines_of_its_own_memory() -> None:
    counts = count(parse(MERGED), "k", (64,), (64,), [BufferArgument(256)] * 3)
    places = {site.memory: str(site.place) for site in counts.sites}
    assert places == {
        "in": "program.cl:2",
        "out": "program.cl:4, 6",
        "other": "program.cl:8, 10, 12",
    }
    assert {row.line: row.accesses for row in counts.lines if row.accesses} == dict.fromkeys(
        (2, 4, 8), 64
    )


def test_a_merged_access_in_an_inlined_function_has_its_lines() -> None:
    source = """void put(__global int *to, int v) {
    if (v > 3)
        *to = v * 7;
    else
        *to = v - 2;
}
__kernel void k(__global int *a) { put(a + get_global_id(0), a[get_global_id(0)]); }
"""
    counts = count(parse(source), "k", (64,), (64,), [BufferArgument(256)])
    (place,) = {site.place for site in counts.sites if site.access is Access.WRITE}
    assert str(place) == "program.cl:3, 5"


def test_an_access_that_was_moved_in_front_of_a_loop_has_its_line() -> None:
    source = """__kernel void k(__global const float *x, __global float *y, __global const int *at,
    __local float *s) {
    float v = x[get_global_id(0)];
    while (v > 1.0f) {
        v *= y[at[get_global_id(0)]];
        v -= s[63];
    }
    y[get_global_id(0)] = v;
}
"""
    buffers: list[Argument] = [BufferArgument(256)] * 3
    counts = count(parse(source), "k", (64,), (64,), [*buffers, LocalArgument(256)])
    lines = {site.memory: site.place.line for site in counts.sites if site.access is Access.READ}
    assert lines == {"x": 3, "y": 5, "at": 5, "s": 6}
