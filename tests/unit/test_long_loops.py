"""Loops of which not all trips are run, and what takes too long all the same."""

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, CostClass, Sampling, Trips, count, parse
from cltrace.kernels.counts.bounds import ScenarioBounds
from cltrace.kernels.counts.footprints import extrapolate_distinct
from cltrace.kernels.counts.records import Estimate, KernelCounts
from cltrace.kernels.counts.touched_sectors import DistinctSectors
from cltrace.kernels.ir.instructions import Access


def test_trips_that_are_assumed_need_not_all_be_run() -> None:
    source = """__kernel void walk(__global const int *next, __global float *out) {
        int at = get_global_id(0), steps = 0;
        do { int inner = at; do { inner = next[inner]; ++steps; } while (inner > 7);
             at = next[at]; } while (at > 0);
        out[get_global_id(0)] = steps;
    }"""
    counts = count(parse(source), "walk", (4096,), (64,), [BufferArgument(1 << 14)] * 2)
    loads = next(row for row in counts.operations if row.cost is CostClass.LOAD)
    assert loads.total.low == 4096 * (2 * 2 + 2)
    assert loads.total.value == 4096 * (16 * 16 + 16)
    assert loads.total.high == 4096 * (64 * 64 + 64)


def test_what_takes_too_long_to_be_executed_bounds_nothing() -> None:
    counted = Estimate(5.0, low=5.0, high=5.0)
    open_bounds = ScenarioBounds(lower=None, upper=None).bound(counted, lambda _: 7.0)
    assert open_bounds.low == 0.0
    assert open_bounds.value == 5.0
    assert open_bounds.high == np.inf


def test_an_or_of_numbers_that_share_no_bit_moves_evenly() -> None:
    source = """__kernel void nest(__global const float *a, __global float *b) {
        for (int i = 0; i < 256; ++i)
            for (int j = 0; j < 256; ++j)
                b[258 * i + j] = a[258 * i + j + 1] + a[258 * i + j + 517];
    }"""
    counts = count(parse(source), "nest", (1,), (1,), [BufferArgument(4 * 258 * 259)] * 2)
    outer = counts.loops[0]
    assert outer.extrapolated > 0.9
    assert {site.accesses.value for site in counts.sites} == {256 * 256}


def test_sites_that_few_groups_come_to_have_a_footprint() -> None:
    rare = DistinctSectors(((2, 0.0), (4, 0.0), (8, 3.0), (16, 6.0)), 0.4)
    assert extrapolate_distinct(rare, 1600, 1e9)[0] == pytest.approx(600.0, rel=0.05)
    assert extrapolate_distinct(DistinctSectors(((8, 0.0), (16, 6.0)), 0.4), 1600, 1e9) == (
        600.0,
        0.5,
    )


AROUND = """__kernel void around(__global const float *in, __global float *out, int trips) {
    uint base = get_group_id(0) * REGION & FAR, mine = get_local_id(0);
    float sum = 0;
    for (int t = 0; t < trips; ++t) sum += in[base + ((mine + t * 37u) & 4095u)];
    out[get_global_id(0)] = sum;
}"""


@pytest.mark.parametrize(("region", "far", "distinct"), [(4096, "~0u", 64 * 512), (0, "0u", 512)])
def test_addresses_that_wrap_around_touch_no_more_than_they_reach(
    region: int, far: str, distinct: int
) -> None:
    """4,096 floats are 512 sectors, of each group or of all, however often they are read."""
    source = AROUND.replace("REGION", str(region)).replace("FAR", far)
    arguments: list[Argument] = [BufferArgument(64 << 14), BufferArgument(64 << 10), 100_000]
    counts = count(parse(source), "around", (64 * 256,), (256,), arguments)
    read = next(site for site in counts.sites if site.access is Access.READ)
    assert read.accesses.value == 64 * 256 * 100_000
    assert 0.3 * 512 < read.footprint.group_sectors <= 512
    assert 0.3 * distinct < read.footprint.launch_sectors <= 1.05 * distinct


def test_sectors_that_only_the_last_trip_touches_are_counted() -> None:
    source = """__kernel void last(__global const float *a, __global float *b, int n) {
        int g = get_global_id(0); float s = 0;
        for (int i = 0; i < n; ++i) { s += a[g + i]; if (i == n - 1) b[g] = s * a[g * 2]; }
    }"""
    arguments: list[Argument] = [BufferArgument(1 << 20), BufferArgument(1 << 14), 5000]
    counts = count(parse(source), "last", (1024,), (64,), arguments)
    written = next(site for site in counts.sites if site.access is Access.WRITE)
    assert written.accesses.value == 1024
    assert written.footprint.group_sectors == 64 * 4 / 32


def test_a_stream_touches_all_that_its_trips_reach() -> None:
    source = """__kernel void stream(__global const float *in, __global float *out, int trips) {
        float sum = 0;
        int own = get_group_id(0) * 64 * trips + get_local_id(0);
        for (int t = 0; t < trips; ++t) sum += in[own + 64 * t];
        out[get_global_id(0)] = sum;
    }"""
    arguments: list[Argument] = [BufferArgument(16 * 64 * 4 * 5000), BufferArgument(4096), 5000]
    counts = count(parse(source), "stream", (16 * 64,), (64,), arguments)
    read = next(site for site in counts.sites if site.access is Access.READ)
    assert read.footprint.group_sectors == pytest.approx(5000 * 8, rel=0.01)


WHOLE = Sampling(trips=Trips.ALL, min_groups=1 << 20, max_groups=1 << 20)
LATER = {
    "a value decides a store": (
        "float x = g * 0.001f; for (int i = 0; i < 500; i++) x = x * 0.99f + 0.06f;"
        " if (x > 5.0f) out[g] = x * out[g + 1];"
    ),
    "a value decides trips": (
        "uint s = g; float x = 0; for (int i = 0; i < 1003; i++) s = s * 1664525u + i + 1013904223u;"
        " for (uint j = 0; j < (s >> 24); j++) x = x * 1.5f + 1; out[g] = x;"
    ),
    "memory decides trips": (
        "float x = 0; int j = 0; for (int i = 0; i < 1000; i++) b[g * 1000 + i] = i < 900;"
        " while (b[g * 1000 + j]) { j++; x = x * 1.5f + 1; } out[g] = x;"
    ),
    "one side wraps": (
        "float x = 1; uint p = 4294966296u + n, q = 4294967096u + n;"
        " while (p < q) { p += 5; q += 4; x = x * 1.5f + 1; } out[g] = x;"
    ),
    "small counters wrap": (
        "float x = 1; for (uint i = n; (uchar)(i * 3) < (uchar)(i * 2 + 120); i++) x = x * 1.5f + 1;"
        " out[g] = x;"
    ),
    "beyond what a double holds": (
        "float x = 1; ulong s = (1ul << 60) + n; for (ulong i = s; i < s + 300000; i += 300)"
        " x = x * 1.5f + 1; out[g] = x;"
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_what_a_loop_leaves_behind_decides_what_comes_after_it(name: str) -> None:
    source = f"""__kernel void k(__global float *out, __global int *b, int n) {{
        int g = get_global_id(0);
        {LATER[name]}
    }}"""
    arguments: list[Argument] = [
        BufferArgument(1 << 14),
        BufferArgument(1 << 18, np.zeros(1 << 16)),
        0,
    ]
    program = parse(source)
    counted = count(program, "k", (64,), (64,), arguments)
    whole = count(program, "k", (64,), (64,), arguments, sample=WHOLE)
    assert operations(counted) == operations(whole)


def test_lanes_that_move_by_different_steps_are_not_called_exact() -> None:
    source = """__kernel void k(__global float *a, int n) {
        int g = get_global_id(0);
        float x = 0;
        for (int i = 0; i < n; i++) x += a[i * g + 3];
        a[g] = x;
    }"""
    counts = count(parse(source), "k", (64,), (64,), [BufferArgument(1 << 20), 1000])
    assert not counts.loops[0].is_exact


BEFORE = {
    "an early return": ("if (b[g] < 0) return; for (int i = 0; i < 1000; i++) x += a[i];", 0, 1000),
    "a branch": ("if (b[g] == 0) for (int i = 0; i < 100; i++) x += a[i];", 0, 100),
    "the other branch": ("if (b[g]) x = g; else for (int i = 0; i < 100; i++) x += a[i];", 0, 100),
}


@pytest.mark.parametrize("name", BEFORE)
def test_a_loop_behind_an_unknown_branch_has_the_trips_that_it_has(name: str) -> None:
    body, least, most = BEFORE[name]
    counts = with_unknown(body)
    adds = next(row for row in counts.operations if row.cost is CostClass.FLOAT_ADD)
    assert [loop.is_assumed for loop in counts.loops] == [False]
    assert adds.total.low == least
    assert adds.total.high == most * 4096
    assert adds.total.value == pytest.approx(most * 4096 / 2, rel=0.1)


@pytest.mark.parametrize(
    "loop", ["for (int i = 0; i < (b[g] & 31); i++)", "for (int i = 0; i < b[g]; i++)",
             "for (uchar i = 0; i < (uchar)b[g]; i++)"]
)  # fmt: skip
def test_a_loop_behind_its_own_test_is_one_assumption(loop: str) -> None:
    counts = with_unknown(f"{loop} x = x * 1.5f + a[i];")
    work = next(row for row in counts.operations if row.cost is CostClass.FLOAT_MULTIPLY_ADD)
    assert work.total.value == 16 * 4096
    assert work.total.high == 64 * 4096
    assert [assumption.what.split(" depends")[0] for assumption in counts.assumptions] == [
        "the number of trips"
    ]
    written = next(row for row in counts.written if row.cost is CostClass.FLOAT_MULTIPLY_ADD)
    assert written.per_item == 16


def test_addresses_in_a_loop_of_unknown_trips_are_known_by_trip() -> None:
    counts = with_unknown("for (int i = 0; i < b[0]; i++) x += a[i * 1024 + g];")
    site = next(site for site in counts.sites if site.memory == "a" and "read" in site.access.value)
    assert not site.is_assumed
    assert site.sectors.value / site.requests.value == 4


def with_unknown(body: str) -> KernelCounts:
    """The counts of a kernel of whose buffers nothing is known."""
    source = f"""__kernel void k(__global float *a, __global const int *b) {{
        int g = get_global_id(0);
        float x = 0;
        {body}
        a[g] = x;
    }}"""
    return count(parse(source), "k", (4096,), (64,), [BufferArgument(1 << 24)] * 2)


def operations(counts: KernelCounts) -> dict[tuple[str, CostClass], float]:
    """How often each operation is done."""
    return {(row.type, row.cost): row.total.value for row in counts.operations}


SMALL = """__kernel void many(__global const float *a, __global float *b, int n) {
    int g = get_global_id(0);
    for (int i = 0; i < n; ++i) if (a[i] > 0) b[g] += i;
}"""


@pytest.mark.parametrize(
    ("max_steps", "groups"), [(1 << 26, 8), (1 << 24, 8), (1_100_000, 8), (1_000_000, 2)]
)
def test_a_small_launch_is_executed_in_full_where_its_pilot_shows_that_it_ends(
    max_steps: int, groups: int
) -> None:
    contents = BufferArgument(4 * 64, np.ones(64, np.float32))
    arguments: list[Argument] = [contents, BufferArgument(4 * 512), 64]
    sampling = Sampling(max_steps=max_steps, trips=Trips.ALL)
    counts = count(parse(SMALL), "many", (512,), (64,), arguments, sample=sampling)
    assert counts.sample.groups == groups
    assert counts.sample.is_whole == (groups == 8)
