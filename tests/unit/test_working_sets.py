"""Working sets: what groups touch and touch again, in pairs of launches that differ in it alone."""

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse
from cltrace.kernels.demand import demand_of

SIDE = 1024
PRODUCT = """
__kernel void product(__global const float *a, __global const float *b, __global float *c, int n) {
    int i = get_global_id(1), j = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}
"""
COLUMNS = """
__kernel void once(__global const float *a, __global float *out, int n) {
    int j = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[k * n + j] * a[k * n + j + 1];
    out[j] = sum;
}
__kernel void twice(__global const float *a, __global float *out, int n) {
    int j = get_global_id(0);
    float sum = 0, most = 0;
    for (int k = 0; k < n; ++k) sum += a[k * n + j];
    for (int k = 0; k < n; ++k) most = fmax(most, a[k * n + j] - sum);
    out[j] = most;
}
"""


def product_of(buffer_bytes: int) -> KernelCounts:
    buffers = [BufferArgument(buffer_bytes)] * 3
    return count(parse(PRODUCT), "product", (SIDE, SIDE), (16, 16), [*buffers, SIDE])


def test_a_working_set_is_not_the_size_of_its_buffer() -> None:
    tight, pooled = product_of(4 * SIDE * SIDE), product_of(1 << 35)
    for own, large in zip(tight.regions, pooled.regions, strict=True):
        touched = own.footprint.launch_sectors
        assert large.footprint.launch_sectors == pytest.approx(touched, rel=0.2)


def test_loops_one_after_the_other_fetch_their_sectors_twice() -> None:
    program, n = parse(COLUMNS), 4096
    arguments = (BufferArgument(1 << 28), BufferArgument(1 << 20), n)
    once, twice = (
        demand_of(count(program, kernel, (n,), (256,), arguments), frozenset())
        for kernel in ("once", "twice")
    )
    sectors = [max(region.step_sectors for region in demand.traffic) for demand in (once, twice)]
    assert sectors[1] == pytest.approx(2 * sectors[0], rel=0.1)
