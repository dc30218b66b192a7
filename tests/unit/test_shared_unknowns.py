"""What the work-items of a group share of what is unknown, against counts of known contents."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse
from cltrace.kernels.counts.records import AccessSite

GROUP = 64
ITEMS = 1 << 15
SOURCE = """
__kernel void rows(__global const int *begins, __global const int *columns, __global const float *values,
                   __global const float *x, __global float *y) {
    int row = get_group_id(0);
    float sum = 0;
    for (int j = begins[row] + get_local_id(0); j < begins[row + 1]; j += get_local_size(0))
        sum += values[j] * x[columns[j]];
    y[get_global_id(0)] = sum;
}
__kernel void items(__global const int *begins, __global const int *columns, __global const float *values,
                    __global const float *x, __global float *y) {
    float sum = 0;
    for (int j = begins[get_global_id(0)]; j < begins[get_global_id(0) + 1]; j++)
        sum += values[j];
    y[get_global_id(0)] = sum;
}
__kernel void by_group(__global const int *flags, __global const float *in, __global float *out) {
    int i = get_global_id(0);
    float value = 1;
    if (flags[get_group_id(0)] > 0) {
        value = in[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 9; k++) value += in[i + (k << 5)] * value;
    }
    out[i] = value;
}
__kernel void by_item(__global const int *flags, __global const float *in, __global float *out) {
    int i = get_global_id(0);
    float value = 1;
    if (flags[i] > 0) {
        value = in[i];
        for (int k = 0; k < 9; k++) value += in[i + (k << 5)] * value;
    }
    out[i] = value;
}
__kernel void addresses(__global const int *begins, __global const float *in, __global float *out,
                        int n) {
    int i = get_global_id(0), lane = get_local_id(0), group = get_group_id(0);
    int begin = begins[group];
    out[i] = in[begin]
        + in[begin - 32 + lane]
        + in[(begin << 3) + lane]
        + in[begin * n + 2 * lane]
        + in[min(begin + lane, n)]
        + in[begin * lane]
        + in[begins[group + 1 + (lane & 1)]]
        + in[(lane & 2 ? begin : n) + lane];
}
"""
PROGRAM = parse(SOURCE)
LOOPS = {
    "forwards": "for (int j = begins[i]; j < begins[i + 1]; j++) sum += values[j];",
    "backwards": "for (int j = begins[i + 1] - 1; j >= begins[i]; j--) sum += values[j];",
    "in pairs": "for (int j = pairs[i].x; j < pairs[i].y; j++) sum += values[j];",
    "by pointers": """
        for (__global const float *at = values + begins[i]; at != values + begins[i + 1]; at++)
            sum += *at;""",
    "two at a time": """
        for (int j = begins[i]; j < begins[i + 1]; j += 2) sum += values[j] + values[j + 1];""",
    "by the size of no dimension": """
        for (int j = begins[i]; j < begins[i + 1]; j += get_local_size(7)) sum += values[j];""",
    "doubled": """
        for (int j = begins[i]; j < begins[i + 1]; j++) sum += values[2 * j] + values[2 * j + 1];""",
}


def counts_of(kernel: str, arguments: list[BufferArgument | int]) -> KernelCounts:
    return count(PROGRAM, kernel, (ITEMS,), (GROUP,), arguments)


def site_of(counts: KernelCounts, memory: str) -> AccessSite:
    return next(site for site in counts.sites if site.memory == memory)


def sectors_per_request(site: AccessSite) -> float:
    return site.sectors.value / site.requests.value


@pytest.mark.parametrize(
    ("kernel", "segments", "shortest", "longest"),
    [("rows", 512, 640, 1400), ("items", ITEMS, 3, 60)],
)
def test_segments_have_the_work_of_known_ones(
    kernel: str, segments: int, shortest: int, longest: int
) -> None:
    random = np.random.default_rng(5)
    lengths = random.integers(shortest, longest, segments)
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    number = int(begins[-1])
    columns = random.integers(0, 1 << 18, number).astype(np.int32)

    def arguments(*, is_known: bool) -> list[BufferArgument | int]:
        contents = (begins, columns) if is_known else (None, None)
        return [
            BufferArgument(begins.nbytes, contents[0]),
            BufferArgument(columns.nbytes, contents[1]),
            *(BufferArgument(size) for size in (4 * number, 4 << 18, 4 * ITEMS)),
        ]

    known, unknown = (counts_of(kernel, arguments(is_known=is_known)) for is_known in (True, False))
    found, expected = (site_of(each, "values") for each in (unknown, known))
    assert found.accesses.value == pytest.approx(expected.accesses.value, rel=0.15)
    if kernel == "rows":
        assert sectors_per_request(found) == pytest.approx(sectors_per_request(expected), rel=0.05)
    assert any("by the sizes of the arrays" in each.meaning for each in unknown.assumptions)


def test_a_condition_of_a_group_divides_no_warp() -> None:
    arguments: list[BufferArgument | int] = [BufferArgument(4 * ITEMS) for _ in range(3)]
    shared, apart = (counts_of(kernel, arguments) for kernel in ("by_group", "by_item"))
    assert shared.branches[0].divergent_warps == 0
    assert apart.branches[0].divergent_warps > 0
    assert shared.branches[0].taken == pytest.approx(0.5, abs=0.1)
    halves = [site_of(each, "in").requests.value for each in (shared, apart)]
    assert halves[0] == pytest.approx(halves[1] / 2, rel=0.15)
    assert any("half of the work-groups" in each.meaning for each in shared.assumptions)


def test_known_distances_stay() -> None:
    buffers = [BufferArgument(size) for size in (4 * ITEMS, 4 << 20, 4 * ITEMS)]
    counts = counts_of("addresses", [*buffers, 7])
    sectors = [
        sectors_per_request(site)
        for site in counts.sites
        if site.memory == "in"
        and site.place.line >= SOURCE[: SOURCE.index("in[begin]")].count("\n")
    ]
    same, *others = sectors
    assert same == 1
    assert others[:2] == [pytest.approx(4.9, abs=0.2)] * 2
    assert others[2] == pytest.approx(8.9, abs=0.3)
    assert all(each > 16 for each in others[3:])


@pytest.mark.parametrize("name", LOOPS)
def test_segments_are_counted_through_in_many_ways(name: str) -> None:
    source = f"""
        __kernel void k(__global const int *begins, __global const int2 *pairs,
                        __global const float *values, __global float *out) {{
            int i = get_global_id(0);
            float sum = 0;
            {LOOPS[name]}
            out[i] = sum;
        }}"""
    items = 4096
    buffers = [BufferArgument(size * items) for size in (4, 8, 96 * 4, 4)]
    counts = count(parse(source), "k", (items,), (GROUP,), buffers)
    assert [round(loop.trips.value) for loop in counts.loops] == [
        48 if name in {"two at a time", "doubled"} else 96
    ]


@pytest.mark.parametrize(
    ("local_size", "sectors"), [((128, 1), 4.0), ((32, 4), 4.0), ((1, 128), 32.0)]
)
def test_rows_chosen_by_contents_are_read_side_by_side(
    local_size: tuple[int, int], sectors: float
) -> None:
    """The row is unknown, but the same for all work-items of a row of the group."""
    source = """
    __kernel void embed(__global const float *rows, __global const int *chosen, __global float *out) {
        int x = get_global_id(0), y = get_global_id(1);
        out[y * 128 + x] = rows[chosen[y] * 128 + x];
    }
    """
    buffers = [BufferArgument(4 << 20), BufferArgument(4 << 10), BufferArgument(4 << 17)]
    counts = count(parse(source), "embed", (128, 1024), local_size, buffers)
    assert sectors_per_request(site_of(counts, "rows")) == pytest.approx(sectors, rel=0.3)
