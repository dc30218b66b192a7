"""Private arrays of a GPU: those that stay in memory cost as memory does, those in registers nothing."""

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.demand import Demand, demand_of
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.ir.instructions import Access

ITEMS, WARPS = 1 << 16, 1 << 11
SOURCE = """
__kernel void known(__global int *data, int n) {
    int own[8], i = get_global_id(0);
    for (int k = 0; k < 8; ++k) own[k] = data[i + k * n];
    for (int k = 0; k < 4; ++k) { int low = min(own[k], own[k + 4]); own[k + 4] = own[k]; own[k] = low; }
    for (int k = 0; k < 2; ++k) own[k] += own[k + 2];
    for (int k = 0; k < 8; ++k) data[i + k * n] = own[k];
}
__kernel void drawn(__global int *data, int n) {
    int own[8], i = get_global_id(0);
    for (int k = 0; k < 8; ++k) own[k] = data[i + k * n];
    for (int k = 0; k < n; ++k) own[k * 5 & 7] += k;
    for (int k = 0; k < 8; ++k) data[i + k * n] = own[k];
}
__kernel void copied(__global int *data, int n) {
    int own[8], i = get_global_id(0);
    for (int k = 0; k < 8; ++k) own[k] = data[i * 8 + k];
    for (int k = 0; k < 4; ++k) { int low = min(own[k], own[k + 4]); own[k + 4] = own[k]; own[k] = low; }
    for (int k = 0; k < 8; ++k) data[i * 8 + k] = own[k];
}
__kernel void sums(__global int *data, int n) {
    int own[8] = FIRST, i = get_global_id(0);
    for (int j = 0; j < n; ++j) for (int k = 0; k < 8; ++k) own[k] += k * j;
    for (int k = 0; k < 8; ++k) data[i * 8 + k] = own[k];
}
__kernel void apart(__global int *data, int n) {
    int own[32], i = get_global_id(0);
    for (int k = 0; k < 32; ++k) own[k] = k ^ n;
    data[i] = own[(i * 7 + n) & 31];
}
"""


def counts_of(kernel: str, machine: Machine | None = None, first: str = "{0}") -> KernelCounts:
    arguments = (BufferArgument(32 * ITEMS), 64)
    program = parse(SOURCE.replace("FIRST", first))
    return count(program, kernel, (ITEMS,), (256,), arguments, machine=machine or Machine())


def private_sites(counts: KernelCounts) -> list[AccessSite]:
    return [site for site in counts.sites if site.space == "private"]


def written_privately(demand: Demand) -> float:
    return sum(
        region.sectors
        for region in demand.traffic
        if region.memory == PRIVATE_MEMORY and region.access is Access.WRITE
    )


def test_places_that_the_compiler_knows_are_registers() -> None:
    counts = counts_of("known")
    assert all(site.is_register for site in private_sites(counts))
    assert written_privately(demand_of(counts, frozenset())) == 0.0


@pytest.mark.parametrize("first", ["{0}", "{1, 2, 3, 4, 5, 6, 7, 8}"])
def test_initial_values_and_copying_to_memory_keep_registers(first: str) -> None:
    """NVIDIA's driver keeps these in registers, as its PTX shows for up to 128 numbers."""
    counts = counts_of("sums", first=first)
    assert private_sites(counts)
    assert all(site.is_register for site in private_sites(counts))


@pytest.mark.parametrize(
    ("table", "is_register"),
    [
        ("int places[] = {0, 4, 1, 5, 2, 6, 3, 7};", True),
        ("__constant int *places = numbers;", True),
        ("__global const int *places = data;", False),
        ("int places[] = {0, 4, 1, 5, 2, 6, 3, 7}; places[n & 7] = 3;", False),
    ],
    ids=["constants", "of the program", "of a buffer", "written"],
)
def test_places_from_a_table_of_constants_are_known(table: str, is_register: bool) -> None:
    """An FFT takes 41 µs on an H200 whose outputs a table orders, and 40 without one."""
    source = f"""
    __constant int numbers[] = {{0, 4, 1, 5, 2, 6, 3, 7}};
    __kernel void k(__global int *data, int n) {{
        int own[16], i = get_global_id(0);
        for (int k = 0; k < 16; ++k) own[k] = data[i + k * n];
        for (int k = 0; k < 8; ++k) own[k] = own[k] * n + own[k + 8];
        {table}
        for (int k = 0; k < 8; ++k) data[i + k * n] = own[places[k] & 7];
    }}"""
    counts = count(parse(source), "k", (ITEMS,), (256,), (BufferArgument(32 * ITEMS), 64))
    assert {site.is_register for site in private_sites(counts)} == {is_register}


def test_an_array_that_is_indexed_at_run_time_is_in_memory() -> None:
    counts = counts_of("drawn")
    assert not any(site.is_register for site in private_sites(counts))
    # Each lane writes 8 + 64 words, and those of a warp lie side by side: 4 sectors.
    demand = demand_of(counts, frozenset())
    assert written_privately(demand) == pytest.approx(4 * (8 + 64) * WARPS, rel=0.02)
    assert demand.requests > 16 * WARPS + 2 * 64 * WARPS


def test_an_array_that_a_loop_copies_is_registers_that_are_read_one_by_one() -> None:
    counts = counts_of("copied")
    assert all(site.is_register for site in private_sites(counts))
    reads = [s for s in counts.sites if s.space == "global" and s.access is Access.READ]
    assert sum(site.requests.value for site in reads) == 8 * WARPS
    assert {site.access_bytes for site in reads} == {4}


def counts_with(body: str) -> KernelCounts:
    """Return the counts of a kernel that ends with `body`, with an array of eight numbers."""
    source = f"""__kernel void f(__global int *data, int n) {{
        int own[8], i = get_global_id(0);
        for (int k = 0; k < 8; ++k) own[k] = data[i + k * n];
        {body}
        for (int k = 0; k < 8; ++k) data[i + k * n] = own[k];
    }}"""
    arguments = (BufferArgument(32 * ITEMS), 64)
    return count(parse(source), "f", (ITEMS,), (256,), arguments, machine=Machine())


def test_a_loop_over_private_variables_is_unrolled_further() -> None:
    """NVIDIA's driver keeps 128 numbers in registers, as its PTX shows."""
    body = "int sums[128]; for (int k = 0; k < 128; ++k) sums[k] = 0;"
    body += "for (int j = 0; j < n; ++j) for (int k = 0; k < 128; ++k) sums[k] += k * j;"
    body += "for (int k = 0; k < 128; ++k) data[i * 128 + k] = sums[k];"
    assert all(site.is_register for site in private_sites(counts_with(body)))


@pytest.mark.parametrize(
    "body",
    [
        "int k; switch (n & 3) { case 0: k = 1; data[1] = 2; break; case 1: k = 3; data[2] = 5; break;"
        " default: k = 7; data[3] = 7; } own[k] += n;",
        "int other[8]; for (int k = 0; k < 8; ++k) other[k] = data[k];"
        " int *rows[2] = {own, other}; for (int k = 0; k < n; ++k) data[k] += rows[k & 1][k & 7];",
        "data[i] = (int)(ulong)own;",
    ],
    ids=["a place by a switch", "a stored pointer", "a pointer as a number"],
)
def test_places_that_nobody_knows_are_in_memory(body: str) -> None:
    assert any(not site.is_register for site in private_sites(counts_with(body)))


def test_a_second_result_is_a_register() -> None:
    body = "float whole; float part = fract(n * 0.3f, &whole); data[i] = whole + part;"
    assert all(site.is_register for site in private_sites(counts_with(body)))


@pytest.mark.parametrize(
    "body",
    [
        "int a = n & 7, b = n >> 3 & 7;"
        + "".join(
            f"if (data[{k}] > {k}) {{ int t = a; a = b; b = t ^ {k % 8}; }}" for k in range(40)
        )
        + "own[a & 7] += b;",
        "int a = n;" + "".join(f"a = (a ^ {k}) * 3 + i;" for k in range(1000)) + "own[a & 7] += 1;",
    ],
    ids=["many choices", "a long chain"],
)
def test_the_search_for_places_grows_with_the_kernel_alone(body: str) -> None:
    assert any(not site.is_register for site in private_sites(counts_with(body)))


def test_lanes_that_index_apart_touch_a_line_each() -> None:
    read = next(site for site in private_sites(counts_of("apart")) if site.access is Access.READ)
    assert read.sectors.value == pytest.approx(32 * WARPS, rel=0.02)
    assert read.bank_cycles.value == pytest.approx(WARPS, rel=0.02)


def test_a_cpu_keeps_its_own_count() -> None:
    demand = demand_of(counts_of("drawn", Machine.of_cpu(4)), frozenset())
    assert written_privately(demand) == 0.0
    assert demand.local_cycles > 0.0


SCATTERED = """
__kernel void read(__global const int *data, __global float *out) {
    int i = get_global_id(0);
    float own[64];
    for (int k = 0; k < 64; ++k) own[k] = k * 1.5f + i;
    out[i] = own[data[i] & 63];
}
__kernel void written(__global const int *data, __global float *out) {
    int i = get_global_id(0);
    float own[64];
    for (int k = 0; k < 64; ++k) own[k] = k * 1.5f + i;
    own[data[i] & 63] = 3;
    out[i] = own[(i / 32) & 63];
}
__kernel void apart(__global const int *data, __global float *out) {
    int i = get_global_id(0);
    float own[64], other[32], *one = (i & 1) ? own : other, sum = 0;
    for (int k = 0; k < 64; ++k) own[k] = k * 1.5f + i;
    for (int k = 0; k < 32; ++k) other[k] = k * 2.5f + i;
    for (int k = 0; k < 32; ++k) sum += one[k];
    out[i] = sum;
}
__kernel void drawn(__global const int *data, __global float *out) {
    int i = get_global_id(0);
    float own[64], other[64], *one = data[i] ? own : other, sum = 0;
    for (int k = 0; k < 64; ++k) { own[k] = k * 1.5f + i; other[k] = k * 2.5f + i; }
    for (int k = 0; k < 64; ++k) sum += one[k];
    out[i] = sum;
}
"""


@pytest.mark.parametrize(
    ("kernel", "access", "low", "high"),
    [
        ("read", Access.READ, 4, 30),
        ("written", Access.WRITE, 4, 30),
        ("apart", Access.READ, 8, 8),
        ("drawn", Access.READ, 4, 8),
    ],
)
def test_sectors_of_private_arrays(kernel: str, access: Access, low: int, high: int) -> None:
    """Lanes at one place of their arrays touch 4 sectors, and as many in each of two arrays."""
    arguments = [BufferArgument(4 * ITEMS)] * 2
    counts = count(parse(SCATTERED), kernel, (ITEMS,), (256,), arguments, machine=Machine())
    site = [each for each in private_sites(counts) if each.access is access][-1]
    of_a_request = [value / site.requests.value for value in (site.sectors.low, site.sectors.value)]
    assert of_a_request == pytest.approx([low, high], rel=0.05)
    if kernel in {"read", "written"}:
        assert site.is_assumed
        assert "between one place for all lanes and random ones" in {
            assumption.meaning for assumption in counts.assumptions
        }


RING = """
__kernel void ring(__global float *data, int n) {
    int i = get_global_id(0);
    float last[SIZE], sum = data[i];
    for (int k = 0; k < SIZE; ++k) last[k] = 0.0f;
    for (int k = 0; k < TRIPS; ++k) { last[PLACE] = sum; sum = 0.25f * last[0] + last[SIZE - 1] + 1.0f; }
    data[i] = sum;
}
"""


@pytest.mark.parametrize(
    ("size", "trips", "place", "is_register"),
    [
        (4, "n", "k % 4", True),
        (2, "n", "k & 1", True),
        (4, "n", "(k + 1) % 4", True),
        (8, "n", "k % 8", False),
        (3, "n", "k % 3", True),
        (16, "n", "k % 16", False),
        (8, "256", "k % 8", True),
        (4, "n", "(k / 2) % 4", True),
        (4, "n", "(i + k) % 4", True),
        (8, "n", "(k / 2) % 8", False),
        (8, "n", "(k + n) % 8", False),
        (8, "n", "(i + k) % 8", False),
        (8, "n", "(2 * k) % 8", True),
        (300, "n", "0", False),
    ],
)
def test_places_that_come_back_with_each_copy_of_a_loop(
    size: int, trips: str, place: str, is_register: bool
) -> None:
    """As an H200's times show: 27 to 54 µs in registers, 94 to 374 in memory."""
    text = RING.replace("SIZE", str(size)).replace("TRIPS", trips).replace("PLACE", place)
    counts = count(parse(text), "ring", (ITEMS,), (256,), (BufferArgument(4 * ITEMS), 256))
    assert {site.is_register for site in private_sites(counts)} == {is_register}
