"""Private arrays of a GPU: those that stay in memory cost as memory does, those in registers nothing."""

import pytest

from cltrace.kernels import BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.counts.records import AccessSite
from cltrace.kernels.demand import Demand, demand_of
from cltrace.kernels.demand.private_traffic import PRIVATE_MEMORY
from cltrace.kernels.ir.instructions import Access

ITEMS, WARPS = 1 << 16, 1 << 11
SOURCE = """
__kernel void known(__global int *data, int n) {
    int own[8], i = get_global_id(0);
    for (int k = 0; k < 8; ++k) own[k] = data[i + k * n];
    for (int k = 0; k < 4; ++k) { int low = min(own[k], own[k + 4]); own[k + 4] = own[k]; own[k] = low; }
    for (int k = 0; k < 2; ++k) own[k] += own[k + 2];
    for (int k = 0; k < 8; ++k) data[i + k * n] = own[k];
}
__kernel void drawn(__global int *data, int n) {
    int own[8], i = get_global_id(0);
    for (int k = 0; k < 8; ++k) own[k] = data[i + k * n];
    for (int k = 0; k < n; ++k) own[k * 5 & 7] += k;
    for (int k = 0; k < 8; ++k) data[i + k * n] = own[k];
}
__kernel void copied(__global int *data, int n) {
    int own[8], i = get_global_id(0);
    for (int k = 0; k < 8; ++k) own[k] = data[i * 8 + k];
    for (int k = 0; k < 4; ++k) { int low = min(own[k], own[k + 4]); own[k + 4] = own[k]; own[k] = low; }
    for (int k = 0; k < 8; ++k) data[i * 8 + k] = own[k];
}
__kernel void apart(__global int *data, int n) {
    int own[32], i = get_global_id(0);
    for (int k = 0; k < 32; ++k) own[k] = k ^ n;
    data[i] = own[(i * 7 + n) & 31];
}
"""


def counts_of(kernel: str, machine: Machine | None = None) -> KernelCounts:
    arguments = (BufferArgument(32 * ITEMS), 64)
    return count(parse(SOURCE), kernel, (ITEMS,), (256,), arguments, machine=machine or Machine())


def private_sites(counts: KernelCounts) -> list[AccessSite]:
    return [site for site in counts.sites if site.space == "private"]


def written_privately(demand: Demand) -> float:
    return sum(
        region.sectors
        for region in demand.traffic
        if region.memory == PRIVATE_MEMORY and region.access is Access.WRITE
    )


def test_places_that_the_compiler_knows_are_registers() -> None:
    counts = counts_of("known")
    assert all(site.is_register for site in private_sites(counts))
    assert written_privately(demand_of(counts, frozenset())) == 0.0


def test_an_array_that_is_indexed_at_run_time_is_in_memory() -> None:
    counts = counts_of("drawn")
    assert not any(site.is_register for site in private_sites(counts))
    # Each lane writes 8 + 64 words, and those of a warp lie side by side: 4 sectors.
    demand = demand_of(counts, frozenset())
    assert written_privately(demand) == pytest.approx(4 * (8 + 64) * WARPS, rel=0.02)
    assert demand.requests > 16 * WARPS + 2 * 64 * WARPS


def test_an_array_that_is_copied_as_a_whole_is_in_memory() -> None:
    counts = counts_of("copied")
    assert not any(site.is_register for site in private_sites(counts))
    wide = max(private_sites(counts), key=lambda site: site.access_bytes)
    assert wide.access_bytes == 32
    assert wide.requests.value == 8 * WARPS
    assert wide.sectors.value == 4 * 8 * WARPS


def test_lanes_that_index_apart_touch_a_line_each() -> None:
    read = next(site for site in private_sites(counts_of("apart")) if site.access is Access.READ)
    assert read.sectors.value == pytest.approx(32 * WARPS, rel=0.02)
    assert read.bank_cycles.value == pytest.approx(WARPS, rel=0.02)


def test_a_cpu_keeps_its_own_count() -> None:
    demand = demand_of(counts_of("drawn", Machine.of_cpu(4)), frozenset())
    assert written_privately(demand) == 0.0
    assert demand.local_cycles > 0.0
