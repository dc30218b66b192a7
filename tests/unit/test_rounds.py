"""Rounds of reads that warps wait for: trips that are left over, loops around others, and barriers."""

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, KernelCounts, Machine, count, parse

ROWS = """
__kernel void rows(__global const float *in, __global float *out, int length) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < length; ++k) sum += in[i * length + k];
    out[i] = sum;
}
"""


def counted(source: str, name: str, *more: np.int32) -> KernelCounts:
    arguments: list[Argument] = [BufferArgument(4 << 18), BufferArgument(4 << 18), *more]
    return count(parse(source), name, (1024,), (256,), arguments, machine=Machine())


@pytest.mark.parametrize(("trips", "rounds"), [(3, 3), (4, 1), (7, 4), (16, 1), (35, 5), (64, 4)])
def test_trips_that_are_left_over_wait_one_by_one(trips: int, rounds: int) -> None:
    """NVIDIA's assembler leaves a loop of 16 copies, one of 4, and one of single trips."""
    found = counted(ROWS, "rows", np.int32(trips))
    assert sum(one.waits for one in found.rounds) / found.warps == rounds


def test_a_short_loop_around_an_unrolled_one_is_unrolled() -> None:
    """A checksum by bits: NVIDIA's assembler has four reads, then the 32 steps of their bits."""
    source = """
    __kernel void checksum(__global const uchar *in, __global uint *out, int n) {
        uint r = ~0u;
        for (int k = 0; k < n; ++k) {
            r ^= in[k * get_global_size(0) + get_global_id(0)];
            for (int bit = 0; bit < BITS; ++bit) r = (r >> 1) ^ (0xEDB88320u & -(r & 1));
        }
        out[get_global_id(0)] = r;
    }
    """
    rounds = {}
    for bits in (8, 24):
        text = source.replace("BITS", str(bits))
        found = counted(text, "checksum", np.int32(64))
        rounds[bits] = sum(one.waits for one in found.rounds) / found.warps
    assert rounds == {8: 16, 24: 64}


def test_warps_wait_at_barriers_for_the_one_that_works_longest() -> None:
    source = """
    __kernel void total(__global const float *in, __global float *out) {
        __local float s[256];
        int l = get_local_id(0);
        s[l] = in[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 128; d > 0; d >>= 1) {
            if (l < d) s[l] += s[l + d];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (l == 0) out[get_group_id(0)] = s[0];
    }
    """
    found = counted(source, "total")
    local = [
        one.waits / found.warps
        for one in found.rounds
        if any(found.sites[at].space == "local" for at in one.sites)
    ]
    assert sum(local) == 8 + 1, "a step each, and the result"


def test_a_read_is_waited_for_where_lanes_are_active() -> None:
    """A guard keeps all but one work-group of 16 from the reads of its loop, without a branch."""
    source = """
    __kernel void guarded(__global const float *in, __global float *out, int steps, int groups) {
        __local float tile[256];
        int own = get_local_id(0);
        tile[own] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < steps; ++k) {
            if (get_group_id(0) < groups) tile[own] += in[k * get_global_size(0) + get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        out[get_global_id(0)] = tile[own];
    }
    """
    arguments: list[Argument] = [BufferArgument(4 << 20), BufferArgument(4 << 12), np.int32(20)]
    waits = {}
    for groups in (1, 16):
        launch = ("guarded", (4096,), (256,), [*arguments, np.int32(groups)])
        found = count(parse(source), *launch, machine=Machine())
        waits[groups] = sum(one.waits for one in found.rounds) / found.warps
    assert waits == {1: 20 / 16 + 1, 16: 20 + 1}
