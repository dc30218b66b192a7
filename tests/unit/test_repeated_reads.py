"""Reads that loops around wholly unrolled ones repeat: a GPU's compiler makes them once."""

import pytest

from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
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
