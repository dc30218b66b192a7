"""Constant memory of a GPU: lanes that read different places wait for each other."""

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


@pytest.mark.parametrize(("kernel", "places"), [("alike", 1), ("apart", 16), ("cached", 1)])
def test_each_place_of_constant_memory_takes_a_cycle(kernel: str, places: int) -> None:
    site = read_of(kernel, Machine())
    assert site.bank_cycles.value == places * site.requests.value


def test_a_cpu_has_no_such_cache() -> None:
    site = read_of("apart", Machine.of_cpu(4))
    assert site.bank_cycles.value == site.requests.value
