"""Rules about kernels on counts: what each says, and what its change leaves of the work."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from cltrace.kernels import Argument, BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.counts.traced_launches import TracedLaunch, TracedProgram
from cltrace.predict.kernel_advice.accesses import uncoalesced_accesses
from cltrace.predict.kernel_advice.aliasing import possible_aliasing
from cltrace.predict.kernel_advice.bank_conflicts import bank_conflicts
from cltrace.predict.kernel_advice.divergence import divergent_branches
from cltrace.predict.kernel_advice.double_constants import double_constants
from cltrace.predict.kernel_advice.global_atomics import global_atomics
from cltrace.predict.kernel_advice.group_sizes import slow_group_sizes
from cltrace.predict.kernel_advice.kernel_registers import UNKNOWN_REGISTERS, StatedRegisters
from cltrace.predict.kernel_advice.occupancy import low_occupancy
from cltrace.predict.kernel_advice.private_arrays import private_arrays
from cltrace.predict.kernel_advice.proposals import _has_own_buffers

ITEMS = 1 << 20


def launch_of(
    body: str,
    *,
    size: tuple[int, ...] = (ITEMS,),
    local: tuple[int, ...] = (256,),
) -> TracedLaunch:
    source = f"kernel void f(global float *a, global float *b, int n) {{ {body} }}"
    arguments: tuple[Argument, ...] = (*[BufferArgument(64 * ITEMS)] * 2, 16)
    return TracedLaunch(
        launch_id=1,
        kernel="f",
        program=TracedProgram(source, (), {}),
        global_size=size,
        local_size=local,
        global_offset=None,
        arguments=arguments,
        calls=1,
        buffers=(1, 2),
    )


def counts_of(launch: TracedLaunch) -> KernelCounts:
    assert launch.program is not None
    assert launch.local_size is not None
    program = parse(launch.program.source, " ".join(launch.program.options))
    sizes = launch.global_size, launch.local_size
    return count(program, "f", *sizes, launch.arguments, machine=Machine())


def counted(body: str) -> KernelCounts:
    return counts_of(launch_of(body))


FIRST = "int i = get_global_id(0), lid = get_local_id(0); "
RULES = {
    uncoalesced_accesses: (
        FIRST + "b[i] = a[i * n];",
        FIRST + "b[i] = a[i + n];",
    ),
    bank_conflicts: (
        FIRST + "local float t[4096]; t[lid * 16] = a[i]; barrier(1); b[i] = t[(lid ^ 1) * 16];",
        FIRST + "local float t[4096]; t[lid] = a[i]; barrier(1); b[i] = t[lid ^ 1];",
    ),
    divergent_branches: (
        FIRST
        + "float v = a[i]; if (i % 2) for (int k = 0; k < n; k++) v = sqrt(v); "
        + "else for (int k = 0; k < n; k++) v = 1.0f / v; b[i] = v;",
        FIRST + "if (i < n * 10000) b[i] = a[i];",
    ),
    private_arrays: (
        FIRST
        + "float t[8] = {0}; for (int k = 0; k < n; k++) t[(i + k) & 7] += a[i]; "
        + "b[i] = t[0] + t[5];",
        FIRST + "float t[8] = {0}; for (int k = 0; k < 8; k++) t[k] += a[i]; b[i] = t[0] + t[5];",
    ),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_finds_its_mistake_and_not_the_same_without_it(rule: object) -> None:
    wrong, right = RULES[rule]  # type: ignore[index]
    improvement = rule(counted(wrong))  # type: ignore[operator]
    assert improvement is not None
    assert improvement.title.startswith("f: ")
    assert rule(counted(right)) is None  # type: ignore[operator]
    assert rule(improvement.counts) is None  # type: ignore[operator]


def test_local_memory_that_lets_few_work_groups_run() -> None:
    body = FIRST + "local float t[%d]; t[lid] = a[i]; barrier(1); b[i] = t[lid ^ 1];"
    large, small = counted(body % 20000), counted(body % 256)
    (improvement,) = low_occupancy(large, UNKNOWN_REGISTERS)
    assert improvement.title.startswith("f: ")
    assert improvement.counts is not None
    assert not low_occupancy(improvement.counts, UNKNOWN_REGISTERS)
    assert not low_occupancy(small, UNKNOWN_REGISTERS)
    # Registers let no more run.
    stated = replace(UNKNOWN_REGISTERS, stated=StatedRegisters(128, 0))
    assert not low_occupancy(large, stated)


def test_members_of_structures_that_are_used_whole_keep_their_footprint() -> None:
    body = FIRST + "b[i] = a[i * 4] + a[i * 4 + 1] + a[i * 4 + 2] + a[i * 4 + 3];"
    before = counted(body)
    improvement = uncoalesced_accesses(before)
    if improvement is not None:
        assert improvement.counts is not None
        for old, new in zip(before.regions, improvement.counts.regions, strict=True):
            assert new.footprint.launch_sectors == pytest.approx(
                old.footprint.launch_sectors, rel=0.02
            )
            assert new.sectors <= old.sectors


def test_pointers_are_declared_restrict_where_buffers_are_different() -> None:
    body = FIRST + "for (int k = 0; k < n; k++) b[i + k * 4096] = 2 * a[i + k * 4096];"
    launch = launch_of(body)
    (variant,) = possible_aliasing(launch, counts_of(launch))
    assert variant.launch.program is not None
    assert variant.launch.program.source.count("restrict") == 2
    improvement = variant.describe(counts_of(launch), counts_of(variant.launch))
    assert improvement is not None
    assert improvement.metrics[0].value > improvement.metrics[1].value
    assert variant.needs_own_buffers


def test_doubles_of_a_program_that_reads_them_are_its_own() -> None:
    launch = launch_of(FIRST + "b[i] = a[i] * 0.1;")
    (variant,) = double_constants(launch, counts_of(launch))
    improvement = variant.describe(counts_of(launch), counts_of(variant.launch))
    assert improvement is not None
    assert improvement.line == "program.cl:1"
    assert improvement.remedy.after == "x * 0.1f"
    for body in ("b[i] = a[i] * 0.1f;", "b[i] = ((global double *)a)[i] * 0.1;"):
        launch = launch_of(FIRST + body)
        assert not double_constants(launch, counts_of(launch))


def test_work_groups_of_kernels_that_know_them_are_left_alone() -> None:
    launch = launch_of("int i = get_global_id(0); b[i] = a[i];", local=(8,))
    sizes = [each.launch.local_size for each in slow_group_sizes(launch, counts_of(launch))]
    assert sizes == [(32,), (64,), (128,), (256,)]
    odd = launch_of("int i = get_global_id(0); b[i] = a[i];", size=(1000,), local=(8,))
    assert not slow_group_sizes(odd, counts_of(odd))
    knows = launch_of("b[get_group_id(0)] = a[0];", local=(8,))
    assert not slow_group_sizes(knows, counts_of(knows))


@pytest.mark.parametrize(
    "body",
    [
        "atomic_add((global int *)b + (i & 31), 1);",
        "if (i % 3 == 0) atomic_inc((global int *)b + (i & 7));",
        "\n#define COUNT(p) atomic_max(p, i)\nCOUNT((global int *)b + (i & 31));",
        "atomic_or(\n(global int *)b\n+ (i & 31),\ni);",
    ],
)
def test_atomic_operations_that_can_be_added_up_first(body: str) -> None:
    before_it = counted(FIRST + body)
    improvement = global_atomics(before_it)
    assert improvement is not None
    assert improvement.counts is not None
    before, after = (
        sum(site.requests.value for site in counts.sites if site.space == "global")
        for counts in (before_it, improvement.counts)
    )
    assert after < before / 2


@pytest.mark.parametrize(
    "body",
    [
        "atomic_add((global int *)b + i, 1);",  # each its own
        "a[i] = atomic_add((global int *)b + (i & 31), 1);",  # a place for each
        "int p = atomic_inc((global int *)b + (i & 31)); a[p] = i;",
        "atomic_xchg((global int *)b + (i & 31), i);",
        "while (atomic_cmpxchg((global int *)b, 0, 1) == n);",
        "/* ; atomic_add(b, 1); */ b[atomic_inc((global int *)b + (i & 31))] = 1;",
    ],
)
def test_other_atomic_operations_are_left_alone(body: str) -> None:
    assert global_atomics(counted(FIRST + body)) is None


def test_arrays_that_do_not_fit_local_memory_are_not_moved_there() -> None:
    body = "float t[256]; for (int k = 0; k < 256; k++) t[k] = k * a[i]; b[i] = t[(i * n) & 255];"
    assert private_arrays(counted(FIRST + body)) is None


def test_groups_of_one_warp_do_not_diverge_for_want_of_lanes() -> None:
    body = "float v = a[i]; if (i % 2) for (int k = 0; k < n; k++) v = sqrt(v); b[i] = v;"
    assert divergent_branches(counts_of(launch_of(FIRST + body, local=(8,)))) is None


def test_a_constant_by_a_name_is_told_by_its_name() -> None:
    launch = launch_of(FIRST + "b[i] = a[i] * M_PI; /* 2.5 */")
    (variant,) = double_constants(launch, counts_of(launch))
    improvement = variant.describe(counts_of(launch), counts_of(variant.launch))
    if improvement is not None:
        assert improvement.remedy.before == ""
        assert "M_PI_F" in improvement.remedy.text


@pytest.mark.parametrize(
    ("used", "parents", "has_own"),
    [
        ({1: {5, 6}, 2: {7, 8}}, {}, True),
        ({1: {5, 6}, 2: {7}}, {}, False),  # the second launch works in place
        ({1: {5, 6}, 2: {7, 8}}, {8: 7}, False),  # and here on a part of the same buffer
        ({1: {5, 6}}, {}, False),  # arguments of the second are not recorded
    ],
)
def test_restrict_needs_own_buffers_in_every_launch(
    used: dict[int, set[int]], parents: dict[int, int], has_own: bool
) -> None:
    predicted = SimpleNamespace(launch=launch_of("b[0] = a[0];"), launch_ids=(1, 2))
    evidence = SimpleNamespace(used_buffers=used, parents=parents)
    assert _has_own_buffers(predicted, evidence) is has_own  # type: ignore[arg-type]
