"""CPUs run work-items as lanes of vectors where their compiler makes vectors, and else one by one."""

from dataclasses import replace

import numpy as np
import pytest

from cltrace.errors import ProfileError
from cltrace.kernels import Argument, BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.machine import ItemLoops
from cltrace.predict.fitting import fit_models
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.scaling import scale_demand
from cltrace.predict.models.overlap.times import times_of
from cltrace.profile import load_profile

POCL = Machine.of_cpu(4, item_loops=ItemLoops.LOOPS)
INTEL = Machine.of_cpu(4, 16)
CPU = load_profile("pocl-cpu")
ITEMS = 1 << 14
STRAIGHT = (
    "float v = in[i]; v = v * 2.0f + 1.0f; v = v * v + 3.0f; v = v - 1.0f / (v + 2.0f); out[i] = v;"
)
LOOP = "float s = 0; for (int k = 0; k < n; ++k) s += in[k]; out[i] = s;"
CALL = "out[i] = exp(in[i]) + 1.0f;"
TILED = """
    __local float kept[256];
    for (int k = 0; k < n; ++k) {
        kept[get_local_id(0)] = in[i] * k; barrier(CLK_LOCAL_MEM_FENCE);
        out[i] += kept[get_local_id(0) ^ 1]; barrier(CLK_LOCAL_MEM_FENCE);
    }
"""


def counted(
    body: str, machine: Machine, local: tuple[int, ...] = (256,), n: int = 64, floats: int = 1 << 16
) -> KernelCounts:
    source = f"""
    __kernel void k(__global const float *in, __global float *out, int n) {{
        int i = get_global_id(0) + get_global_id(1) * get_global_size(0);
        {body}
    }}
    """
    arguments: list[Argument] = [
        BufferArgument(4 * floats), BufferArgument(4 * floats), np.int32(n)
    ]  # fmt: skip
    size = (ITEMS // 64, 64) if len(local) > 1 else (ITEMS,)
    return count(parse(source), "k", size, local, arguments, machine=machine)


@pytest.mark.parametrize(
    ("body", "by_loops"),
    [
        (STRAIGHT, True),
        (LOOP, False),
        (CALL, False),
        (TILED, True),
        ("atomic_inc((volatile __global int *)out); " + STRAIGHT, False),
    ],
    ids=["straight", "loop", "call", "barriers", "atomic"],
)
def test_a_vectoriser_of_loops_gives_up_where_a_whole_function_does_not(
    body: str, by_loops: bool
) -> None:
    pocl, intel = counted(body, POCL), counted(body, INTEL)
    assert all(site.lane_share == by_loops for site in pocl.sites if site.space == "global")
    assert all(site.lane_share == 1.0 for site in intel.sites)
    assert intel.steps == intel.warps


def test_operations_of_single_work_items_count_for_each() -> None:
    def total(counts: KernelCounts) -> float:
        return sum(row.warp_total for row in counts.folded if row.type == "float")

    assert counted(LOOP, POCL).steps == ITEMS
    assert total(counted(LOOP, POCL)) > 6 * total(counted(LOOP, Machine.of_cpu(4)))


@pytest.mark.parametrize(
    ("local", "share"), [((4, 4), 0.0), ((16, 16), 1.0), ((8, 32), 0.0), ((64, 1), 1.0)]
)
def test_only_whole_rows_of_a_group_fill_vectors(local: tuple[int, ...], share: float) -> None:
    counts = counted(STRAIGHT, INTEL, local)
    assert {site.lane_share for site in counts.sites} == {share}
    assert counts.steps == (counts.warps if share else ITEMS)


def test_a_short_loop_over_work_items_is_made_vectors_of_as_well() -> None:
    """As measured with PoCL 3.0: 48 work-items a group take no longer each than 256."""
    assert {site.lane_share for site in counted(STRAIGHT, POCL, (8,)).sites} == {1.0}


def test_far_steps_of_a_loop_are_jumps_and_near_ones_are_not() -> None:
    rows = counted("float s = 0; for (int k = 0; k < 4; ++k) s += in[4 * i + k]; out[i] = s;", POCL)
    columns = counted(
        "float s = 0; for (int k = 0; k < 4; ++k) s += in[k * 16384 + i]; out[i] = s;", POCL
    )
    near, far = rows.sites[0], columns.sites[0]
    assert near.jumping_requests == 0
    assert near.jump_bytes == 0
    assert far.jumping_requests >= 0.7 * far.requests.value
    assert far.jump_bytes == 4 * 16384


def test_columns_of_a_large_matrix_take_longer_than_its_rows() -> None:
    """Each step of a column is in another page, and in the same sets of the caches."""
    model = OVERLAP.for_device(CPU)
    times = []
    for body in (
        "float s = 0; for (int k = 0; k < n; ++k) s += in[(i & 1023) * 1024 + k]; out[i] = s;",
        "float s = 0; for (int k = 0; k < n; ++k) s += in[k * 1024 + (i & 1023)]; out[i] = s;",
    ):
        machine = Machine.of_cpu(16, item_loops=ItemLoops.LOOPS)
        counts = counted(body, machine, n=1024, floats=1 << 20)
        times.append(model.predict(counts).duration_ns)
    assert times[1] > 1.5 * times[0]


def test_a_call_takes_longer_than_the_same_operation_in_vectors() -> None:
    model = OVERLAP.for_device(CPU)
    machine = Machine.of_cpu(16, item_loops=ItemLoops.LOOPS)
    plain, called = (
        model.predict(counted(f"out[i] = {text};", machine)).duration_ns
        for text in ("in[i] * 2.0f + 1.0f", "fma(in[i], 2.0f, 1.0f)")
    )
    assert called > plain


@pytest.mark.parametrize("body", [STRAIGHT, LOOP], ids=["straight", "loop"])
def test_more_work_groups_are_predicted_as_they_are_counted(body: str) -> None:
    model = OVERLAP.for_device(CPU)
    machine = Machine.of_cpu(16, item_loops=ItemLoops.LOOPS)
    demand = demand_of(counted(body, machine), model.costs.operations)
    unchanged, scaled = (scale_demand(demand, factor, 16) for factor in (1.0, 4.0))
    assert times_of(unchanged, model.costs).total_ns == times_of(demand, model.costs).total_ns
    assert scaled.steps == 4 * demand.steps
    assert [region.repeated_lines for region in scaled.traffic] == [
        4 * region.repeated_lines for region in demand.traffic
    ]


def test_profiles_and_measurements_of_earlier_versions_say_what_to_do() -> None:
    costs = dict(CPU.parameters["overlap"])
    del costs["item access"]
    with pytest.raises(ProfileError, match="cltrace calibrate"):
        OVERLAP.for_device(replace(CPU, parameters={**CPU.parameters, "overlap": costs}))
    sets = tuple(point for point in CPU.points("working-sets") if "order" not in point.series)
    with pytest.raises(ProfileError, match="measure it again"):
        fit_models(replace(CPU, families={**CPU.families, "working-sets": sets}))
