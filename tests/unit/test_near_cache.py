"""Sectors that miss the near cache where work-groups of a compute unit read the same memory."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, Machine, count, parse
from cltrace.kernels.demand.caches import CacheSize, shared_sectors
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.ir.instructions import Access

TABLE = """
__kernel void look_up(__global const float *table, __global float *out, int length) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < length; ++k) sum += table[k];
    out[i] = sum;
}
"""
ROWS = """
__kernel void copy(__global const float *in, __global float *out, int unused) {
    size_t i = get_global_id(0);
    out[i] = in[i];
}
"""
SMALL = CacheSize(1024.0, 4.0)
UNITS = 4


def read_sectors(source: str, kernel: str, groups: int) -> float:
    items = groups * 256
    machine = Machine(compute_units=UNITS)
    buffer = BufferArgument(4 * max(items, 4096))
    arguments = (buffer, buffer, np.int32(4096))
    counts = count(parse(source), kernel, (items,), (256,), arguments, machine=machine)
    demand = demand_of(counts, frozenset())
    return sum(
        shared_sectors(region, demand, SMALL)
        for region in demand.traffic
        if region.access is Access.READ
    )


@pytest.mark.parametrize("resident", [1, 2, 8])
def test_resident_groups_fetch_sectors_that_all_of_them_read_once(resident: int) -> None:
    """A table of 512 sectors that no near cache holds is fetched once by each unit."""
    sectors = read_sectors(TABLE, "look_up", resident * UNITS)
    assert sectors == pytest.approx(512 * UNITS, rel=0.05)


def test_groups_that_share_nothing_fetch_all_their_sectors() -> None:
    assert read_sectors(ROWS, "copy", 64) == pytest.approx(64 * 256 / 8, rel=0.02)


def test_two_stores_to_one_place_write_its_sectors_twice() -> None:
    """A store that fills its sectors alone does not wait for another one."""
    source = """
    __kernel void twice(__global float *out, __global const float *in) {
        size_t i = get_global_id(0);
        out[i] = 2 * in[i];
        out[i] = in[i ^ 1];
    }
    """
    arguments = [BufferArgument(4 << 14), BufferArgument(4 << 14)]
    counts = count(parse(source), "twice", (1 << 14,), (256,), arguments)
    (written,) = (
        region for region in demand_of(counts, frozenset()).traffic if region.access is Access.WRITE
    )
    assert written.sectors == 2 * (1 << 14) / 8
