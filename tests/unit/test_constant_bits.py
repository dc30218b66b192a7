"""Constants of another type's bits, as clang has them of `as_type` of a literal."""

import numpy as np
import pytest
from numpy.typing import NDArray

from cltrace.kernels.compiler import CodeForm
from tests.kernels.cases import EXACT, Case, writes
from tests.kernels.launches import executed

COUNT = 64
SOURCE = """
__kernel void literal_bits(__global uint2 *pairs, __global float2 *floats, __global ushort4 *shorts,
                           __global ulong *whole) {
    size_t i = get_global_id(0);
    uint2 pair = as_uint2(0x8000000000000001UL);
    float2 both = as_float2(0xc00000003f800000UL);
    ushort4 four = as_ushort4(0xffff000200030004UL);
    ulong one = as_ulong((uint2)(1, 0x80000000));
    pairs[i] = pair + (uint)i;
    floats[i] = both * (float)i;
    shorts[i] = four ^ (ushort)i;
    whole[i] = one + i;
}
"""


def literal_bits(*_: NDArray[np.generic]) -> tuple[NDArray[np.generic], ...]:
    items = np.arange(COUNT)
    pairs = np.array([1, 1 << 31], np.uint32) + items[:, None].astype(np.uint32)
    floats = np.array([1, -2], np.float32) * items[:, None].astype(np.float32)
    shorts = np.array([4, 3, 2, 0xFFFF], np.uint16) ^ items[:, None].astype(np.uint16)
    return pairs, floats, shorts, items.astype(np.uint64) + np.uint64((1 << 63) + 1)


@pytest.mark.parametrize("form", [CodeForm.OPTIMISED, CodeForm.WRITTEN])
def test_constants_have_the_bits_of_other_types(form: CodeForm) -> None:
    case = Case(
        "literal_bits",
        "",
        "literal_bits",
        (COUNT,),
        None,
        lambda _: [
            np.zeros((COUNT, 2), np.uint32),
            np.zeros((COUNT, 2), np.float32),
            np.zeros((COUNT, 4), np.uint16),
            np.zeros(COUNT, np.uint64),
        ],
        writes(literal_bits, 0, 1, 2, 3),
        EXACT,
        code=SOURCE,
    )
    found, notes = executed(case, form)
    assert case.disagreement(found) == ""
    assert not notes
