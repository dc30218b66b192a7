"""Loops over segments of an array whose begins and lengths two other arrays have."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse

ROWS, LENGTH = 1 << 14, 16
SOURCE = """
__kernel void sums(__global const int *lengths, __global const uint *begins,
                   __global const float *values, __global float *out) {
    int row = get_global_id(0), length = lengths[row], begin = begins[row];
    float sum = 0;
    for (int i = 0; i < length; ++i) sum += values[begin + i];
    out[row] = sum;
}
"""


def counts_of(lengths: BufferArgument, begins: BufferArgument) -> KernelCounts:
    values = BufferArgument(4 * ROWS * LENGTH)
    return count(parse(SOURCE), "sums", (ROWS,), (64,), [lengths, begins, values, lengths])


def sectors_of_values(counts: KernelCounts) -> float:
    (region,) = (region for region in counts.regions if region.memory == "values")
    return region.footprint.launch_sectors


def test_segments_with_lengths_follow_one_another() -> None:
    assumed = counts_of(BufferArgument(4 * ROWS), BufferArgument(4 * ROWS))
    (loop,) = assumed.loops
    assert loop.trips.value == pytest.approx(LENGTH, rel=0.05)
    assert sectors_of_values(assumed) == pytest.approx(ROWS * LENGTH / 8, rel=0.1)
    assert any("segments of 16 elements" in each.meaning for each in assumed.assumptions)


def test_known_lengths_stay() -> None:
    """The begins are made up, the lengths are those that are given."""
    lengths = np.full(ROWS, 3, np.int32)
    known = counts_of(BufferArgument(4 * ROWS, lengths), BufferArgument(4 * ROWS))
    (loop,) = known.loops
    assert loop.trips.value == 3


@pytest.mark.parametrize(("begin", "length"), [("long", "int"), ("int", "uchar"), ("uint", "long")])
def test_lengths_have_their_own_size(begin: str, length: str) -> None:
    source = SOURCE.replace("const int *lengths", f"const {length} *lengths")
    source = source.replace("const uint *begins", f"const {begin} *begins")
    source = source.replace(
        "int row = get_global_id(0), length", f"int row = get_global_id(0); {length} length"
    )
    source = source.replace(", begin =", f"; {begin} begin =")
    size = {"uchar": 1, "int": 4, "uint": 4, "long": 8}
    arguments = [
        *(BufferArgument(size[kind] * ROWS) for kind in (length, begin)),
        BufferArgument(4 * ROWS * LENGTH),
        BufferArgument(4 * ROWS),
    ]
    (loop,) = count(parse(source), "sums", (ROWS,), (64,), arguments).loops
    assert loop.trips.value == pytest.approx(LENGTH, rel=0.05)


OTHERS = {
    "a tag of each element": """
    for (int i = 0; i < 32; ++i) {
        if (lengths[row * 32 + i] == 7) break;
        sum += values[begins[row] + i];
    }""",
    "a begin of records": """
    for (int i = 0; i < lengths[row]; ++i) sum += values[begins[row] * 16 + i];""",
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_other_arrays_are_not_made_up(body: str) -> None:
    before, _, after = SOURCE.partition("int row")
    source = f"{before}int row = get_global_id(0); float sum = 0;{body}\n    out[row] = sum;\n}}"
    assert after
    arguments = [BufferArgument(4 * ROWS * 32), BufferArgument(4 * ROWS), BufferArgument(1 << 20)]
    counts = count(parse(source), "sums", (ROWS,), (64,), [*arguments, BufferArgument(4 * ROWS)])
    assert not any("segments" in each.meaning for each in counts.assumptions)
