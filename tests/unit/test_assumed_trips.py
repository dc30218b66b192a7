"""Trips and places that are assumed where contents are unknown: equal contents, teams, segments."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse

SOURCE = """
__kernel void equal(__global const int *lengths, __global const char *text, __global int *out,
                    __global const char *pattern, int longest) {
    int item = get_global_id(0), found = 0;
    while (found < longest && text[item + found] == pattern[found]) found++;
    out[item] = found;
}
"""
ITEMS, GROUP = 4096, 64


def trips_of(kernel: str, *arguments: BufferArgument | int) -> tuple[float, KernelCounts]:
    counts = count(parse(SOURCE), kernel, (ITEMS,), (GROUP,), arguments)
    (loop,) = counts.loops
    return loop.trips.value, counts


def test_contents_are_seldom_equal() -> None:
    buffers = [BufferArgument(size) for size in (4, ITEMS, 4 * ITEMS, 40)]
    trips, counts = trips_of("equal", *buffers, 40)
    assert trips <= 2
    assert any("1 trip as contents are seldom equal" in each.meaning for each in counts.assumptions)


TEAMS = """
__kernel void team(__global const int *begins, __global const float *values, __global float *out,
                   int width) {
    int lane = get_local_id(0) & (width - 1), row = get_global_id(0) / DIVISOR;
    float sum = 0;
    for (int i = begins[row] + lane; i < begins[row + 1]; i += width) sum += values[i];
    out[get_global_id(0)] = sum;
}
"""


@pytest.mark.parametrize("divisor", ["32", "(size_t)32", "width"])
def test_work_items_of_a_team_read_side_by_side(divisor: str) -> None:
    """Its begin is unknown, but all 32 have it; a row of 128 values has four trips of the team."""
    rows = ITEMS // 32
    arguments = [
        BufferArgument(4 * (rows + 1)),
        BufferArgument(4 * 128 * rows),
        BufferArgument(4 * ITEMS),
    ]
    source = TEAMS.replace("DIVISOR", divisor)
    counts = count(parse(source), "team", (ITEMS,), (128,), [*arguments, 32])
    (loop,) = counts.loops
    assert loop.trips.value == pytest.approx(4.5, abs=0.6)
    assert sectors_per_request(counts) <= 5.5


SEGMENTS = """
__kernel void segments(__global const int *begins, __global const float *values, __global float *out) {
    int row = get_global_id(0);
    float sum = 0;
    for (int i = begins[row]; i < begins[row + 1]; i++) sum += values[i];
    out[row] = sum;
}
"""


def test_segments_follow_one_another() -> None:
    lengths = np.random.default_rng(7).integers(8, 25, ITEMS)
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)

    def counts_with(contents: np.ndarray | None) -> KernelCounts:
        buffers = [BufferArgument(begins.nbytes, contents), BufferArgument(4 * int(begins[-1]))]
        return count(
            parse(SEGMENTS), "segments", (ITEMS,), (GROUP,), [*buffers, BufferArgument(4 * ITEMS)]
        )

    known, unknown = counts_with(begins), counts_with(None)
    assert sectors_per_request(unknown) == pytest.approx(sectors_per_request(known), rel=0.05)
    assert unknown.loops[0].trips.value == pytest.approx(known.loops[0].trips.value, rel=0.05)
    assert unknown.loops[0].trips.low < 4 < 40 < unknown.loops[0].trips.high
    assert any("one after another" in each.meaning for each in unknown.assumptions)
    assert known.assumptions == ()
    for counts, is_assumed in ((known, False), (unknown, True)):
        (site,) = (each for each in counts.sites if each.memory == "values")
        assert site.is_assumed == counts.loops[0].is_assumed == is_assumed
        assert {each.is_assumed for each in counts.branches} == {is_assumed}


def sectors_per_request(counts: KernelCounts) -> float:
    sites = [site for site in counts.sites if site.memory == "values"]
    return sum(site.sectors.value for site in sites) / sum(site.requests.value for site in sites)


@pytest.mark.parametrize("length", [1 << 16, 1 << 22])
def test_long_segments_are_not_made_up(length: int) -> None:
    """Each of their elements would be executed, and the last of them may lie beyond what begins hold."""
    rows = 1024
    buffers = [BufferArgument(size) for size in (4 * (rows + 1), 4 * length * rows, 4 * rows)]
    counts = count(parse(SEGMENTS), "segments", (rows,), (GROUP,), buffers)
    assert counts.loops[0].trips.value == 4096
