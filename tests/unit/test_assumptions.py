"""Counts of accesses whose addresses depend on unknown contents, in pairs that differ in that alone."""

import math

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.ir.instructions import Access

ITEMS = 1 << 16
SOURCE = """
__kernel void selected(__global const float *c, __global const float *a, __global const float *b,
                       __global float *out) {
    int i = get_global_id(0);
    out[i] = c[i] > 0 ? a[i] : b[i];
}
__kernel void gathered(__global const int *c, __global const float *a, __global const float *b,
                       __global float *out) {
    int i = get_global_id(0);
    out[i] = a[c[i]];
}
__kernel void branched(__global const float *c, __global const float *a, __global const float *b,
                       __global float *out) {
    int i = get_global_id(0), at = i;
    if (c[i] > 0) { at = get_global_size(0) - 1 - i; out[i] = 1; }
    out[i] += a[at];
}
__kernel void scattered(__global const int *c, __global const float *a, __global const float *b,
                        __global float *out) {
    int i = get_global_id(0);
    out[c[i]] = a[i];
}
__kernel void searched(__global const int *c, __global const int *a, __global const float *b,
                       __global float *out) {
    int i = get_global_id(0), low = 0, high = get_global_size(0);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] < c[i]) low = middle + 1; else high = middle;
    }
    out[i] = low;
}
"""
PROGRAM = parse(SOURCE)
CHOSEN = """
__kernel void apart(__global const int *c, __global float *a, __global float *b,
                    __global float *out) {
    int i = get_global_id(0);
    __global float *p = (i & 1) ? a : b;
    out[i] = p[c[i]];
}
__kernel void drawn(__global const int *c, __global float *a, __global float *b,
                    __global float *out) {
    int i = get_global_id(0);
    __global float *p = c[i] > 0 ? a : b;
    p[c[i]] = i;
}
__kernel void local_drawn(__global const int *c, __global float *a, __global float *b,
                          __global float *out) {
    int i = get_global_id(0), own = get_local_id(0);
    __local float x[256], y[256];
    x[own] = i; y[own] = -i;
    barrier(CLK_LOCAL_MEM_FENCE);
    __local float *p = (i & 1) ? x : y;
    out[i] = p[c[i] & 255];
}
"""
"""Pointers to one of two objects, at places that contents decide."""
BOX = """
__kernel void dilated(__global const float *in, __global float *out, int side, int radius) {
    int x = get_global_id(0), y = get_global_id(1);
    float value = in[y * side + x];
    if (value < 1)
        for (int i = -radius; i <= radius; ++i) {
            for (int j = -radius; j <= radius; ++j) {
                int row = clamp(y + i, 0, side - 1), column = clamp(x + j, 0, side - 1);
                value = in[row * side + column];
                if (value != 0) break;
            }
            if (value != 0) break;
        }
    out[y * side + x] = value;
}
"""
"""Loops that end by their counters, or as soon as contents that nobody knows end them."""


def counts_of(kernel: str) -> KernelCounts:
    buffers = [BufferArgument(4 * ITEMS)] * 4
    return count(PROGRAM, kernel, (ITEMS,), (256,), buffers)


def site_of(counts: KernelCounts, memory: str, access: Access = Access.READ) -> AccessSite:
    return next(site for site in counts.sites if site.memory == memory and site.access is access)


def test_a_select_of_two_values_is_not_a_gather() -> None:
    selected, gathered = counts_of("selected"), counts_of("gathered")
    of_both = site_of(selected, "a, b")
    warps = ITEMS / 32
    assert of_both.sectors.value == pytest.approx(8 * warps, rel=0.02)
    assert of_both.sectors.low == pytest.approx(4 * warps, rel=0.02)
    assert not of_both.is_assumed
    assert "selected" in selected.assumptions[0].what
    assert site_of(gathered, "a").sectors.value > 30 * warps
    assert site_of(gathered, "a").is_assumed


def test_an_assumed_branch_decides_the_values_that_it_selects() -> None:
    of_both = site_of(counts_of("branched"), "a")
    assert of_both.sectors.value == pytest.approx(8 * ITEMS / 32, rel=0.02)


def test_neighbours_write_runs_but_read_at_random() -> None:
    written = site_of(counts_of("scattered"), "out", Access.WRITE)
    read = site_of(counts_of("gathered"), "a")
    assert written.sectors.value == pytest.approx(7.5 * ITEMS / 32, rel=0.1)
    assert written.sectors.low == pytest.approx(4 * ITEMS / 32, rel=0.02)
    assert written.sectors.high == pytest.approx(read.sectors.value, rel=0.05)


@pytest.mark.parametrize(
    ("kernel", "memory", "access", "low"),
    [
        ("apart", "a, b", Access.READ, 8),
        ("drawn", "a, b", Access.WRITE, 4),
        ("local_drawn", "x, y", Access.READ, 8),
    ],
)
def test_unknown_places_of_two_objects_are_in_both(
    kernel: str, memory: str, access: Access, low: int
) -> None:
    buffers = [BufferArgument(4 * ITEMS)] * 4
    site = site_of(count(parse(CHOSEN), kernel, (ITEMS,), (256,), buffers), memory, access)
    assert site.is_assumed
    assert site.sectors.low == pytest.approx(low * ITEMS / 32, rel=0.02)
    if kernel == "apart":
        # Half of the lanes read each object, of which they touch nearly all.
        assert site.footprint.launch_sectors > 1.5 * ITEMS / 8


def test_a_search_begins_at_one_place_for_all_and_halves_the_rest_in_each_step() -> None:
    """A warp reads 1, 2, 4, 8 and 16 places, then one for each lane: 24 in the mean of 16 steps."""
    searched = site_of(counts_of("searched"), "a")
    assert searched.requests.value == ITEMS / 32 * math.log2(ITEMS)
    assert 20 * searched.requests.value < searched.sectors.value < 24 * searched.requests.value
    assert searched.footprint.launch_sectors <= ITEMS / 8 + 1


@pytest.mark.parametrize("radius", [1, 2, 5])
def test_a_loop_that_contents_may_end_has_no_more_trips_than_its_counter(radius: int) -> None:
    buffers = [BufferArgument(4 * ITEMS)] * 2
    counts = count(parse(BOX), "dilated", (256, 256), (16, 16), [*buffers, 256, radius])
    trips = [loop.trips for loop in counts.loops]
    assert [each.value for each in trips] == [min(2.0 * radius + 1.0, 16.0)] * 2
    assert [each.high for each in trips] == [min(2.0 * radius + 1.0, 64.0)] * 2
    inside = max(
        (site.accesses for site in counts.sites if site.memory == "in"),
        key=lambda accesses: accesses.value,
    )
    assert inside.high == min(2 * radius + 1, 64) ** 2 * ITEMS
    meanings = {item.meaning for item in counts.assumptions}
    assert any("or all that the loop has" in meaning for meaning in meanings)


MESH = """
__kernel void mesh(__global const int *lengths, __global const float *a, __global float *out,
                   int start, int stop) {
    int i = get_global_id(0), step = start;
    float sum = 0;
    for (int y = 0; y < lengths[0]; ++y) {
        for (int x = 0; x < lengths[1]; ++x) {
            sum = sin(sum + a[step * get_global_size(0) + i]);
            if (++step >= stop) break;
        }
        if (step >= stop) break;
    }
    out[i] = sum;
}
"""


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (3, 8), (0, 40), (0, 100_000)])
def test_loops_with_unknown_trips_end_where_their_common_counter_does(
    start: int, stop: int
) -> None:
    buffers = [BufferArgument(8), BufferArgument(1 << 28), BufferArgument(4 * 1024)]
    counts = count(parse(MESH), "mesh", (1024,), (64,), [*buffers, start, stop])
    steps = site_of(counts, "a").accesses
    assert steps.value == 1024 * min(stop - start, 16 * 16)
    assert steps.high == 1024 * min(stop - start, 64 * 64)
