"""Launches of which few work-groups take long to execute."""

import numpy as np
import pytest

from cltrace.errors import KernelExecutionError
from cltrace.kernels import BufferArgument, Sampling, count, parse

HEAVY = """
__kernel void k(__global const uint *in, __global uint *out) {
    uint x = in[get_global_id(0)];
    for (uint i = 1; i < 1u << 26; i += 1 + (i >> 8)) x = in[(x + i) & 1023];
    out[get_global_id(0)] = x;
}
"""


def test_groups_that_take_long_are_fewer() -> None:
    contents = np.arange(1 << 20, dtype=np.uint32)
    arguments = [BufferArgument(4 << 20, contents), BufferArgument(4 << 20)]
    plain = count(parse(HEAVY), "k", (1 << 20,), (256,), arguments)
    assert plain.sample.groups >= 2
    few = count(
        parse(HEAVY), "k", (1 << 20,), (256,), arguments, sample=Sampling(max_steps=30_000_000)
    )
    assert few.sample.groups == 2
    limits = Sampling(max_steps=30_000_000, pilot_factor=1)
    with pytest.raises(KernelExecutionError, match="more than"):
        count(parse(HEAVY), "k", (1 << 20,), (256,), arguments, sample=limits)
