"""Places that fractions of contents move away from a work-item's ids, and those of contents alone."""

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse

SIDE = 512
SOURCE = """
__kernel void moved(__global const float *contents, __global const float *in, __global float *out) {
    int x = get_global_id(0), y = get_global_id(1), at = y * SIDE + x;
    out[at] = in[PLACE];
}
"""
NEAR = [
    "clamp((int)(x * contents[0] - y * contents[1] + 0.5f), 0, SIDE - 1)",
    "clamp(convert_int_rtz(x + contents[at]), 0, SIDE - 1) + SIDE * y",
    "SIDE * max((int)floor(fma(contents[at], 0.1f, (float)y)), 0) + x",
]
ANYWHERE = ["(int)(contents[at] * 255.0f)", "as_int(contents[at]) + x", "(int)contents[at] + x"]


def counts_of(place: str) -> KernelCounts:
    source = SOURCE.replace("PLACE", place).replace("SIDE", str(SIDE))
    buffers = [BufferArgument(4 * SIDE * SIDE)] * 3
    return count(parse(source), "moved", (SIDE, SIDE), (32, 8), buffers)


def sectors_per_warp(place: str) -> float:
    (site,) = (site for site in counts_of(place).sites if site.memory == "in")
    assert site.is_assumed
    return site.sectors.value / site.requests.value


@pytest.mark.parametrize("place", NEAR)
def test_neighbours_go_to_neighbours(place: str) -> None:
    assert sectors_per_warp(place) <= 5


@pytest.mark.parametrize("place", ANYWHERE)
def test_contents_alone_lead_anywhere(place: str) -> None:
    assert sectors_per_warp(place) > 25


RANDOM = """
__kernel void moved(__global const uint *contents, __global const float *in, __global float *out) {
    int at = get_global_id(1) * SIDE + get_global_id(0);
    uint random = (contents[at] ^ (at * 2654435761u)) * 1664525u + 1013904223u;
    out[at] = in[(int)((float)(random >> 8) * (1 / 16777216.0f) * SIDE * SIDE)];
}
"""
"""Numbers that look random, of which ids are a part."""
HISTOGRAM = """
__kernel void moved(__global const float *contents, __global int *in, __global float *out) {
    int at = get_global_id(1) * SIDE + get_global_id(0);
    atomic_inc(&in[(int)(contents[at] * SIDE + (float)at)]);
}
"""


@pytest.mark.parametrize("source", [RANDOM, HISTOGRAM])
def test_random_numbers_and_changes_go_anywhere(source: str) -> None:
    buffers = [BufferArgument(4 * SIDE * SIDE)] * 3
    program = parse(source.replace("SIDE", str(SIDE)))
    counts = count(program, "moved", (SIDE, SIDE), (32, 8), buffers)
    (site,) = (site for site in counts.sites if site.memory == "in")
    assert site.sectors.value / site.requests.value > 25


def test_the_assumption_says_so() -> None:
    meanings = [each.meaning for each in counts_of(NEAR[0]).assumptions]
    assert meanings == ["places side by side, as the ids, or random ones"]
