"""Reads that loops around wholly unrolled ones repeat: a GPU's compiler makes them once."""

import pytest

from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.ir.instructions import Access
from cltrace.kernels.machine import ItemLoops

ITEMS, CHANNELS = 4096, 20
FILTER = """
__kernel void filter(__global const float *QUALIFIER in, __global const float *QUALIFIER weights,
                     __global float *QUALIFIER out, int channels, int width) {
    int i = get_global_id(0);
    float all = 0;
    for (int c = 0; c < channels; ++c) {
        float sum = 0;
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < TRIPS; ++x)
                sum += weights[WEIGHT] * in[(c + y) * width + i + x];
        STORE
        all += sum;
    }
    out[i] = all;
}
"""


def counted(
    *, weight: str = "3 * y + x", store: str = "", restrict: str = "", trips: str = "3",
    machine: Machine | None = None,
) -> KernelCounts:  # fmt: skip
    source = FILTER.replace("WEIGHT", weight).replace("STORE", store)
    source = source.replace("QUALIFIER", restrict).replace("TRIPS", trips)
    buffers = [BufferArgument(1 << 20)] * 3
    return count(
        parse(source), "filter", (ITEMS,), (256,), [*buffers, CHANNELS, 8192],
        machine=machine or Machine(),
    )  # fmt: skip


def loads(counts: KernelCounts) -> float:
    rows = (row for row in counts.folded if row.cost is CostClass.LOAD and row.type == "float")
    return sum(row.warp_total for row in rows) / counts.warps


def test_weights_stay_in_registers() -> None:
    counts = counted()
    assert loads(counts) == pytest.approx(CHANNELS * 9)
    assert [site.is_register for site in counts.sites if site.memory == "weights"] == [True]
    assert [site.is_register for site in counts.sites if site.memory == "in"] == [False]


@pytest.mark.parametrize(
    ("weight", "store", "trips"),
    [
        ("9 * c + 3 * y + x", "", "3"),  # other weights in each trip
        ("3 * y + x", "out[i + c] = sum;", "3"),  # which may be the weights
        ("3 * y + x", "", "width"),  # a loop that is not unrolled wholly
        ("3 * y + x", "", "32"),  # more than there are registers
    ],
)
def test_other_reads_are_made_in_each_trip(weight: str, store: str, trips: str) -> None:
    counts = counted(weight=weight, store=store, trips=trips)
    assert [site.is_register for site in counts.sites if site.memory == "weights"] == [False]


def test_a_store_through_restrict_pointers_is_elsewhere() -> None:
    counts = counted(store="out[i + c] = sum;", restrict="restrict")
    assert [site.is_register for site in counts.sites if site.memory == "weights"] == [True]


def test_a_cpu_reads_them_again() -> None:
    counts = counted(machine=Machine(warp_width=1, item_loops=ItemLoops.LOOPS))
    assert [site.is_register for site in counts.sites if site.memory == "weights"] == [False]


CHANGED = """
__kernel void changed(__global const float *in, __global float *out, int n) {
    __local float line[256 + 2];
    float own[4] = {0, 0, 0, 0}, sum = 0;
    int i = get_local_id(0);
    line[i] = in[i];
    for (int t = 0; t < n; ++t) { BODY }
    out[i] = sum + line[i] + own[0];
}
"""
BODIES = {
    "in place": "for (int k = 1; k < 5; ++k) line[i + k] = 0.5f * (line[i + k - 1] + line[i + k + 1]);",
    "vector": "vstore4((float4)(t), 0, own); for (int k = 0; k < 4; ++k) sum += own[k] * in[k];",
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_what_the_loop_changes_is_read_again(body: str) -> None:
    buffers = [BufferArgument(4 * 1024)] * 2
    counts = count(
        parse(CHANGED.replace("BODY", BODIES[body])),
        "changed",
        (256,),
        (256,),
        [*buffers, CHANNELS],
    )
    operations = sum(
        row.warp_total
        for row in counts.folded
        if row.cost in (CostClass.FLOAT_MULTIPLY, CostClass.FLOAT_MULTIPLY_ADD)
    )
    assert operations / counts.warps >= 4 * CHANNELS
    assert not [site for site in counts.sites if site.memory == "line" and site.is_register]


TILES = """
__kernel void tiles(__global const float *in, __global float *out, int n) {
    __local float values[64], weights[64];
    int l = get_local_id(0);
    values[l] = in[l];
    weights[l] = in[l + 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sums[8];
    for (int k = 0; k < 8; k++) sums[k] = 0;
    for (int step = 0; step < n; step++)
        for (int f = 0; f < 4; f++)
            for (int x = 0; x < 3; x++)
                sums[f] += values[(l + step + x) & 63] * weights[(4 * step + f) & 63];
    for (int k = 0; k < 8; k++) out[8 * get_global_id(0) + k] = sums[k];
}
"""


def test_one_of_the_reads_that_unrolled_trips_repeat_is_left() -> None:
    """The counters of an H200 show a quarter of the reads of such a tile (a layer of 3 x 3 weights)."""
    buffers = [BufferArgument(1 << 20)] * 2
    counts = count(parse(TILES), "tiles", (4096,), (64,), [*buffers, 50], machine=Machine())
    reads = {
        site.memory: site
        for site in counts.sites
        if site.access is Access.READ and site.space == "local"
    }
    assert (reads["values"].copies, reads["values"].is_register) == (4, False)
    assert (reads["weights"].copies, reads["weights"].is_register) == (1, False)
    demand = demand_of(counts, ())
    writes = sum(
        site.bank_cycles.value
        for site in counts.sites
        if site.space == "local" and site.access is Access.WRITE
    )
    values, weights = (reads[name].bank_cycles.value for name in ("values", "weights"))
    assert demand.local_cycles == pytest.approx(writes + values / 4 + weights)
