"""Reads of constant arrays that are literals once loops are unrolled, as in NVIDIA's code of the PTX."""

import pytest

from cltrace.kernels import (
    Argument,
    BufferArgument,
    CostClass,
    KernelCounts,
    Machine,
    count,
    parse,
)
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.machine import ItemLoops

OUTSIDE = "__constant float w[5] = {1, 4, 6, 4, 1};"
INSIDE = "const float w[5] = {1, 4, 6, 4, 1};"


def counted(
    outside: str, inside: str, loop: str, *arguments: Argument, machine: Machine | None = None
) -> KernelCounts:
    parameters = ", int n" if arguments else ""
    source = f"""{outside}
    __kernel void k(__global const float *in, __global float *out{parameters}) {{
        {inside}
        float s = 0;
        {loop}
        out[get_global_id(0)] = s;
    }}"""
    buffers = [BufferArgument(1 << 16)] * 2
    whole = [*buffers, *arguments]
    return count(parse(source), "k", (1024,), (256,), whole, machine=machine or Machine())


def loads(counts: KernelCounts) -> float:
    rows = (row for row in counts.folded if row.cost is CostClass.LOAD)
    return sum(row.warp_total for row in rows) / counts.warps


@pytest.mark.parametrize(("outside", "inside"), [(OUTSIDE, ""), ("", INSIDE)])
def test_weights_of_a_loop_of_known_trips_are_literals(outside: str, inside: str) -> None:
    loop = "for (int k = 0; k < 5; ++k) s += w[k] * in[get_global_id(0) + k];"
    counts = counted(outside, inside, loop)
    assert loads(counts) == 5
    assert {site.is_register for site in counts.sites if site.space == "constant"} == {True}
    assert demand_of(counts, frozenset()).requests == 6 * counts.warps


def test_what_follows_from_literals_alone_is_one() -> None:
    loop = """for (int j = 0; j < 5; ++j) for (int k = 0; k < 5; ++k)
        s += w[j] * w[k] * in[get_global_id(0) + j * 64 + k];"""
    counts = counted(OUTSIDE, "", loop)
    products = (row for row in counts.folded if row.cost is CostClass.FLOAT_MULTIPLY)
    assert sum(row.warp_total for row in products) == 0
    assert loads(counts) == 25


@pytest.mark.parametrize(
    ("loop", "arguments"),
    [
        ("for (int k = 0; k < n; ++k) s += w[k] * in[k];", (5,)),
        ("for (int k = 0; k < 5; ++k) s += w[k] * w[(k + get_local_id(0)) % 5];", ()),
    ],
)
def test_weights_at_unknown_places_are_read(loop: str, arguments: tuple[int, ...]) -> None:
    counts = counted(OUTSIDE, "", loop, *arguments)
    assert not all(site.is_register for site in counts.sites if site.space == "constant")


def test_a_cpu_reads_them() -> None:
    loop = "for (int k = 0; k < 5; ++k) s += w[k] * in[get_global_id(0) + k];"
    machine = Machine.of_cpu(4, item_loops=ItemLoops.LANES)
    counts = counted(OUTSIDE, "", loop, machine=machine)
    assert not any(site.is_register for site in counts.sites if site.space == "constant")
