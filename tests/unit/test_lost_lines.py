"""Lines that a near cache loses between two accesses of a warp, as all resident warps' do not fit."""

from functools import cache

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.kernels.demand import Demand, demand_of
from cltrace.kernels.demand.caches import CacheSize, shared_sectors
from cltrace.kernels.demand.traffic import Traffic
from cltrace.kernels.ir.instructions import Access
from cltrace.predict.models.overlap import OVERLAP
from cltrace.profile import load_profile

PROFILE = load_profile("nvidia-h200")
NEAR = CacheSize(281e3, 5.7)
ROW = 34
SOURCE = """
__kernel void transpose(__global const float *from, __global float *to, int n) {
    size_t i = get_global_id(0), items = get_global_size(0);
    for (int j = 0; j < n; ++j) to[j * items + i] = from[i * n + j];
}
__kernel void once(__global const float *from, __global float *to, int n) {
    size_t i = get_global_id(0);
    to[i] = from[i * n];
}
"""


@cache
def counted(kernel: str, groups_per_unit: int) -> KernelCounts:
    items = 132 * 256 * groups_per_unit
    buffers = [BufferArgument(4 * ROW * items), BufferArgument(4 * ROW * items)]
    machine = machine_of(PROFILE.device)
    return count(parse(SOURCE), kernel, (items,), (256,), [*buffers, ROW], machine=machine)


def demand(kernel: str, groups_per_unit: int) -> tuple[Demand, Traffic]:
    """Return the demand of a launch, and its reads."""
    demanded = demand_of(counted(kernel, groups_per_unit), ())
    return demanded, next(region for region in demanded.traffic if region.access is Access.READ)


def fetched_per_read(kernel: str, groups_per_unit: int) -> float:
    """Return the sectors that a read of a lane fetches from the shared cache."""
    launch, reads = demand(kernel, groups_per_unit)
    return shared_sectors(reads, launch, NEAR) / reads.accesses


def test_a_row_per_work_item_hits_while_the_lines_of_a_trip_fit() -> None:
    assert fetched_per_read("transpose", 2) < 0.2  # each sector once, for eight reads
    assert fetched_per_read("transpose", 8) > 3 * fetched_per_read("transpose", 2)


def test_lines_of_a_trip_are_those_of_all_resident_warps() -> None:
    few, reads = demand("transpose", 2)
    # 16 warps, with 32 lines of a row each and one or two of a column.
    assert few.passing_bytes(reads) == pytest.approx(16 * 128 * 34, rel=0.06)
    full, reads = demand("transpose", 8)
    assert full.passing_bytes(reads) == pytest.approx(64 * 128 * 34, rel=0.06)


def test_what_is_read_once_cannot_be_lost() -> None:
    assert fetched_per_read("once", 8) == pytest.approx(1.0)


def test_an_access_takes_longer_where_lines_are_lost() -> None:
    """On an H200, 8 groups per unit took 1.43 times as long for each as 4, which hit the near cache."""
    model = OVERLAP.for_device(PROFILE)
    launch_ns = model.costs["launch"]
    per_group = {
        groups: (model.predict(counted("transpose", groups)).duration_ns - launch_ns) / groups
        for groups in (4, 8)
    }
    assert per_group[8] > 1.25 * per_group[4]
