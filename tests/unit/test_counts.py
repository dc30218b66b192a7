"""What launches have to do, against numbers worked out by hand and by other ways of counting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.kernels import (
    Argument,
    BufferArgument,
    CostClass,
    CountCache,
    KernelCounts,
    LocalArgument,
    Machine,
    Program,
    Sampling,
    Trips,
    count,
    execute,
    parse,
)
from cltrace.kernels.compiler import CodeForm
from cltrace.kernels.counts.count_cache import MAX_KEYS
from cltrace.kernels.counts.kernel_analysis import analyse_kernel
from cltrace.kernels.counts.records import AccessSite, Estimate, Pattern
from cltrace.kernels.counts.transactions import Width, count_transactions
from cltrace.kernels.demand.cost_types import CostType, cost_types
from cltrace.kernels.machine import NVIDIA

SOURCE = """
__kernel void copy(__global const float *in, __global float *out) {
    int i = get_global_id(0);
    out[i] = in[i] + 1.0f;
}
__kernel void strided(__global const float *in, __global float *out, int stride) {
    int i = get_global_id(0);
    out[i] = in[i * stride];
}
__kernel void product(__global const float *a, __global const float *b, __global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}
__kernel void half_warp(__global int *a) {
    int i = get_global_id(0);
    if (i % 32 < 8) a[i] = 1; else a[i] += 2;
}
__kernel void conflicts(__global float *out, __local float *s, int stride) {
    int l = get_local_id(0);
    s[l * stride] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = s[(31 - l) * stride];
}
__kernel void gather(__global const int *index, __global const float *x, __global float *y) {
    int i = get_global_id(0);
    y[i] = x[index[i]];
}
__kernel void until(__global const float *x, __global float *y) {
    int i = get_global_id(0);
    float v = x[i];
    while (v > 1.0f) v *= 0.5f;
    y[i] = v;
}
__kernel void hits(__global int *bins, __global const int *keys) {
    atomic_inc(&bins[keys[get_global_id(0)] & 15]);
}
__kernel void step(__global float *x, float dt) { x[get_global_id(0)] *= dt; }
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return parse(SOURCE)


def site_of(counts: KernelCounts, memory: str, access: str = "read") -> AccessSite:
    return next(s for s in counts.sites if s.memory == memory and s.access.value == access)


def per_item(counts: KernelCounts, cost: CostClass, kind: str) -> float:
    return sum(row.per_item for row in counts.operations if (row.cost, row.type) == (cost, kind))


def test_a_copy_is_counted_exactly(program: Program) -> None:
    n = 1 << 22
    counts = count(program, "copy", (n,), (256,), [BufferArgument(4 * n)] * 2)
    assert counts.work_items == n
    assert counts.warps == n / 32
    assert per_item(counts, CostClass.FLOAT_ADD, "float") == 1
    for memory, access in (("in", "read"), ("out", "write")):
        site = site_of(counts, memory, access)
        assert site.requests.value == n / 32
        assert site.sectors.value == n / 8
        assert site.lines.value == n / 32
        assert site.bank_cycles.value == n / 32
        assert site.pattern is Pattern.CONTIGUOUS
        assert site.footprint.launch_sectors == pytest.approx(n / 8, rel=0.001)
        assert site.footprint.group_sectors == 32
        assert site.partial_sectors == 0
    assert counts.assumptions == ()


@pytest.mark.parametrize(
    ("stride", "sectors", "banks"), [(1, 4, 1), (2, 8, 2), (8, 32, 8), (33, 32, 1)]
)
def test_strides_cost_sectors_and_rounds_of_banks(
    program: Program, stride: int, sectors: int, banks: int
) -> None:
    n = 1 << 16
    arguments: list[Argument] = [BufferArgument(4 * n * stride), BufferArgument(4 * n), stride]
    site = site_of(count(program, "strided", (n,), (128,), arguments), "in")
    assert site.sectors.value / site.requests.value == sectors
    assert site.bank_cycles.value / site.requests.value == banks
    assert site.stride_bytes == 4 * stride


@pytest.mark.parametrize(("stride", "cycles"), [(1, 1), (2, 2), (4, 4), (32, 32), (33, 1)])
def test_bank_conflicts_of_local_memory(program: Program, stride: int, cycles: int) -> None:
    arguments: list[Argument] = [BufferArgument(4096), LocalArgument(4 * 32 * 33), stride]
    counts = count(program, "conflicts", (1024,), (32,), arguments)
    for access in ("read", "write"):
        site = site_of(counts, "s", access)
        assert site.bank_cycles.value / site.requests.value == cycles
    assert counts.barriers == 1
    assert counts.local_bytes == 4 * 32 * 33


def test_long_loops_are_counted_without_running_them(program: Program) -> None:
    """Against all of the trips, which `steps` of the same kernel with fewer are multiplied to."""
    for n in (64, 1000, 4096):
        counts = count(
            program, "product", (n // 8 * 8,) * 2, (8, 8), [*[BufferArgument(4 * n * n)] * 3, n]
        )
        assert per_item(counts, CostClass.FLOAT_MULTIPLY_ADD, "float") == n
        assert per_item(counts, CostClass.LOAD, "float") == 2 * n
        (loop,) = counts.loops
        assert loop.trips.value == n
        assert loop.is_exact
        a, b = site_of(counts, "a"), site_of(counts, "b")
        assert a.accesses.value == counts.work_items * n
        assert b.sectors.value / b.requests.value == pytest.approx(
            1.0 if n % 8 == 0 else 1.6, rel=0.3
        )


@pytest.mark.parametrize("stride", [1, 3, 32])
@pytest.mark.parametrize("element", ["uchar", "float", "float4"])
def test_extrapolated_counts_are_those_of_running_all_trips(stride: int, element: str) -> None:
    program = parse(
        f"__kernel void k(__global const {element} *a, __global {element} *o, int n) {{\n"
        f"int i = get_global_id(0); {element} s = 0;\n"
        f"for (int k = 0; k < n; ++k) s += a[i * 5 + k * {stride}];\no[i] = s; }}\n"
    )
    arguments: list[Argument] = [BufferArgument(1 << 20), BufferArgument(1 << 16), np.int32(300)]
    skipped, run = (
        count(program, "k", (2048,), (64,), arguments, sample=Sampling(trips=trips))
        for trips in (Trips.SAMPLED, Trips.ALL)
    )
    assert skipped.loops[0].extrapolated > 0.5
    assert run.loops[0].extrapolated == 0
    assert skipped.loops[0].trips == run.loops[0].trips == Estimate(300, 0.0, 300, 300)
    ours, theirs = site_of(skipped, "a"), site_of(run, "a")
    assert ours.accesses.value == theirs.accesses.value
    assert ours.sectors.value == pytest.approx(theirs.sectors.value, rel=0.02)
    assert ours.lines.value == pytest.approx(theirs.lines.value, rel=0.1)
    assert ours.footprint.group_sectors == pytest.approx(theirs.footprint.group_sectors, rel=0.15)
    assert skipped.operations == run.operations


def test_divergence_is_seen(program: Program) -> None:
    counts = count(program, "half_warp", (1 << 14,), (128,), [BufferArgument(4 << 14)])
    (branch,) = counts.branches
    assert branch.divergent_warps == branch.warps
    assert branch.taken in {0.25, 0.75}
    assert counts.paths == 2
    assert counts.active_lanes <= 0.95


def test_what_is_not_known_is_assumed_and_said(program: Program) -> None:
    n = 1 << 14
    buffers = [BufferArgument(4 * n), BufferArgument(64 * n), BufferArgument(4 * n)]
    counts = count(program, "gather", (n,), (128,), buffers)
    site = site_of(counts, "x")
    assert site.is_assumed
    assert site.sectors.low <= n / 8 + 1
    assert site.sectors.high >= 0.9 * n
    (assumption,) = counts.assumptions
    assert assumption.place.line == SOURCE[: SOURCE.index("x[index[i]]")].count("\n") + 1


def test_contents_that_are_known_are_used(program: Program) -> None:
    n = 1 << 12
    identity = np.arange(n, dtype=np.int32)
    same = np.zeros(n, np.int32)
    for index, sectors in ((identity, 4), (same, 1), (identity[::-1].copy(), 4)):
        buffers = [BufferArgument(4 * n, index), BufferArgument(4 * n), BufferArgument(4 * n)]
        counts = count(program, "gather", (n,), (128,), buffers)
        assert counts.assumptions == ()
        assert site_of(counts, "x").sectors.value / site_of(counts, "x").requests.value == sectors


def test_unknown_trips_have_an_interval(program: Program) -> None:
    counts = count(program, "until", (4096,), (64,), [BufferArgument(1 << 14)] * 2)
    row = next(r for r in counts.operations if r.cost is CostClass.FLOAT_MULTIPLY)
    assert row.total.low < row.total.value < row.total.high
    assert row.total.high / counts.work_items <= 64
    assert any("trips" in assumption.what for assumption in counts.assumptions)


def test_contention_of_atomics(program: Program) -> None:
    keys = np.zeros(1024, np.int32)
    buffers = [BufferArgument(64, np.zeros(16, np.int32)), BufferArgument(4096, keys)]
    site = site_of(count(program, "hits", (1024,), (64,), buffers), "bins", "atomic")
    assert site.contention == 32
    buffers[1] = BufferArgument(4096, np.arange(1024, dtype=np.int32))
    assert (
        site_of(count(program, "hits", (1024,), (64,), buffers), "bins", "atomic").contention == 2
    )


def test_a_changing_number_that_decides_nothing_is_no_new_configuration(program: Program) -> None:

    assert analyse_kernel(program, "step", CodeForm.OPTIMISED).slice_inputs.parameters == {0}
    assert analyse_kernel(program, "strided", CodeForm.OPTIMISED).slice_inputs.parameters == {
        0,
        1,
        2,
    }
    gather = analyse_kernel(program, "gather", CodeForm.OPTIMISED).slice_inputs
    assert gather.contents == {0}


def test_a_cpu_has_cache_lines_for_each_vector(program: Program) -> None:
    counts = count(
        program,
        "copy",
        (1 << 16,),
        (64,),
        [BufferArgument(4 << 16)] * 2,
        machine=Machine.of_cpu(8, 16),
    )
    site = site_of(counts, "in")
    assert site.requests.value == (1 << 16) / 16
    assert site.sectors.value == site.requests.value


def test_cost_types_of_the_thesis(program: Program) -> None:
    n = 256
    counts = count(program, "product", (n, n), (16, 16), [*[BufferArgument(4 * n * n)] * 3, n])
    found = {row.type: row.per_item for row in cost_types(counts)}
    assert found[CostType.FLOAT_PLUS] == found[CostType.FLOAT_TIMES] == n
    assert found[CostType.BASE] == 1
    assert found[CostType.WRITE] == 1
    assert sum(v for k, v in found.items() if k.value.startswith("global read")) == 2 * n


@given(
    st.lists(st.integers(0, 5000), min_size=32, max_size=32),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_transactions_are_those_of_counting_one_by_one(
    offsets: list[int], size: int, writes: bool
) -> None:
    addresses = np.asarray(offsets, np.int64) * size
    found = count_transactions(addresses[None], Width(size, size), NVIDIA, writes=writes)
    touched = {byte // 32 for a in addresses.tolist() for byte in range(a, a + size)}
    assert found.sectors.tolist() == [len(touched)]
    assert sorted(found.touched.tolist()) == sorted(touched)
    assert found.lines.tolist() == [len({sector // 4 for sector in touched})]
    if writes:
        whole = {byte for a in addresses.tolist() for byte in range(a, a + size)}
        partial = sum(any(s * 32 + b not in whole for b in range(32)) for s in touched)
        assert found.partial_sectors.tolist() == [partial]
    if size <= 4:
        words = {a // 4 for a in addresses.tolist()}
        load = np.bincount([word % 32 for word in words], minlength=32)
        assert found.bank_cycles.tolist() == [load.max()]


@given(
    st.lists(st.lists(st.integers(0, 40), min_size=8, max_size=8), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 600)), min_size=1, max_size=20),
    st.sampled_from([1, 4, 8, 16]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_transactions_of_many_warps_are_those_of_each(
    patterns: list[list[int]], warps: list[tuple[int, int]], size: int, writes: bool
) -> None:
    rows = np.asarray([patterns[kind % len(patterns)] for kind, _ in warps], np.int64)
    rows = (rows + np.asarray([[begin] for _, begin in warps])) * size
    together = count_transactions(rows, Width(size, size), NVIDIA, writes=writes)
    single = [
        count_transactions(row[None], Width(size, size), NVIDIA, writes=writes) for row in rows
    ]
    for name in ("sectors", "lines", "bank_cycles", "partial_sectors", "touched"):
        parts = [getattr(one, name) for one in single]
        assert getattr(together, name).tolist() == np.concatenate(parts).tolist()
    owners = np.repeat(np.arange(len(rows)), [len(one.touched) for one in single])
    assert together.touched_warp.tolist() == owners.tolist()


@given(st.integers(1, 400), st.integers(1, 97), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_totals_do_not_depend_on_the_sample(groups: int, local: int, most: int) -> None:
    program = parse(SOURCE)
    n = groups * local
    counts = count(
        program,
        "copy",
        (n,),
        (local,),
        [BufferArgument(4 * n)] * 2,
        sample=Sampling(max_groups=most),
    )
    assert site_of(counts, "in").accesses.value == pytest.approx(n)
    assert per_item(counts, CostClass.FLOAT_ADD, "float") == pytest.approx(1)


def test_each_configuration_is_counted_once(program: Program) -> None:
    known = CountCache()
    buffer = BufferArgument(4096)
    first = known.count(program, "step", (1024,), (64,), [buffer, 0.5])
    for number in range(100):
        assert known.count(program, "step", (1024,), (64,), [buffer, float(number)]) is first
    assert known.count(program, "step", (512,), (64,), [buffer, 0.5]) is not first
    assert known.count(program, "step", (1024,), (64,), [BufferArgument(8192), 0.5]) is not first
    strided = [
        known.count(program, "strided", (64,), (32,), [buffer, buffer, n]) for n in (1, 2, 1)
    ]
    assert strided[0] is strided[2] is not strided[1]


def test_contents_that_decide_make_a_configuration(program: Program) -> None:
    known = CountCache()
    forward, backward = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    plain = BufferArgument(256)
    first, second, third = (
        known.count(program, "gather", (64,), (32,), [BufferArgument(256, index), plain, plain])
        for index in (forward, backward, forward)
    )
    assert first is third is not second


def test_many_configurations_are_sampled_and_say_so(program: Program) -> None:
    known = CountCache()
    buffer = BufferArgument(256)
    for number in range(MAX_KEYS):
        known.count(program, "strided", (2,), (1,), [buffer, buffer, number])
    counts = known.count(program, "strided", (2,), (1,), [buffer, buffer, MAX_KEYS])
    assert "counts of another of more than 1,000 configurations" in counts.notes


@pytest.mark.parametrize(
    ("number", "kept"), [(4_000_000_000, -294_967_296), (-1, -1), (1 << 40, 0)]
)
def test_numbers_are_those_of_the_parameters_type(number: int, kept: int) -> None:
    program = parse("__kernel void k(__global int *a, uint n) { a[get_global_id(0)] = n; }")
    buffer = BufferArgument(16, np.zeros(4, np.int32))
    outputs, _ = execute(program, "k", (4,), (4,), [buffer, number])
    assert outputs[0].view(np.int32).tolist() == [kept] * 4


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("for (int j = 0; j < n; j++) for (int l = 0; l < j; l++) s += a[l * n + i];", 60),
        ("for (int j = n; j > 0; j--) for (int l = 0; l < n - j; l += 3) s += a[l + i];", 90),
        ("for (int j = 0; j < 900; j++) { if (j >= 600) s += a[j * 16 + i * n]; s += a[j]; }", 100),
        ("for (int j = 0; j < n; j++) { if (j > i * 5) s += a[j]; else s -= a[j * 8 + i]; }", 700),
        ("for (int j = 0; j < n; j++) if (j % 100 == 99) s += a[j + i];", 900),
        ("for (int j = 0; j < n; j++) if (j == 500) s += a[i];", 900),
        ("for (int j = 0; j < i; j++) for (int l = j; l < n; l++) s += a[j * n + l];", 80),
        ("for (uchar j = 0; j < (uchar)n; j++) s += a[j * 16 + i];", 200),
        ("if (i % 3 == 0) for (int j = i; j < n; j += i + 1) s += a[j];", 2000),
        ("for (int j = 0; j != n * 3; j += 3) s += a[j + i];", 500),
    ],
)
def test_trips_that_are_not_alike_are_not_taken_for_alike(body: str, number: int) -> None:
    program = parse(
        "__kernel void k(__global const float *a, __global float *o, int n) {\n"
        f"int i = get_global_id(0); float s = 0;\n{body}\no[i] = s; }}\n"
    )
    arguments: list[Argument] = [BufferArgument(1 << 24), BufferArgument(1 << 12), number]
    sampled, run = (
        count(program, "k", (96,), (32,), arguments, sample=Sampling(trips=trips, max_steps=10**9))
        for trips in (Trips.SAMPLED, Trips.ALL)
    )
    assert sampled.operations == run.operations
    assert [loop.trips for loop in sampled.loops] == [loop.trips for loop in run.loops]
    for ours, theirs in zip(sampled.sites, run.sites, strict=True):
        assert ours.accesses == theirs.accesses
        assert ours.sectors.value == pytest.approx(theirs.sectors.value, rel=0.02)
    assert sampled.notes == run.notes == ()
