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


def test_a_pointer_that_advances_reads_as_an_index_of_its_distance_does() -> None:
    """`p += n`."""
    source = """__kernel void k(__global const float *a, __global float *o, int length) {
        __global const float *p = a + get_global_id(0); int n = get_local_size(0); float s = 0;
        for (int k = 0; k < length; ++k, p += n) s += *p;
        o[get_global_id(0)] = s; }"""
    buffer = BufferArgument(64 << 20)
    counts = count(parse(source), "k", (1024,), (256,), [buffer, buffer, TRIPS])
    assert sum(one.waits for one in counts.rounds) / counts.warps == pytest.approx(TRIPS / 8)
