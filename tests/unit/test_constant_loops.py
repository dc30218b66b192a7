"""Loops whose counters are constants in each trip: the trips, and what is left of a trip."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.kernel_analysis import analyse_kernel
from cltrace.kernels.fold.constant_loops import MAX_TRIPS, find_constant_loops
from cltrace.kernels.fold.unrolling import find_unrolled_loops

SCAN = """__kernel void k(__global const int *a, __global int *c) {
    __local int t[2][256];
    int l = get_local_id(0), p = 0;
    t[0][l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < %s; d <<= 1) {
        t[1 - p][l] = l >= d ? t[p][l] + t[p][l - d] : t[p][l];
        p = 1 - p;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[get_global_id(0)] = t[p][l];
}"""
SORT = """__kernel void k(__global int *a, __global int *c) {
    __local int s[256];
    int l = get_local_id(0);
    s[l] = a[l];
    for (int k = 2; k <= 256; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int o = l ^ j;
            if (o > l && (s[l] > s[o]) == ((l & k) == 0)) { int x = s[l]; s[l] = s[o]; s[o] = x; }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    c[l] = s[l];
}"""


def trips_of(source: str) -> list[int]:
    """The trips of the constant loops of a kernel `k`, outer ones first."""
    kernel = analyse_kernel(parse(source), "k", CodeForm.OPTIMISED).full_kernel
    loops = find_constant_loops(kernel)
    return [loops[number].trips for number in sorted(loops)]


def loop(control: str, body: str = "c[i] = a[i];") -> str:
    head = "__kernel void k(__global const int *a, __global int *c, int n)"
    return f"{head} {{ for ({control}) {{ {body} }} }}"


@pytest.mark.parametrize(
    ("control", "trips"),
    [
        ("int i = 1; i < 256; i <<= 1", [8]),
        ("int i = 128; i > 0; i >>= 1", [8]),
        ("uint i = 128; i; i /= 2", [8]),
        ("int i = 5; i < 1000; i = i * 3 + 1", [5]),
        ("int i = 0; i < 12; ++i", [12]),
        ("int i = -8; i < 0; i += 2", [4]),
        ("int i = 1; i < n; i <<= 1", []),
        ("int i = n; i > 0; i >>= 1", []),
        ("int i = 0; i < 257; ++i", []),
    ],
)
def test_trips(control: str, trips: list[int]) -> None:
    assert trips_of(loop(control)) == trips


def test_inner_loops_begin_and_end_with_the_counters_around_them() -> None:
    assert trips_of(SORT) == [8, 8]
    assert trips_of(loop("int i = 1; i < 5; ++i", "for (int j = i; j; --j) c[j] = a[i];")) == [4, 4]
    nested = loop("int i = 1; i < 100; ++i", "for (int j = i; j; --j) c[j] = a[i];")
    assert trips_of(nested) == [99], f"an inner loop of more than {MAX_TRIPS} trips"


@given(first=st.integers(-40, 40), step=st.integers(1, 9), limit=st.integers(-40, 90))
def test_trips_are_those_of_python(first: int, step: int, limit: int) -> None:
    control = f"int i = {first}; i < {limit}; i += (i & 3) + {step}"
    trips, i = 0, first
    while i < limit:
        trips, i = trips + 1, i + (i & 3) + step
    assert trips_of(loop(control, "c[i & 63] = a[i & 31];")) == ([trips] if trips > 1 else [])


def counted(source: str) -> KernelCounts:
    buffers = [BufferArgument(4 << 10), BufferArgument(4 << 10)]
    return count(parse(source), "k", (256,), (256,), buffers, machine=Machine())


def per_warp(counts: KernelCounts, *costs: CostClass) -> float:
    return sum(row.warp_total for row in counts.folded if row.cost in costs) / counts.warps


def test_a_scan_of_a_constant_size_computes_neither_counters_nor_addresses() -> None:
    constant, variable = counted(SCAN % "256"), counted(SCAN % "get_local_size(0)")
    sums = CostClass.INT_ADD, CostClass.ADDRESS, CostClass.BRANCH
    assert per_warp(constant, *sums) < 8 * 2.6, "the sum and its condition in each of 8 trips"
    assert per_warp(variable, *sums) > 2 * per_warp(constant, *sums)
    assert constant.barriers == variable.barriers


def test_trips_with_barriers_stay_one_after_another() -> None:
    for source in (SCAN % "256", SORT):
        kernel = analyse_kernel(parse(source), "k", CodeForm.OPTIMISED).full_kernel
        loops = find_unrolled_loops(kernel, Machine()).values()
        assert loops
        assert all(loop.is_whole and loop.is_in_step for loop in loops)
    waits = sum(each.waits for each in counted(SCAN % "256").rounds) / 8
    assert waits >= 8, "each trip waits for its reads of local memory"


def test_what_follows_from_counters_costs_nothing() -> None:
    source = """__kernel void k(__global const float *a, __global float *c) {
        int i = get_global_id(0);
        float v[9];
        for (int k = 0; k < 9; ++k) v[k] = a[i + (k / 3) * 64 + k % 3];
        c[i] = v[0] + v[1] * v[2] + v[3] * v[4] + v[5] * v[6] + v[7] * v[8];
    }"""
    assert per_warp(counted(source), CostClass.INT_DIVIDE) == 0


@pytest.mark.parametrize(("last", "divides"), [("256", False), ("get_local_size(0)", True)])
def test_remainders_by_doubled_counters_are_masks(last: str, divides: bool) -> None:
    """NVIDIA's compiler unrolls the sum of a work-group whose size it knows, and knows each divisor."""
    source = f"""
    __kernel void sums(__global const float *in, __global float *out) {{
        __local float part[256];
        int own = get_local_id(0);
        part[own] = in[get_global_id(0)];
        for (uint step = 2; step <= {last}; step *= 2) {{
            barrier(CLK_LOCAL_MEM_FENCE);
            if ((own + 1) % step == 0) part[own] += part[own - step / 2];
        }}
        if (own == 255) out[get_group_id(0)] = part[own];
    }}
    """
    buffers = [BufferArgument(4 << 12)] * 2
    found = count(parse(source), "sums", (4096,), (256,), buffers)
    assert any(row.cost is CostClass.INT_DIVIDE for row in found.folded) == divides


SORTED = """__kernel void k(__global const float *a, __global float *c, int n) {
    float own[9];
    int x = get_global_id(0), filled = 0;
    for (int y = x - 1; y <= x + 1; ++y)
        for (int z = x - 1; z <= x + LAST; ++z) own[filled++] = a[y * n + z];
    for (int i = 1; i < filled; ++i)
        for (int j = i; j > 0 && own[j - 1] > own[j]; --j) {
            float larger = own[j - 1]; own[j - 1] = own[j]; own[j] = larger;
        }
    c[x] = own[4];
}"""


@pytest.mark.parametrize(("last", "is_register"), [("1", True), ("n", False)])
def test_a_window_that_is_sorted_by_insertion_stays_in_registers(
    last: str, *, is_register: bool
) -> None:
    """Neither end of the window is a constant, and the sort ends before its counters do."""
    source = SORTED.replace("LAST", last).replace("i < filled", "i < 9")
    buffers = [BufferArgument(1 << 16)] * 2
    counts = count(parse(source), "k", (1024,), (64,), [*buffers, 1])
    private = [site.is_register for site in counts.sites if site.space == "private"]
    assert all(private) == is_register


@pytest.mark.parametrize(
    ("first", "last", "trips"),
    [
        ("int x = n - 2", "x <= n + 2", 5),
        ("int x = n", "x < n + 7", 7),
        ("long x = n + 3", "x > n - 3L", None),
        ("int x = n", "x < 2 * n", None),
        ("uint x = n - 2u", "x <= n + 2u", None),
    ],
)
def test_trips_between_ends_a_known_distance_apart(
    first: str, last: str, trips: int | None
) -> None:
    source = loop(f"{first}; {last}; ++x", "c[x] = a[x];")
    kernel = analyse_kernel(parse(source), "k", CodeForm.OPTIMISED).full_kernel
    unrolled = find_unrolled_loops(kernel, Machine())
    whole = [each.trips for each in unrolled.values() if each.is_whole]
    assert whole == ([] if trips is None else [trips])


def test_copies_of_a_test_end_a_loop_as_one_does() -> None:
    """clang goes past the comparison of the body once it has failed, and tests the counter there too."""
    body = """
        uchar f[18];
        for (int j = 0; j < 18; j++) f[j] = a[i * 18 + j];
        bool all = true;
        for (int j = 0; j < 18; j++) all = all && (f[j] & 3) == 1;
        if (all) c[i] = 1;"""
    head = "__kernel void k(__global const uchar *a, __global int *c)"
    source = f"{head} {{ int i = get_global_id(0); {body} }}"
    assert trips_of(source) == [18, 18]
    arguments = (BufferArgument(18 * 256), BufferArgument(4 * 256))
    counts = count(parse(source), "k", (256,), (256,), arguments, machine=Machine())
    private = [site for site in counts.sites if site.space == "private"]
    assert private
    assert all(site.is_register for site in private)
    branches = sum(row.warp_total for row in counts.folded if row.cost is CostClass.BRANCH)
    assert branches / counts.warps <= 18 + 1, "a test of each flag, and the last one"


NEST = """__kernel void k(__global const float *a, __global float *c, int n) {
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = 0;
    for (int o = 0; o < %s; o++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int r = 0; r < 4; r++) for (int y = 0; y < 3; y++) for (int x = 0; x < 3; x++)
            for (int f = 0; f < 4; f++) for (int u = 0; u < 2; u++) for (int v = 0; v < 2; v++)
                sums[f * 4 + u * 2 + v] += a[o * 400 + (r * 4 + y + u) * 9 + x + v * 3] * a[f + x];
    }
    for (int i = 0; i < 16; i++) c[16 * get_global_id(0) + i] = sums[i];
}"""


@pytest.mark.parametrize("trips", ["n", "64"])
def test_inner_loops_of_many_trips_together_are_constant_by_themselves(trips: str) -> None:
    counts = count(
        parse(NEST % trips),
        "k",
        (256,),
        (64,),
        [BufferArgument(1 << 20)] * 2 + [64],
        machine=Machine(),
    )
    private = [site for site in counts.sites if site.space == "private"]
    assert private
    assert all(site.is_register for site in private)
