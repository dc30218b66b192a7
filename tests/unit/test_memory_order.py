"""Which reads are in flight together: what a compiler may move in front of a write, and ahead.

The expected waits are those of an H200, whose driver's compiler leaves reads behind writes in its code
(PTX), and whose times follow: 1,485 µs for 4,096 ordered trips, 312 with `restrict`.
"""

import pytest

from cltrace.kernels import (
    Argument,
    BufferArgument,
    KernelCounts,
    LocalArgument,
    count,
    parse,
)
from cltrace.kernels.ir.instructions import Access

PLAIN = ("__global float *a", "__global float *x", "__global float *y")
RESTRICT_Y = (*PLAIN[:2], "__global float *restrict y")
RESTRICT_A = ("__global float *restrict a", "__global float *restrict x", PLAIN[2])
CONST = ("__global const float *a", "__global const float *x", PLAIN[2])
INTEGERS = ("__global const int *a", "__global const int *x", PLAIN[2])
TRIPS = 1024


def counted(parameters: tuple[str, ...], body: str, n: int = TRIPS) -> KernelCounts:
    source = (
        f"__kernel void k({', '.join(parameters)}, int n) {{ int j = get_global_id(0); {body} }}"
    )
    arguments: list[Argument] = [BufferArgument(4 << 20)] * 3
    return count(parse(source), "k", (1024,), (256,), [*arguments, n])


def waits(counts: KernelCounts, memory: str) -> float:
    """How often a warp waits for reads of a memory."""
    return sum(
        one.waits
        for one in counts.rounds
        if memory in {counts.sites[at].memory for at in one.sites}
    ) / (counts.warps)


SUM = "for (int i = 0; i < n; i++) y[j] += a[i * n + j] * x[i];"
MOVE = "for (int i = 0; i < n; i++) y[i * n + j] = a[i * n + j] * 2;"
FILL = "float s = 0; for (int i = 0; i < n; i++) { y[i * n + j] = i; s += a[i * n + j]; } y[j] = s;"


@pytest.mark.parametrize("parameters", [PLAIN, CONST, INTEGERS])
@pytest.mark.parametrize("body", [SUM, MOVE])
def test_a_read_stays_behind_a_write_that_may_change_it(
    parameters: tuple[str, ...], body: str
) -> None:
    """Neither `const` nor another type proves anything to the driver's compiler."""
    assert waits(counted(parameters, body), "a") == TRIPS


@pytest.mark.parametrize(
    ("step", "index", "is_unrolled"),
    [
        ("int g = get_global_size(0);", "int i = j; i < n; i += g", True),
        ("int g = get_num_groups(0);", "int i = j; i < n; i += 256 * g", True),
        ("int g = n / 1000;", "int i = j; i < n; i += g", True),
        ("", "int i = j; i < n; i += get_global_size(0)", False),
        ("uint g = get_global_size(0);", "uint i = j; i < n; i += g", False),
        ("", "size_t i = j; i < n; i += get_global_size(0)", False),
        ("long g = get_global_size(0);", "long i = j; i < n; i += g", True),
        ("int g = n / 1000;", "int i = j; i <= n - 1; i += 2 * g", True),
        ("int g = n / 1000;", "int i = j; i != n; i += g", False),
        ("int g = n / 1000;", "int i = n - 1; i >= j; i -= g", False),
    ],
)
def test_loops_over_signed_numbers_are_unrolled(step: str, index: str, is_unrolled: bool) -> None:
    """On an H200, 59 ns a trip and four reads in the PTX, or 178 ns and one."""
    body = f"{step} float s = 0; for ({index}) s += a[i]; y[j] = s;"
    restricted = ("__global const float *restrict a", "__global float *restrict x", PLAIN[2])
    # Steps of the global size would leave a single trip, others would never meet a larger end.
    counts = counted(restricted, body, TRIPS if "1000" in step else 16 * TRIPS)
    reads = (
        sum(site.accesses.value for site in counts.sites if site.access is Access.READ)
        / counts.work_items
    )
    assert (waits(counts, "a") < reads) == is_unrolled


@pytest.mark.parametrize(("step", "in_flight"), [("1024", 16), ("n", 4)])
def test_reads_of_unknown_steps_begin_when_those_before_are_used(step: str, in_flight: int) -> None:
    """24 ns a trip on an H200 with a literal, 59 with an argument."""
    body = f"float s = 0; for (int i = j; i < 64 * n; i += {step}) s += a[i]; y[j] = s;"
    counts = counted(("__global const float *restrict a", *PLAIN[1:]), body)
    assert waits(counts, "a") == 64 / in_flight


@pytest.mark.parametrize(
    ("setup", "index", "in_flight"),
    [
        ("", "int i = 0; i < get_local_size(0)", 4),
        ("", "size_t i = 0; i < get_local_size(0)", 4),
        ("", "uint i = 0; i < get_local_size(0)", 1),
        ("int m = get_local_size(0);", "int i = 0; i < m", 16),
    ],
)
def test_counters_that_are_compared_with_sizes(setup: str, index: str, in_flight: int) -> None:
    """In the PTX of an H200's driver a signed counter has the size's 64 bits, an unsigned one 32."""
    body = f"{setup} float s = 0; for ({index}; i++) s += a[i * 64 + j]; y[j] = s;"
    counts = counted(("__global const float *restrict a", *PLAIN[1:]), body)
    assert waits(counts, "a") == 256 / in_flight


@pytest.mark.parametrize(
    ("body", "is_ahead"),
    [
        ("for (int i = 0; i < n; i++) y[i * 4096 + j] = sqrt(y[i * 4096 + j]);", True),
        (
            "for (int i = 0; i < n; i += 2) { float u = y[i * 4096 + j], v = y[(i + 1) * 4096 + j]; "
            "y[i * 4096 + j] = u + v; y[(i + 1) * 4096 + j] = u - v; }",
            True,
        ),
        ("for (int i = 1; i < n; i++) y[i * 4096 + j] += y[(i - 1) * 4096 + j];", False),
        ("for (int i = 1; i < n; i++) y[i * 4096 + j] += y[(i + 1) * 4096 + j];", True),
        ("for (int i = 8; i < n; i++) y[i * 4096 + j] += y[(i - 4) * 4096 + j];", False),
        ("for (int i = 1; i < n; i++) y[i * n + j] += y[(i + 1) * n + j];", False),
    ],
    ids=["in place", "pairs", "before", "next", "four before", "unknown step"],
)
def test_reads_pass_writes_at_a_known_distance(body: str, is_ahead: bool) -> None:
    """In place by pairs takes 452 µs on an H200 (ten reads in flight), and 1,330 with `unroll 1`."""
    counts = counted(("__global float *a", "__global float *x", "__global float *y"), body)
    reads = (
        sum(site.accesses.value for site in counts.sites if site.access is Access.READ)
        / counts.work_items
    )
    assert (waits(counts, "y") < reads / 2) == is_ahead


@pytest.mark.parametrize("parameters", [RESTRICT_Y, RESTRICT_A])
def test_restrict_on_either_side_lets_reads_go_ahead(parameters: tuple[str, ...]) -> None:
    assert waits(counted(parameters, SUM), "a") == TRIPS / 8
    assert waits(counted(parameters, MOVE), "a") == TRIPS / 4


def test_a_write_that_waits_for_no_read_holds_nothing_back() -> None:
    assert waits(counted(PLAIN, FILL), "a") == TRIPS / 4


def test_constant_memory_is_never_written_to() -> None:
    parameters = (PLAIN[0], "__constant float *x", PLAIN[2])
    assert waits(counted(parameters, SUM), "x") < TRIPS
    assert waits(counted(parameters, SUM), "a") == TRIPS


@pytest.mark.parametrize(("stride", "expected"), [("4096", TRIPS / 4), ("n", TRIPS)])
def test_places_of_one_array_are_apart_if_their_distance_is_known(
    stride: str, expected: float
) -> None:
    body = f"for (int k = 0; k < n; k++) y[j + k * {stride}] = y[j + k * {stride}] * 2 + 1;"
    assert waits(counted(PLAIN, body), "y") == expected


def test_reads_in_a_row_behind_dependent_writes_wait_one_by_one() -> None:
    body = "y[j] = a[j]; y[j + n] = a[j + n]; y[j + 3 * n] = a[j + 3 * n];"
    assert waits(counted(PLAIN, body), "a") == 3
    assert waits(counted(RESTRICT_Y, body), "a") == 1


def test_a_loop_with_a_stride_of_the_global_size_is_not_unrolled() -> None:
    body = "float s = 0; for (int i = j; i < 64 * n; i += get_global_size(0)) s += a[i]; y[j] = s;"
    assert waits(counted(PLAIN, body), "a") == 64


def test_local_arrays_do_not_hold_back_each_other() -> None:
    source = """__kernel void k(__global float *a, __local float *kept, int n) {
        __local float other[256];
        int l = get_local_id(0);
        float s = 0;
        for (int i = 0; i < n; i++) { other[(l + i) & 255] = s; s += a[i * 1024 + l]; }
        a[l] = s + other[255 - l];
    }"""
    arguments: list[Argument] = [BufferArgument(4 << 20), LocalArgument(1024), TRIPS]
    counts = count(parse(source), "k", (256,), (256,), arguments)
    assert waits(counts, "a") == TRIPS / 4


WALK = """__kernel void rows(__global const float *a, __global float *o, int n) {
    int i = get_global_id(0); float s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k];
    o[i] = s;
}
__kernel void shared(__global const float *a, __global float *o, int n) {
    int i = get_global_id(0) & 31; float s = 0;
    for (int k = 0; k < n; k++) s += a[k * n + i];
    o[get_global_id(0)] = s;
}
__kernel void triangle(__global const float *a, __global float *o, int n) {
    int i = get_global_id(0); float s = 0;
    for (int k = i; k < n; k++) s += a[k];
    o[i] = s;
}
"""


@pytest.mark.parametrize(("n", "share"), [(1024, 1 / 8), (1023, 1.0)])
def test_lanes_that_walk_along_sectors_come_to_new_ones_together(n: int, share: float) -> None:
    buffers: list[Argument] = [BufferArgument(8 << 20), BufferArgument(4096)]
    counts = count(parse(WALK), "rows", (1024,), (256,), [*buffers, n])
    site = counts.sites[0]
    assert site.moving_requests / site.requests.value == pytest.approx(share, rel=0.02)


def test_warps_of_a_group_share_what_they_read_together() -> None:
    buffers: list[Argument] = [BufferArgument(8 << 20), BufferArgument(4096)]
    counts = count(parse(WALK), "shared", (1024,), (256,), [*buffers, 1024])
    assert counts.sites[0].step_share == 1 / 8
    rows = count(parse(WALK), "rows", (1024,), (256,), [*buffers, 1024])
    assert rows.sites[0].step_share == 1.0


def test_the_longest_warp_of_a_triangle_runs_twice_the_mean() -> None:
    buffers: list[Argument] = [BufferArgument(8 << 20), BufferArgument(4096)]
    counts = count(parse(WALK), "triangle", (1024,), (256,), [*buffers, 1024])
    assert counts.imbalance.warps == pytest.approx(2.0, rel=0.05)
    assert counts.imbalance.groups == pytest.approx(1.75, rel=0.05)
    assert count(parse(WALK), "rows", (1024,), (256,), [*buffers, 64]).imbalance.warps == 1.0
