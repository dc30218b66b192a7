"""How many trips of a loop read ahead, by the form of its indices.

The expected rounds are those of NVIDIA's assembler on an H200: of 48 loops, those whose indices of 32
bits are extended in each trip read four trips at once and take 44 ns a trip; others are unrolled again.
"""

import pytest

from cltrace.kernels import BufferArgument, count, parse

TRIPS = 1024
IDS = "int i = get_global_id(0), n = get_global_size(0);"
SIZES = "size_t i = get_global_id(0), n = get_global_size(0);"
UNSIGNED = "uint i = get_global_id(0);"


def rounds(before: str, counter: str, index: str, kind: str = "float") -> float:
    """How often a warp waits for reads of a loop of 1,024 trips."""
    parameters = f"__global const {kind} *a, __global {kind} *o, {counter} length, int w, uint m"
    loop = f"for ({counter} k = 0; k < length; ++k) s += a[{index}];"
    source = f"__kernel void k({parameters}) {{ {before} {kind} s = 0; {loop} o[get_global_id(0)] = s; }}"
    buffer = BufferArgument(64 << 20)
    counts = count(parse(source), "k", (1024,), (256,), [buffer, buffer, TRIPS, 1024, 1024])
    return sum(one.waits for one in counts.rounds) / counts.warps


@pytest.mark.parametrize(
    ("before", "counter", "index"),
    [
        (IDS, "int", "k * n + i"),
        (IDS, "int", "2 * k * w + i"),
        (UNSIGNED, "uint", "k * m + i"),
        (UNSIGNED, "uint", "i * length + k"),
        (UNSIGNED, "uint", "k * 1024 + i"),
        (SIZES, "ulong", "k * n + i"),
    ],
)
def test_an_index_that_is_extended_in_each_trip_keeps_four_trips_ahead(
    before: str, counter: str, index: str
) -> None:
    """Sums of unsigned numbers may wrap, and so may products with products that a compiler rearranges."""
    assert rounds(before, counter, index) == pytest.approx(TRIPS / 4)


@pytest.mark.parametrize(
    ("before", "counter", "index"),
    [
        ("int i = get_global_id(0);", "int", "k * w + i"),
        ("int i = get_global_id(0);", "int", "i * length + k"),
        ("int i = get_global_id(0) & 1023;", "int", "k * 1024 + i"),
        ("", "uint", "k"),
    ],
)
def test_distances_of_arguments_and_constants_take_no_registers(
    before: str, counter: str, index: str
) -> None:
    """All reads of 16 trips begin before the first result is used."""
    assert rounds(before, counter, index) == pytest.approx(TRIPS / 16)


@pytest.mark.parametrize(
    ("kind", "rounds_of_16"), [("float", 2), ("float2", 3), ("double", 3), ("float4", 6)]
)
def test_other_distances_leave_twelve_registers(kind: str, rounds_of_16: int) -> None:
    """On an H200, 22 ns a trip of `float`, 38 of two, 81 of four, as reads wait in so many rounds."""
    assert rounds(SIZES, "int", "k * n + i", kind) == pytest.approx(TRIPS / 16 * rounds_of_16)


def test_a_distance_that_is_computed_from_arguments_is_in_a_register() -> None:
    """`int p = w + h`: known not to overflow, and read in two rounds."""
    before = "int i = get_global_id(0); int p = w + (int)m;"
    assert rounds(before, "int", "k * p + i") == pytest.approx(TRIPS / 8)


@pytest.mark.parametrize(
    "body",
    [
        "for (int k = 0; k < length; ++k, p += n) s += *p;",
        "for (int k = 0; k < length; ++k) { s += *p; p += 3; p += n; }",
        "for (int k = 0; k < length; ++k) { s += *p; p += n; p += 3; }",
        "size_t j = i; for (int k = 0; k < length; ++k, j += n) s += a[j];",
    ],
)
def test_what_advances_itself_reads_as_an_index_of_its_distance_does(body: str) -> None:
    """`p += n` and `j += n`, in one step or in two."""
    assert waits_of(body) == pytest.approx(TRIPS / 8)


@pytest.mark.parametrize("condition", ["k < end", "end > k"])
def test_a_counter_of_64_bits_may_stand_on_either_side(condition: str) -> None:
    body = f"ulong end = get_global_size(0); for (ulong k = 0; {condition}; ++k) s += a[k * n + i];"
    assert waits_of(body) == pytest.approx(TRIPS / 4)


@pytest.mark.parametrize("index", ["k * w + i", "i * length + k"])
@pytest.mark.parametrize("barrier", ["", "barrier(CLK_LOCAL_MEM_FENCE); "])
def test_a_loop_within_another_reads_less_far_ahead(index: str, barrier: str) -> None:
    """The assembler begins the last of 16 reads after the first has arrived."""
    parameters = "__global const float *a, __global float *o, int length, int w, int parts"
    source = f"""__kernel void k({parameters}) {{
        int i = get_global_id(0); float most = 0;
        for (int t = 0; t < parts; ++t) {{
            {barrier}float s = 0;
            for (int k = 0; k < length; ++k) s += a[{index}];
            most = fmax(most, s + t);
        }}
        o[i] = most; }}"""
    buffer = BufferArgument(64 << 20)
    counts = count(parse(source), "k", (1024,), (256,), [buffer, buffer, TRIPS, 1024, 4])
    waits = sum(one.waits for one in counts.rounds) / counts.warps
    assert waits == pytest.approx(4 * TRIPS / 8)


def test_bits_that_may_overlap_are_no_sum() -> None:
    """`(k * m) | 1` does not advance by additions."""
    assert rounds(UNSIGNED, "uint", "(k * m) | i") == pytest.approx(TRIPS / 4)


def test_a_long_computation_of_an_index_is_no_deep_recursion() -> None:
    """A hash of 350 steps."""
    steps = "h = h * 31u ^ (h >> 3); " * 350
    body = f"for (int k = 0; k < length; ++k) {{ uint h = k; {steps} s += a[h & 1023]; }}"
    assert waits_of(body) > 0


def test_indices_that_share_their_terms_are_walked_once() -> None:
    """Forty sums of the two before each: doubled work per sum would never end."""
    sums = "".join(f"size_t f{at} = f{at - 1} + f{at - 2}; " for at in range(2, 42))
    before = "size_t f0 = k * n + i, f1 = k + n; "
    body = f"for (int k = 0; k < length; ++k) {{ {before}{sums} s += a[f41 & 1023] + a[f41]; }}"
    assert waits_of(body) > 0


def waits_of(body: str) -> float:
    """How often a warp waits for reads in some code."""
    source = f"""__kernel void k(__global const float *a, __global float *o, int length) {{
        size_t i = get_global_id(0); int n = get_local_size(0); __global const float *p = a + i;
        float s = 0; {body} o[i] = s; }}"""
    buffer = BufferArgument(64 << 20)
    counts = count(parse(source), "k", (1024,), (256,), [buffer, buffer, TRIPS])
    return sum(one.waits for one in counts.rounds) / counts.warps
