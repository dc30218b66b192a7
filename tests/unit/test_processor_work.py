"""Work that a CPU alone has: calls for images, mispredicted branches, stores with masks, gathers."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from cltrace.events.workloads import Workload
from cltrace.kernels import Argument, BufferArgument, KernelCounts, Machine, count, parse
from cltrace.kernels.arguments import ImageArgument
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import demand_of
from cltrace.kernels.demand.processor_work import ProcessorWork
from cltrace.kernels.machine import NVIDIA, ItemLoops
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.predict.models.overlap.processor_costs import PROCESSOR_COSTS, processor_costs
from cltrace.profile import load_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

POCL = Machine.of_cpu(4, item_loops=ItemLoops.LOOPS)
CPU = load_profile("pocl-cpu")
ITEMS = 1 << 13
WIDTH = POCL.warp_width
SAMPLERS = """
__constant sampler_t near = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
__constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
"""


def counted(
    body: str, machine: Machine = POCL, contents: NDArray[np.int32] | None = None
) -> KernelCounts:
    source = f"""__kernel void k(
        __global const int *a, __global float *out, float f, int n
    ) {{ int i = get_global_id(0); {body} }}"""
    arguments: list[Argument] = [
        BufferArgument(4 * 64 * ITEMS, contents),
        BufferArgument(4 * 64 * ITEMS),
        np.float32(2),
        np.int32(ITEMS),
    ]
    return count(parse(source), "k", (ITEMS,), (256,), arguments, machine=machine)


def work_of(counts: KernelCounts) -> ProcessorWork:
    return demand_of(counts, OVERLAP.for_device(CPU).costs.operations).processor


@pytest.mark.parametrize(
    ("machine", "reads", "blends", "writes"), [(POCL, 2.0, 1.0, 1.0), (NVIDIA, 0.0, 0.0, 0.0)]
)
def test_calls_for_images_are_counted_on_a_cpu(
    machine: Machine, reads: float, blends: float, writes: float
) -> None:
    source = f"""{SAMPLERS}
    __kernel void k(__read_only image2d_t in, __write_only image2d_t out) {{
        int2 at = (int2)(get_global_id(0), get_global_id(1));
        float4 sum = read_imagef(in, near, at) + read_imagef(in, near, at + 1);
        write_imagef(out, at, sum + read_imagef(in, linear, convert_float2(at) + 0.25f));
    }}"""
    images = [ImageArgument(64, 64, channels=4), ImageArgument(64, 64, channels=4)]
    counts = count(parse(source), "k", (64, 64), (16, 4), images, machine=machine)
    work = work_of(counts)
    assert work.image_reads == reads * counts.work_items
    assert work.image_blends == blends * counts.work_items
    assert work.image_writes == writes * counts.work_items


BRANCH = """int sum = 0;
    for (int t = 0; t < 8; ++t) if (a[i * 8 + t] > 0) { sum += t; out[i] = sum; }"""


def test_unpredictable_branches_of_single_work_items_are_mispredicted() -> None:
    drawn = np.random.default_rng(3).integers(0, 2, 64 * ITEMS, np.int32)
    found = {
        name: work_of(counted(BRANCH, contents=contents)).mispredictions / ITEMS
        for name, contents in (
            ("drawn", drawn),
            ("sorted", np.sort(drawn[: 8 * ITEMS])),
            ("always", np.ones_like(drawn)),
        )
    }
    assert found["drawn"] == pytest.approx(4.0, rel=0.1)
    assert found["sorted"] < 0.05
    assert found["always"] == 0.0


def test_vectors_and_gpus_mispredict_nothing() -> None:
    drawn = np.random.default_rng(3).integers(0, 2, 64 * ITEMS, np.int32)
    straight = "if (a[i] > 0) out[i] = f;"
    assert work_of(counted(straight, contents=drawn)).mispredictions == 0.0
    assert work_of(counted(BRANCH, NVIDIA, drawn)) == ProcessorWork()


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        ("out[i] = a[i] * f;", 0),
        ("if (i < n) out[i] = a[i] * f;", 1),
        ("if (i >= n) return; out[i] = a[i] * f;", 1),
        ("float v = 0; if (i < n) v = a[i]; out[i] = v;", 0),
        ("if (n > 5) out[i] = a[i] * f;", 0),
        ("if (n > 5) { if (i < n) out[i] = a[i] * f; }", 1),
        ("for (int k = 0; k < n / 4096; ++k) if (i < n) out[i] += a[k];", 0),
    ],
    ids=["plain", "guard", "early return", "load", "same", "within same", "single work-items"],
)
def test_stores_of_vectors_under_a_condition_have_masks(body: str, masked: int) -> None:
    assert work_of(counted(body)).masked_stores == masked * ITEMS / WIDTH


@pytest.mark.parametrize(
    ("index", "is_gathered"),
    [
        ("i", False),
        ("i * 3 + n", False),
        ("n - 1 - i", False),
        ("2 * i + 1", False),
        ("get_global_id(1) * 7 + i", False),
        ("n & 15", False),
        ("i & 1023", True),
        ("i / 3", True),
        ("min(i + 1, 4000)", True),
        ("a[i]", True),
        ("(uint)i", False),
        ("(uint)get_global_id(0) + 5u", False),
        ("(i | 3)", True),
        ("i * 4 | 3", False),
    ],
)
def test_a_compiler_has_to_know_that_lanes_are_at_equal_distances(
    index: str, is_gathered: bool
) -> None:
    counts = counted(f"out[i] = a[{index}];")
    site = next(site for site in counts.sites if site.place.column and site.memory == "a")
    sites = [site for site in counts.sites if site.memory == "a"]
    assert (sites[-1] if index == "a[i]" else site).is_gathered is is_gathered


def test_indices_of_32_bits_are_extended_in_many_ways() -> None:
    """clang joins the extension with the size of an element, and with what is known of the sign."""
    for body in (
        "int l = get_local_id(0); out[i] = a[l] * 3 + a[l + 256] * 4;",
        "uint u = get_global_id(0); out[u] = a[u] * 3 + a[u + 1];",
        "if (i > 0 && i < n - 1) out[i] = a[i - 1] + a[i] + a[i + 1];",
    ):
        assert not any(site.is_gathered for site in counted(body).sites), body


def calls(body: str, function: str) -> float:
    rows = counted(body).folded
    return sum(row.warp_total for row in rows if row.function == function) / ITEMS


def test_a_call_works_on_a_part_of_a_vector() -> None:
    vector = "float%d v = (float%d)(a[i]); v = %s; out[i] = v.s0 + v.s1;"
    assert calls(vector % (2, 2, "exp(v)"), "exp") == 1
    assert calls(vector % (4, 4, "exp(v)"), "exp") == 1
    assert calls(vector % (8, 8, "exp(v)"), "exp") == 2
    assert calls(vector % (4, 4, "mad(v, v, v)"), "mad") == 1
    assert calls("out[i] = exp(f * a[i]);", "exp") == 1
    narrowed = "int16 v = (int16)(a[i]); char16 c = convert_char16_sat(v); out[i] = c.s0 + c.sf;"
    assert calls(narrowed, "mad") == 4


def test_conversions_of_64_bits_are_done_for_each_work_item() -> None:
    def executed(body: str) -> float:
        rows = counted(body).folded
        return sum(row.warp_total for row in rows if row.cost is CostClass.CONVERT)

    assert executed("out[i] = (float)get_global_id(0);") == ITEMS
    assert executed("out[i] = (float)i;") == ITEMS / WIDTH


@pytest.mark.parametrize(("local", "share"), [(256, 0.0), (1, 1.0), (4, 1.0), (12, 0.8), (8, 0.0)])
def test_the_share_of_instructions_that_single_work_items_have(local: int, share: float) -> None:
    """Of 12 work-items, 8 are a vector, and 4 run one by one: about 4 of 5 executions."""
    source = "__kernel void k(__global float *a) { a[get_global_id(0)] *= 2; }"
    counts = count(
        parse(source),
        "k",
        (96,) if local < 256 else (256,),
        (local,),
        [BufferArgument(4096)],
        machine=POCL,
    )
    assert counts.item_share == pytest.approx(share, abs=0.06)


def test_regions_between_barriers_have_shares_of_their_own() -> None:
    drawn = np.random.default_rng(3).integers(0, 2, 64 * ITEMS, np.int32)
    alone = work_of(counted(BRANCH, contents=drawn))
    behind = "__local float t[256]; t[get_local_id(0)] = f; barrier(CLK_LOCAL_MEM_FENCE);" + BRANCH
    counts = counted(behind, contents=drawn)
    assert work_of(counts).mispredictions == pytest.approx(alone.mispredictions)
    assert 0.5 < counts.item_share < 1.0
    before = "__local float t[256]; t[get_local_id(0)] = exp(f * i); barrier(CLK_LOCAL_MEM_FENCE);"
    vectors = counted(before + "if (a[i] > 0) out[i] = t[255 - get_local_id(0)];", contents=drawn)
    assert work_of(vectors).mispredictions == 0.0
    assert work_of(vectors).item_accesses == pytest.approx(ITEMS)


def test_barriers_in_loops_end_regions() -> None:
    """Halves of a group that add up: each step stores for a part of the lanes."""
    tree = """__local float t[256]; int l = get_local_id(0); t[l] = f * i;
        for (int j = 128; j > 0; j >>= 1) { barrier(CLK_LOCAL_MEM_FENCE); %s t[l] += t[l ^ j]; }"""
    masked = work_of(counted(tree % "if (l < j)"))
    assert work_of(counted(tree % "")).masked_stores == 0.0
    assert masked.masked_stores > 0.0


@pytest.mark.parametrize("family", PROCESSOR_COSTS)
def test_costs_are_found_again_in_probes_that_have_them(family: str) -> None:
    """Times are made of the counts with a known cost; the fit has to return it."""
    limits = replace(ProbeLimits.of(CPU.device, Effort.FULL), compute_units=2)
    device = replace(CPU.device, compute_units=2)
    model, counter = OVERLAP.for_device(CPU), WorkloadCounter(device)
    probes = []
    for probe in FAMILIES[family].probes(limits):
        assert isinstance(probe.work, Workload)
        demand = demand_of(counter.count(probe.work), model.costs.operations)
        number = PROCESSOR_COSTS[family][probe.series](demand)
        time_ns = 5000.0 + 7.0 * number / demand.units
        probes.append(MeasuredProbe(family, probe.series, probe.x, time_ns, demand))
    found = dict(processor_costs(probes, family))
    assert found.keys() == PROCESSOR_COSTS[family].keys()
    assert all(cost.value == pytest.approx(7.0) for cost in found.values())
    assert all(cost.family == family for cost in found.values())


def test_gpus_have_no_such_probes() -> None:
    limits = ProbeLimits.of(load_profile("nvidia-h200").device, Effort.FULL)
    assert not any(list(FAMILIES[name].probes(limits)) for name in ("items", "guards", "branches"))
