"""Constant memory: an H200 reads it as it reads global memory, however many places lanes read."""

import pytest

from cltrace.kernels import BufferArgument, Machine, count, parse
from cltrace.kernels.counts.records import AccessSite

SOURCE = """
__kernel void alike(__constant float *table, __global float *out) {
    int i = get_global_id(0);
    out[i] = table[get_group_id(0) & 7];
}
__kernel void apart(__constant float *table, __global float *out) {
    int i = get_global_id(0);
    out[i] = table[i & 15];
}
__kernel void cached(__global float *table, __global float *out) {
    int i = get_global_id(0);
    out[i] = table[i & 15];
}
"""


def read_of(kernel: str, machine: Machine) -> AccessSite:
    arguments = (BufferArgument(256), BufferArgument(1 << 18))
    counts = count(parse(SOURCE), kernel, (1 << 16,), (256,), arguments, machine=machine)
    return next(site for site in counts.sites if site.memory == "table")


@pytest.mark.parametrize("kernel", ["alike", "apart", "cached"])
def test_places_of_constant_memory_take_no_cycles_of_their_own(kernel: str) -> None:
    site = read_of(kernel, Machine())
    assert site.bank_cycles.value == site.requests.value


def test_tables_take_the_same_time_in_constant_and_global_memory() -> None:
    constant, cached = (read_of(kernel, Machine()) for kernel in ("apart", "cached"))
    assert (constant.sectors, constant.lines) == (cached.sectors, cached.lines)
