"""Reads behind conditions: which of them are in flight together.

Checked on an H200: two reads, each behind a condition of its own, take as long as two without one
(69 and 67 µs for 4096² work-items); a read behind a condition on the other's value comes later (92 µs).
"""

import json
from pathlib import Path

import pytest

from benchmarks.loop_waits import GROUP, ITEMS, TRIPS, sources
from cltrace.kernels import BufferArgument, KernelCounts, count, parse

DATA = Path(__file__).parents[1] / "data"

SIDE = 256
CLAMPED = """
float at(__global const float *a, int w, int h, int x, int y) {
    x = min(max(x, 0), w - 1);
    y = min(max(y, 0), h - 1);
    if (x < 0 || x >= w || y < 0 || y >= h) return 0;
    return a[y * w + x];
}
"""


def counted(body: str) -> KernelCounts:
    """Count a kernel over a plane of two arrays, `a` and `b`, that writes `out`."""
    source = f"""{CLAMPED}
    __kernel void k(
        __global const float *a, __global const float *b, __global float *out, int w, int h
    ) {{
        int x = get_global_id(0), y = get_global_id(1), i = y * w + x;
        __local float tile[256];
        float v = 0;
        {body}
        out[i] = v;
    }}"""
    plane = BufferArgument(4 * SIDE * SIDE)
    return count(parse(source), "k", (SIDE, SIDE), (32, 8), [plane, plane, plane, SIDE, SIDE])


def rounds(counts: KernelCounts) -> list[tuple[int, float]]:
    """Return the rounds of reads of global memory: their number of sites, and waits per warp."""
    found = []
    for one in counts.rounds:
        sites = [at for at in one.sites if counts.sites[at].space == "global"]
        if sites:
            found.append((len(sites), one.waits / counts.warps))
    return sorted(found)


@pytest.mark.parametrize(
    "body",
    [
        "v = a[i] * 2 + b[i] * 3;",
        "v = at(a, w, h, x, y) * 2 + at(b, w, h, x, y) * 3;",
        "if (x < w) v = a[i] * 2; if (y < h) v += b[i] * 3;",
        "if (x < w) { if (y < h) v = a[i]; } if (x > 2) v += b[i];",
        "if (x < w) v = a[i]; else v = b[i + 1]; v += b[i] * 0.5f;",
    ],
)
def test_reads_behind_conditions_of_their_own_are_in_flight_together(body: str) -> None:
    counts = counted(body)
    reads = sum(site.access.value == "read" and site.space == "global" for site in counts.sites)
    assert rounds(counts) == [(reads, 1.0)]


@pytest.mark.parametrize(
    "body",
    [
        "v = a[i]; if (v < h) v += b[i];",
        "v = a[i]; if (x < w) v += b[(int)v & 255];",
        "if (x < w) v = a[i]; if (v > 1) v += b[i];",
    ],
)
def test_a_read_that_depends_on_another_comes_after_it(body: str) -> None:
    assert len(rounds(counted(body))) == 2


def test_reads_on_either_side_of_a_barrier_are_not_in_flight_together() -> None:
    body = """
        if (x < w) tile[get_local_id(1) * 32 + get_local_id(0)] = a[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        v = tile[get_local_id(0)];
        if (y < h) v += b[i];
    """
    assert rounds(counted(body)) == [(1, 1.0), (1, 1.0)]


def test_a_long_conditional_block_is_jumped_over() -> None:
    long = " ".join(f"v = v * {n}.5f + sin(v);" for n in range(30))
    assert len(rounds(counted(f"if (x > 3) {{ v = a[i]; {long} }} v += b[i];"))) == 2


def test_a_round_of_one_conditional_block_waits_as_often_as_the_block_runs() -> None:
    """Half of the rows of warps read `a`, which no other block reads."""
    [(sites, waits)] = rounds(counted("v = i; if (y & 1) v += a[i];"))
    assert (sites, waits) == (1, 0.5)


def test_reads_of_a_trip_share_a_round_within_a_loop_only() -> None:
    body = """
        for (int t = 0; t < w; ++t) {
            if (x > t) v += a[t * w + x];
            if (y > t) v += b[t * w + y];
        }
    """
    [(sites, waits)] = rounds(counted(body))
    assert sites == 2
    assert 0 < waits < SIDE


LOOP = """
__kernel void k(__global const int *a, __global const float4 *b, __global float *out, int n) {{
    int i = get_global_id(0);
    float v = 0;
    for (int j = 0; j < n; ++j) {{
        int at = a[j * 4096 + i];
        if (at >= 0) {{ float4 read = b[at]; v += read.x; {rest} }}
    }}
    out[i] = v;
}}"""


@pytest.mark.parametrize(
    ("rest", "together"),
    [
        ("", 8),
        (
            " ".join(f"v = fma(v, read.{m}, {n}.5f);" for n in range(8) for m in "xyzw"),
            1,
        ),
    ],
)
def test_only_what_is_jumped_over_waits_in_each_trip(rest: str, together: int) -> None:
    buffers = [BufferArgument(4 * 4096 * 64), BufferArgument(1 << 20), BufferArgument(4 * 4096)]
    counts = count(parse(LOOP.format(rest=rest)), "k", (4096,), (64,), [*buffers, 64])
    waits = {
        counts.sites[at].memory: one.waits / counts.warps
        for one in counts.rounds
        for at in one.sites
    }
    assert waits["a"] == 8
    assert waits["b"] == 64 / together


MEASURED = json.loads((DATA / "h100-loop-waits.json").read_text())["ns_per_trip"]


@pytest.mark.parametrize("name", ["dep", "short", *(f"long{n}" for n in (4, 8, 16, 24, 32, 64))])
def test_loops_wait_as_measured(name: str) -> None:
    is_in_each_trip = MEASURED[name] > 2 * MEASURED["dep"]
    assert is_in_each_trip or MEASURED[name] < 1.5 * MEASURED["dep"]
    sizes = (4 * TRIPS * ITEMS, 16 << 18, 4 * ITEMS)
    buffers = [BufferArgument(size) for size in sizes]
    counts = count(parse(sources()[name]), "loop", (ITEMS,), (GROUP,), [*buffers, TRIPS])
    (waits,) = (
        one.waits / counts.warps
        for one in counts.rounds
        if [counts.sites[at].memory for at in one.sites] == ["b"]
    )
    assert waits == (TRIPS if is_in_each_trip else TRIPS / 8)
