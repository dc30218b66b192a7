"""A number 0 in place of a memory object is a null pointer, as OpenCL takes it."""

import numpy as np
import pytest

from cltrace.errors import KernelExecutionError
from cltrace.kernels import Argument, BufferArgument, KernelCounts, StructArgument, count, parse

SOURCE = """
__kernel void weighted(__global const float *a, __global const float *weights, __global float *out) {
    int i = get_global_id(0);
    float v = a[i];
    if (weights != 0) v *= weights[i];
    out[i] = v;
}
"""


def counted(weights: Argument) -> KernelCounts:
    buffer = BufferArgument(4 * 1024)
    return count(parse(SOURCE), "weighted", (1024,), (64,), [buffer, weights, buffer])


@pytest.mark.parametrize("null", [None, StructArgument(bytes(8)), np.uint64(0), np.int64(0)])
def test_a_zero_is_a_null_pointer(null: Argument) -> None:
    accesses = {site.memory: site.accesses.value for site in counted(null).sites}
    assert accesses["a"] == accesses["out"] == 1024
    assert accesses.get("weights", 0) == 0


@pytest.mark.parametrize("other", [StructArgument(bytes(4)), np.uint64(4096), np.float64(0)])
def test_any_other_number_is_no_pointer(other: Argument) -> None:
    with pytest.raises(KernelExecutionError, match="weights of weighted cannot be"):
        counted(other)
