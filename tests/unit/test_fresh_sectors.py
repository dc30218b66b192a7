"""Sectors of a window that moves: most of them were touched at the requests before."""

import pytest

from cltrace.kernels import Argument, BufferArgument, KernelCounts, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.demand.launch import demand_of
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.kept_parts import KeptParts
from cltrace.predict.models.overlap.near_misses import near_misses
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
WIDTH, HEIGHT = 1024, 512
SUMS = """
__kernel void along(__global const float4 *in, __global float4 *out, int n, int width) {
    int i = get_global_id(1) * width + get_global_id(0);
    float4 sum = 0;
    for (int y = 0; y < n; ++y) for (int x = 0; x < n; ++x) sum += in[i + y * width + x];
    out[i] = sum;
}
__kernel void down(__global const float4 *in, __global float4 *out, int n, int width) {
    int i = get_global_id(1) * width + get_global_id(0);
    float4 sum = 0;
    for (int x = 0; x < n; ++x) for (int y = 0; y < n; ++y) sum += in[i + y * width + x];
    out[i] = sum;
}
__kernel void corners(__global const float4 *in, __global float4 *out, int n, int width) {
    int i = get_global_id(1) * width + get_global_id(0);
    float4 sum = 0;
    for (int x = 0; x < n; ++x)
        for (int k = 0; k < n / 8; ++k) sum += in[i + k * width * 8 + x];
    out[i] = sum;
}
"""


def counted(kernel: str, n: int = 16) -> KernelCounts:
    buffers = [BufferArgument(16 * (WIDTH + n) * (HEIGHT + 2 * n))] * 2
    arguments: list[Argument] = [*buffers, n, WIDTH]
    machine = machine_of(H200.device)
    return count(parse(SUMS), kernel, (WIDTH, HEIGHT), (256, 1), arguments, machine=machine)


def requested(counts: KernelCounts) -> float:
    """Sectors that reads request from the shared cache, by the ones that groups touch."""
    model = OVERLAP.for_device(H200)
    demand = demand_of(counts, model.costs.operations)
    misses = near_misses(KeptParts(demand), model.costs.constants).sectors
    (at,) = (at for at, region in enumerate(demand.traffic) if region.memory == "in")
    return misses[at] / demand.traffic[at].group_sectors


def test_a_window_along_a_row_brings_few_new_sectors() -> None:
    (site,) = (each for each in counted("along").sites if each.memory == "in")
    first, fourth, sixteenth = site.fresh_shares
    # 256 work-items of 16 B are 128 sectors, of which every other step needs another one.
    assert first < 0.15
    assert sixteenth <= fourth <= first
    assert requested(counted("along")) < 1.5


def test_a_window_down_the_columns_brings_new_sectors_at_each_step() -> None:
    (site,) = (each for each in counted("down").sites if each.memory == "in")
    assert site.fresh_shares[0] > 0.9
    assert requested(counted("down")) > 4


def test_rows_in_turn_are_read_again_after_a_few_steps() -> None:
    (site,) = (each for each in counted("corners").sites if each.memory == "in")
    assert site.fresh_shares[0] > 0.9
    assert site.fresh_shares[1] == pytest.approx(0.05, abs=0.05)
    assert requested(counted("corners")) < 1.5
