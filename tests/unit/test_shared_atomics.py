"""Atomic operations of a warp on one address: a GPU's compiler makes one of them if it knows that."""

import pytest

from cltrace.kernels import BufferArgument, Machine, count, parse
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.ir.instructions import Access

ITEMS = 1 << 14
SOURCE = """
__kernel void change(__global int *total, __global int *data, int n) {
    int i = get_global_id(0), lid = get_local_id(0);
    __local int sum;
    if (lid == 0) sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    CHANGE;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) data[get_group_id(0)] = sum;
}
"""
TOGETHER = [
    "atomic_add(total, 1)",
    "atomic_inc(total)",
    "atomic_add(total, i % 3)",
    "atomic_max(total, i)",
    "atomic_or(total, i)",
    "data[i] = atomic_add(total, 1)",
    "atomic_add(&total[get_group_id(0) & 1023], lid)",
    "atomic_add(&total[data[n] & 1], lid)",
    "for (int k = 0; k < n; k++) atomic_add(&total[k], lid)",
    "atomic_add(&sum, lid)",
]
ONE_BY_ONE = [
    "uint k = 0; while (((k * 2654435761u) ^ (uint)i) & 7u) k++; atomic_add(total + k, 1)",
    "atomic_xchg(total, i)",
    "atomic_cmpxchg(total, 0, i)",
    "atomic_add(&total[lid / 64 & 1], 1)",
    "atomic_add(&total[i & n], 1)",
]


def atomic_site(change: str, machine: Machine) -> AccessSite:
    arguments = (BufferArgument(1 << 16), BufferArgument(4 * ITEMS), 3)
    program = parse(SOURCE.replace("CHANGE", change))
    counts = count(program, "change", (ITEMS,), (256,), arguments, machine=machine)
    (site,) = [site for site in counts.sites if site.access is Access.ATOMIC]
    return site


@pytest.mark.parametrize("change", TOGETHER)
def test_lanes_with_an_address_that_the_code_shares_are_one(change: str) -> None:
    """Measured on an H200: 29 µs for 1,048,576 work-items."""
    assert atomic_site(change, Machine()).contention == 1.0


@pytest.mark.parametrize("change", ONE_BY_ONE)
def test_lanes_that_only_happen_to_share_an_address_take_turns(change: str) -> None:
    """Measured on an H200: 770 µs for 1,048,576 work-items."""
    assert atomic_site(change, Machine()).contention >= 4.0


def test_a_processor_changes_memory_for_each_work_item() -> None:
    assert atomic_site(TOGETHER[0], Machine.of_cpu(2)).contention > 1.0
