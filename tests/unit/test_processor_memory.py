"""A CPU's own memory and waits: values behind barriers, arrays, atomics, chains that trips carry."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cltrace.kernels import Argument, BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.costs.operation import KEPT_TYPE
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.kernels.machine import NVIDIA, ItemLoops
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.predict.models.overlap.processor_caches import cache_costs
from cltrace.predict.models.overlap.times import times_of
from cltrace.profile import load_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

POCL = Machine.of_cpu(16, item_loops=ItemLoops.LOOPS)
CPU = load_profile("pocl-cpu")
COSTS = OVERLAP.for_device(CPU).costs
ITEMS = 1 << 12
LOCAL = "__local float kept[256]; int l = get_local_id(0);"


def counted(body: str, machine: Machine = POCL) -> KernelCounts:
    source = f"""__kernel void k(__global const int *a, __global float *out, float f, int n) {{
        int i = get_global_id(0); {body} }}"""
    arguments: list[Argument] = [
        BufferArgument(4 * 64 * ITEMS, np.arange(64 * ITEMS, dtype=np.int32) % 64),
        BufferArgument(4 * 64 * ITEMS),
        np.float32(2),
        np.int32(8),
    ]
    return count(parse(source), "k", (ITEMS,), (256,), arguments, machine=machine)


def demand(body: str, machine: Machine = POCL) -> Demand:
    return demand_of(counted(body, machine), COSTS.operations)


def kept_per_item(body: str, machine: Machine = POCL) -> float:
    """Return the writes and reads of values behind barriers, of vectors or of single work-items."""
    counts = counted(body, machine)
    return sum(row.warp_total for row in counts.folded if row.type == KEPT_TYPE) / counts.steps


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("float v = a[i] * f; out[i] = v;", 0),
        (f"{LOCAL} kept[l] = f; barrier(1); out[i] = kept[l ^ 1];", 4),  # both ids
        (f"{LOCAL} float v = a[i] * f; kept[l] = v; barrier(1); out[i] = kept[l ^ 1] + v;", 6),
        (f"{LOCAL} float v = f * n; kept[l] = v; barrier(1); out[i] = kept[l ^ 1] + v;", 4),
    ],
)
def test_values_of_work_items_are_kept_across_barriers(body: str, values: int) -> None:
    assert kept_per_item(body) == values


def test_a_gpu_keeps_values_in_registers() -> None:
    body = f"{LOCAL} float v = a[i] * f; kept[l] = v; barrier(1); out[i] = kept[l ^ 1] + v;"
    assert kept_per_item(body, NVIDIA) == 0.0


def item_accesses(body: str) -> float:
    work = demand(body).processor
    return (work.item_accesses + work.private_accesses) / ITEMS


def test_private_arrays_of_unknown_places_are_accesses() -> None:
    known = "float v[4]; for (int k = 0; k < 4; ++k) v[k] = a[i + k]; out[i] = v[0] + v[3];"
    unknown = "float v[4]; for (int k = 0; k < 4; ++k) v[k] = a[i + k]; out[i] = v[a[i] & 3];"
    large = """float v[32]; for (int k = 0; k < 32; ++k) v[k] = a[i + k];
        for (int k = 0; k < 32; ++k) out[i] += v[k] * f;"""
    assert item_accesses(known) == 5.0
    assert item_accesses(unknown) == 4 + 4 + 1 + 1 + 1
    assert item_accesses(large) >= 32 + 2 * 32  # more numbers than a processor has registers


def test_atomics_wait_for_other_cores_where_there_are_few_lines() -> None:
    limits = ProbeLimits.of(CPU.device, Effort.FULL)
    counter = WorkloadCounter(CPU.device)
    times = {
        (probe.series, int(probe.x)): times_of(
            demand_of(counter.count(probe.launch), COSTS.operations), COSTS
        ).atomics
        for probe in FAMILIES["atomics"].probes(limits)
        if probe.launch is not None
    }
    everywhere = {x: time for (series, x), time in times.items() if series == "global add"}
    assert everywhere[1] > 3 * everywhere[1024] > 3 * everywhere[1 << 20] > 0
    ordered = [everywhere[x] for x in sorted(everywhere)]
    assert all(later <= before * 1.01 for before, later in pairwise(ordered))
    own = [time for (series, _), time in times.items() if series == "local add"]
    assert max(own) == pytest.approx(min(own))
    assert 0 < own[0] < everywhere[1]


def test_one_core_alone_waits_for_nobody() -> None:
    body = "atomic_add((__global int *)out, 1);"
    alone = replace(demand(body), units=1.0)
    assert times_of(alone, COSTS).atomics == pytest.approx(ITEMS * COSTS["atomic alone"])


def waits(body: str, machine: Machine = POCL) -> float:
    return sum(wait.per_warp for wait in demand(body, machine).waits)


LONG = """float v = f; for (int t = 0; t < 256; ++t) {{
    {before} v = v * f + 0.5f; {after} }} out[i] = v;"""


def test_a_chain_through_several_blocks_of_a_loop_is_waited_for() -> None:
    alone = waits(LONG.format(before="", after=""))
    between = waits(LONG.format(before="", after="if (t > 250) out[i + t] = f;"))
    chosen = waits(LONG.format(before="", after="if (v > 9.0f) { out[i] = v; v = v * 0.5f; }"))
    assert alone >= 256
    assert between >= 0.9 * alone
    assert chosen >= 0.9 * alone


def test_what_other_trips_do_not_need_is_no_chain() -> None:
    apart = "float v = f; for (int t = 0; t < 256; ++t) { out[i + t] = a[i + t] * f; } out[i] = v;"
    assert waits(apart) < 0.2 * waits(LONG.format(before="", after=""))


def test_reads_that_lead_to_the_next_are_waited_for_one_by_one() -> None:
    chase = "int at = i; for (int t = 0; t < n; ++t) at = a[at]; out[i] = at;"
    beside = "int sum = 0; for (int t = 0; t < n; ++t) sum += a[i + t]; out[i] = sum;"
    assert demand(chase).rounds >= 8
    assert demand(beside).rounds <= 1


def test_walks_through_memory_leave_out_the_launch() -> None:
    walk = demand("int at = i; for (int t = 0; t < 4096; ++t) at = a[at]; out[i] = at;")
    launch_ns = 20_000.0
    probes = [
        MeasuredProbe("chases", "one work-item", 2.0**x, launch_ns + ns * walk.rounds, walk)
        for x, ns in ((12, 2.0), (15, 2.0), (18, 9.0), (20, 9.0), (26, 60.0))
    ]
    found = {name: cost.value for name, cost in cache_costs(probes, launch_ns)}
    assert found["wait l1"] == pytest.approx(2.0)
    assert found["wait l2"] == pytest.approx(9.0)
    assert found["wait l3"] == pytest.approx(60.0)


def test_a_value_of_the_trip_before_is_no_part_of_this_one() -> None:
    shifted = """float v = f, w = 0; for (int t = 0; t < 256; ++t) {
        w = v; v = v * f + 0.5f; if (t > 250) out[i + t] = f; } out[i] = v + w;"""
    assert waits(shifted) <= 1.1 * waits(LONG.format(before="", after=""))
