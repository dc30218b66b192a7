"""What a device's compiler leaves of a kernel: unrolled loops, joined operations, what waits for what."""

from collections import defaultdict

import numpy as np
import pytest

from cltrace.events.cost_names import CostName
from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.arguments import Argument
from cltrace.kernels.costs.operation import (
    INVARIANT_DIVISOR,
    LITERAL_DIVISOR,
    SUM,
    UNSIGNED_DIVIDE,
    UNSIGNED_INVARIANT,
    is_private_type,
)
from cltrace.kernels.counts.records import FoldedCount
from cltrace.kernels.demand.operations import cost_names

ROWS = """
__kernel void rows(__global const float *in, __global float *out, int length) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < length; ++k) sum += in[i * length + k];
    out[i] = sum;
}
"""


def counted(
    source: str, name: str, *more: Argument, machine: Machine | None = None
) -> KernelCounts:
    arguments = [BufferArgument(4 << 18), BufferArgument(4 << 18), *more]
    return count(parse(source), name, (1024,), (256,), arguments, machine=machine or Machine())


def per_warp(counts: KernelCounts, cost: CostClass, function: str = "") -> float:
    return sum(
        row.warp_total for row in counts.folded if (row.cost, row.function) == (cost, function)
    ) / max(counts.warps, 1)


def test_a_loop_is_unrolled_by_what_the_machine_says() -> None:
    usual = counted(ROWS, "rows", np.int32(64))
    assert per_warp(usual, CostClass.FLOAT_ADD) == 64
    assert per_warp(usual, CostClass.LOAD) == 64
    assert per_warp(usual, CostClass.BRANCH) == pytest.approx(64 / 16 + 1 + 23, abs=1)
    assert sum(one.waits for one in usual.rounds) / usual.warps == 64 / 4 / 4, "with reads ahead"
    never = counted(ROWS, "rows", np.int32(64), machine=Machine(unrolled_trips=1))
    assert sum(one.waits for one in never.rounds) / never.warps == 64


def waits(counts: KernelCounts, cost: CostClass, function: str = "") -> float:
    """How often a warp waits for operations of a class."""
    rows = (row for row in counts.folded if (row.cost, row.function) == (cost, function))
    return sum(row.waits for row in rows) / counts.warps


def test_the_counting_of_unrolled_loops_is_not_waited_for() -> None:
    source = """
    __kernel void grow(__global float *out, __global const float *unused, float f, int n) {
        float a = 0;
        for (int k = 0; k < n; ++k) a += f;
        out[get_global_id(0)] = a;
    }
    """
    found = counted(source, "grow", 1.5, np.int32(64))
    assert waits(found, CostClass.FLOAT_ADD) == 64
    assert waits(found, CostClass.BRANCH) <= 1, "of the loop's entry, not of its trips"


@pytest.mark.parametrize(
    ("step", "waited"),
    [("fma(x, f, a)", SUM), ("fma(a, f, x)", ""), ("fma(a, a, a)", ""), ("mix(x, f, a)", "")],
)
def test_a_sum_waits_for_its_product_where_that_comes_last(step: str, waited: str) -> None:
    source = f"""
    __kernel void horner(__global float *out, __global const float *in, float f, int n) {{
        float a = 0;
        for (int k = 0; k < n; ++k) {{ float x = in[k]; a = {step}; }}
        out[get_global_id(0)] = a;
    }}
    """
    machine = Machine.of_cpu(4)
    found = counted(source, "horner", 1.5, np.int32(64), machine=machine)
    assert waits(found, CostClass.FLOAT_MULTIPLY_ADD, waited) == 64
    in_loop = sum(row.waits for row in found.folded if row.waits >= 64 * found.warps)
    assert in_loop == 64 * found.warps


def test_loops_of_known_trips_are_unrolled_whole() -> None:
    source = """
    __kernel void window(__global const float *in, __global float *out) {
        int i = get_global_id(0);
        float sum = 0;
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 3; ++x) sum += in[i + 64 * y + x];
        out[i] = sum;
    }
    """
    found = counted(source, "window")
    assert per_warp(found, CostClass.BRANCH) == 0
    assert per_warp(found, CostClass.LOAD) == 9
    assert sum(one.waits for one in found.rounds) / found.warps <= 3


@pytest.mark.parametrize(
    ("head", "trips"),
    [
        ("j = 0; j < 32; ++j", 32), ("j = 0; j <= 7; ++j", 8), ("j = 0; j != 9; ++j", 9),
        ("j = 0; j < 10; j += 3", 4), ("j = 20; j > 0; j -= 2", 10),
    ],
)  # fmt: skip
def test_known_trips_are_those_that_are_run(head: str, trips: int) -> None:
    source = f"""
    __kernel void few(__global const float *in, __global float *out) {{
        float sum = 0;
        for (int {head}) sum += in[get_global_id(0) + 64 * j];
        out[get_global_id(0)] = sum;
    }}
    """
    found = counted(source, "few")
    assert per_warp(found, CostClass.LOAD) == trips
    assert sum(one.waits for one in found.rounds) / found.warps == pytest.approx(1.0)


def test_loops_of_more_trips_than_are_unrolled_whole_are_not() -> None:
    source = """
    __kernel void many(__global const float *in, __global float *out) {
        float sum = 0;
        for (int j = 0; j < 257; ++j) sum += in[get_global_id(0) + 64 * j];
        out[get_global_id(0)] = sum;
    }
    """
    assert sum(one.waits for one in counted(source, "many").rounds) / 32 == 257 // 16 + 257 % 16


def test_a_walk_waits_for_each_step() -> None:
    source = """
    __kernel void walk(__global const int *next, __global int *out, int trips) {
        int at = get_global_id(0);
        for (int k = 0; k < trips; ++k) at = next[at];
        out[get_global_id(0)] = at;
    }
    """
    ring = np.roll(np.arange(1 << 18, dtype=np.int32), -1)
    arguments: list[Argument] = [
        BufferArgument(4 << 18, ring),
        BufferArgument(4 << 18),
        np.int32(50),
    ]
    found = count(parse(source), "walk", (1024,), (256,), arguments)
    assert sum(one.waits for one in found.rounds) / found.warps == 50


def test_products_and_sums_are_one_instruction_and_addresses_none() -> None:
    source = """
    __kernel void axpy(__global const float *x, __global float *y, float a) {
        size_t i = get_global_id(0);
        y[i] = a * x[i] + y[i];
    }
    """
    found = counted(source, "axpy", np.float32(2))
    floats = {CostClass.FLOAT_ADD, CostClass.FLOAT_MULTIPLY, CostClass.FLOAT_MULTIPLY_ADD}
    assert sum(per_warp(found, cost) for cost in floats) == 1
    assert not any(row.cost is CostClass.CONVERT for row in found.folded)
    assert not any(row.type == "long" and row.warp_total for row in found.folded)


def test_functions_and_divisions_keep_their_names() -> None:
    source = """
    __kernel void named(__global const int *in, __global float *out, int d) {
        int i = get_global_id(0);
        out[i] = exp(sin((float)(in[i] / d + in[i] % (d + 1) + in[i] / 7)));
    }
    """
    found = counted(source, "named", np.int32(3))
    for cost, name in (
        (CostClass.SPECIAL, "exp"), (CostClass.SPECIAL, "sin"), (CostClass.INT_DIVIDE, ""),
        (CostClass.INT_DIVIDE, "remainder"), (CostClass.INT_DIVIDE, "divide by a literal"),
    ):  # fmt: skip
        assert per_warp(found, cost, name) == 1, name


@pytest.mark.parametrize(
    ("body", "function"),
    [
        ("int m = n; for (int k = 0; k < n; k++) s += (k * 7919 + i) / m;", INVARIANT_DIVISOR),
        ("for (int k = 0; k < n; k++) s += (k * 7919 + i) % n;", INVARIANT_DIVISOR),
        ("for (int k = 0; k < n; k++) s += (k * 7919 + i) / (k + n);", ""),
        ("for (int k = 0; k < n; k++) s += (k * 7919 + i) % (k + n);", "remainder"),
        ("for (uint k = 0; k < n; k++) s += (k * 7919u + i) / (uint)n;", UNSIGNED_INVARIANT),
        ("for (uint k = 0; k < n; k++) s += (k * 7919u + i) % (k + n);", UNSIGNED_DIVIDE),
        ("for (int k = 0; k < n; k++) s += (k * 7919 + i) / 7;", LITERAL_DIVISOR),
        ("for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) s += (j * 7919 + i) / (k + 3);",
         INVARIANT_DIVISOR),
        ("for (int k = 0; k < n; k++) { s += (k * 7919 + i) / (s | 1); }", ""),
        ("s = i / n + (i + s) / n;", ""),
        ("long l = n; for (int k = 0; k < n; k++) s += (k * 7919l + i) / (l * 65537l);", ""),
    ],
)  # fmt: skip
def test_reciprocals_of_invariant_divisors_are_taken_once(body: str, function: str) -> None:
    """On an H200 a quotient takes 34 issue slots, and 21 with a divisor that the loop does not change."""
    source = f"""
    __kernel void divided(__global const int *in, __global int *out, int n) {{
        int i = get_global_id(0) + 1, s = 3;
        {body}
        out[i] = s;
    }}
    """
    rows = counted(source, "divided", np.int32(40)).folded
    totals: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        totals[row.function] += row.warp_total if row.cost is CostClass.INT_DIVIDE else 0
    assert max(totals, key=totals.__getitem__) == function
    # Of four unrolled trips, one takes the reciprocal.
    has_reciprocal = function in {INVARIANT_DIVISOR, UNSIGNED_INVARIANT}
    assert totals[function] / sum(totals.values()) == (0.75 if has_reciprocal else 1)


def test_an_unrolled_body_takes_one_reciprocal_for_all_its_divisions() -> None:
    source = """
    __kernel void divided(__global const int *in, __global int *out, int n) {
        int i = get_global_id(0) + 1, s = 3;
        for (int k = 0; k < n; k++) s += (k * 7919 + i) / n + (k * 31 + i) % n;
        out[i] = s;
    }
    """
    found = counted(source, "divided", np.int32(40))
    assert per_warp(found, CostClass.INT_DIVIDE) == 40 / 4
    assert per_warp(found, CostClass.INT_DIVIDE, INVARIANT_DIVISOR) == 2 * 40 - 40 / 4


@pytest.mark.parametrize(
    ("result", "overlap"),
    [
        ("out[k * 512 + i] = v;", 4),
        ("float last = sum; sum = v; out[k * 512 + i] = last;", 4),
        ("sum += v;", 1),
        ("if (v < 0) continue; sum = sqrt(sum * v); out[k * 512 + i] = v;", 1),
        ("sum = sqrt(sum + v); if (sum > 2) out[k * 512 + i] = sum;", 1),
        ("p[(i + k * k) & 7] = p[(i + k * k) & 7] * v; out[k * 512 + i] = v;", 1),
    ],
)
def test_operations_of_unrolled_trips_overlap_if_no_trip_needs_the_one_before(
    result: str, overlap: int
) -> None:
    """In the code of an H200 (SASS), eight multiply-adds of each of four trips stand side by side."""
    steps = "v = v * f + 0.5f; v = v * f + 0.25f;" * 4
    source = f"""
    __kernel void steps(
        __global const float *restrict in, __global float *restrict out, int n, float f) {{
        int i = get_global_id(0) % 512;
        float sum = 0, p[8] = {{f, f, f, f, f, f, f, f}};
        for (int k = 0; k < n; k++) {{ float v = in[k * 512 + i]; {steps} {result} }}
        out[i] = sum + p[i & 7];
    }}
    """
    found = counted(source, "steps", np.int32(64), np.float32(3))
    waits = sum(row.waits for row in found.folded if row.cost is CostClass.FLOAT_MULTIPLY_ADD)
    assert waits / found.warps == pytest.approx(8 * 64 / overlap)


def test_divisions_of_vectors_count_by_their_elements() -> None:
    source = """
    __kernel void divided(__global const int *in, __global int *out, int n) {
        uint2 s = (uint2)(get_global_id(0) + 1);
        for (uint k = 0; k < n; k++) s += (s + k) % (uint)n;
        out[get_global_id(0)] = s.x + s.y;
    }
    """
    found = counted(source, "divided", np.int32(40))
    assert per_warp(found, CostClass.INT_DIVIDE, UNSIGNED_INVARIANT) == 2 * 40 * 3 / 4


def test_divisions_without_costs_of_their_own_cost_as_much_as_plainer_ones() -> None:
    row = FoldedCount("int", CostClass.INT_DIVIDE, UNSIGNED_INVARIANT, 1.0, 1.0, 1.0)
    plain, invariant = CostName("int", "divide"), CostName("int", INVARIANT_DIVISOR)
    assert cost_names(row, {plain}) == (plain,)
    assert cost_names(row, {plain, invariant}) == (invariant,)


def test_private_arrays_of_unrolled_loops_are_registers() -> None:
    source = """
    __kernel void kept(__global const float *in, __global float *out, int n) {
        float v[8];
        int i = get_global_id(0);
        for (int k = 0; k < 8; ++k) v[k] = in[i + k * 64];
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += v[k] * v[7 - k];
        out[i] = sum;
    }
    """
    found = counted(source, "kept", np.int32(8))
    spilled = sum(row.warp_total for row in found.folded if is_private_type(row.type))
    assert spilled == 0


def test_work_items_of_a_cpu_are_trips_of_a_loop() -> None:
    cpu = counted(ROWS, "rows", np.int32(64), machine=Machine.of_cpu(4))
    assert per_warp(cpu, CostClass.WORK_ITEM) == 0
    assert sum(one.waits for one in cpu.rounds) == 0


def test_reads_of_one_memory_that_overlap_are_one_region() -> None:
    source = """
    __kernel void stencil(__global const float *in, __global float *out) {
        int i = get_global_id(0) + 1;
        out[i] = in[i - 1] + in[i] + in[i + 1];
    }
    """
    found = counted(source, "stencil")
    (read,) = [one for one in found.regions if one.access == "read"]
    assert len(read.sites) == 3
    assert read.footprint.launch_sectors == pytest.approx(1026 * 4 / 32, abs=2)
    assert read.sectors > 3 * read.footprint.launch_sectors


def test_what_is_read_again_too_late_is_fetched_again() -> None:
    """The same sectors eight times, at random places or one after the other."""
    source = """
    __kernel void late(__global const float *in, __global float *out, int far) {
        uint i = get_global_id(0), at = i * 2654435761u;
        at = (at ^ (at >> 15)) * 2246822519u;
        out[i] = in[(at ^ (at >> 13)) & 4194303u];
    }
    __kernel void soon(__global const float *in, __global float *out, int far) {
        uint i = get_global_id(0);
        out[i] = in[(i / 8u) * 8u];
    }
    """
    small = Machine(shared_cache_bytes=1 << 20)
    sizes: list[Argument] = [BufferArgument(16 << 20), BufferArgument(16 << 20), np.int32(0)]
    program = parse(source)
    late = count(program, "late", (1 << 22,), (256,), sizes, machine=small)
    soon = count(program, "soon", (1 << 22,), (256,), sizes, machine=small)
    again, once = (
        next(one for one in found.regions if one.access == "read") for found in (late, soon)
    )
    assert again.window_sectors > 4 * again.footprint.launch_sectors
    assert once.window_sectors == pytest.approx(once.footprint.launch_sectors, rel=0.05)


TILES = """
__kernel void tiles(__global float *RESTRICT x, __global const float *RESTRICT y, int n) {
    __local float tile[128];
    int lid = get_local_id(0), items = get_global_size(0);
    float sum = 0;
    for (int k = 0; k < n; k++) { BODY }
    x[get_global_id(0)] = sum;
}
"""
_ONE_READ = "y[k * items + get_global_id(0)]"
_TILE = f"tile[lid] = {_ONE_READ}; barrier(1); sum += tile[lid ^ 1]; barrier(1);"


@pytest.mark.parametrize(
    ("restrict", "body", "waits_per_trip"),
    [
        ("restrict", _TILE, 0.25),
        ("", _TILE, 1),
        ("", f"sum += {_ONE_READ}; barrier(1);", 0.125),  # the next copy's reads begin before
        ("restrict", _TILE + "x[k * items + get_global_id(0)] = sum;", 0.25),
        ("restrict", f"{_TILE} ((__global float *)y)[k] = sum;", 1),
        ("restrict", f"sum += {_ONE_READ}; sum = work_group_reduce_add(sum);", 1),
    ],
)
def test_reads_of_several_trips_wait_together_over_barriers(
    restrict: str, body: str, waits_per_trip: float
) -> None:
    """As an H200's times show: 111 ns a trip of the first, 226 of the second, 98 of the third."""
    trips, items = 64, 1 << 14
    source = TILES.replace("RESTRICT", restrict).replace("BODY", body)
    arguments: list[Argument] = [
        BufferArgument(4 * items),
        BufferArgument(4 * items * trips),
        trips,
    ]
    program = parse(source, "-cl-std=CL2.0")
    counts = count(program, "tiles", (items,), (128,), arguments, machine=Machine())
    far = {at for at, site in enumerate(counts.sites) if site.space == "global"}
    waits = sum(each.waits for each in counts.rounds if far.intersection(each.sites))
    assert waits / counts.warps / trips == pytest.approx(waits_per_trip, rel=0.1)
