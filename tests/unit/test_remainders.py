"""Remainders by numbers that a loop doubles: masks in clang's code, divisions in a GPU driver's."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from cltrace.kernels import (
    BufferArgument,
    CostClass,
    KernelCounts,
    LocalArgument,
    Machine,
    count,
    parse,
)
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models.overlap import OVERLAP
from cltrace.profile import load_profile
from tests.kernels.inside import inside_program

DATA = Path(__file__).parents[1] / "data" / "h200-sums.json"
REDUCE = """
__kernel void reduce(__global int *data, __local int *sums) {
    unsigned l = get_local_id(0);
    sums[l] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (unsigned s = 1; s < get_local_size(0); s *= 2) {
        if (CONDITION) sums[l] += sums[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) data[get_group_id(0)] = sums[0];
}
"""


def counts_of(condition: str, machine: Machine | None = None) -> KernelCounts:
    program = parse(REDUCE.replace("CONDITION", condition))
    arguments = (BufferArgument(1 << 20), LocalArgument(1024))
    return count(program, "reduce", (1 << 16,), (256,), arguments, machine=machine or Machine())


def divisions(counts: KernelCounts) -> float:
    of_launch = sum(each.total for each in counts.folded if each.cost is CostClass.INT_DIVIDE)
    return of_launch / counts.work_items


@pytest.mark.parametrize(
    ("condition", "per_item"),
    [
        ("l % (2 * s) == 0", 8),
        ("(l % (2 * s)) == 0 && l < 200", 8),
        ("(l & (2 * s - 1)) == 0", 0),
        ("l % 64 == 0", 0),
    ],
    ids=["variable", "with more", "mask", "literal"],
)
def test_remainders_of_the_source_are_divisions_of_a_gpu(condition: str, per_item: int) -> None:
    assert divisions(counts_of(condition)) == per_item


@pytest.mark.parametrize(
    ("condition", "per_item"), [("l % (2 * s) == 0", 8), ("(l & (2 * s - 1)) == 0", 0)]
)
def test_remainders_of_signed_counters_are_divisions_too(condition: str, per_item: int) -> None:
    signed = REDUCE.replace("unsigned l", "const int l").replace("unsigned s", "int s")
    program = parse(signed.replace("CONDITION", condition))
    counts = count(
        program, "reduce", (1 << 16,), (256,), (BufferArgument(1 << 20), LocalArgument(1024))
    )
    assert divisions(counts) == per_item


def test_a_cpus_compiler_makes_masks_of_them() -> None:
    assert divisions(counts_of("l % (2 * s) == 0", Machine.of_cpu(4, 8))) == 0


def test_what_work_items_do_is_the_same() -> None:
    """The sums decide branches here, so the counts of branches compare the values."""
    by_mask, by_remainder = (counts_of(f"(l {way}) == 0") for way in ("& (2 * s - 1)", "% (2 * s)"))
    assert [(each.warps, each.divergent_warps, each.taken) for each in by_mask.branches] == [
        (each.warps, each.divergent_warps, each.taken) for each in by_remainder.branches
    ]


def test_sums_of_every_kind_are_predicted_on_an_h200() -> None:
    measured_ns = defaultdict[tuple[str, int], list[float]](list)
    for row in json.loads(DATA.read_text())["rows"]:
        measured_ns[row["kernel"], row["group"]].append(row["median_ns"])
    profile = load_profile("nvidia-h200")
    model, items = OVERLAP.for_device(profile), 1 << 26
    for (kernel, group), times_ns in measured_ns.items():
        arguments = (BufferArgument(4 * items), BufferArgument(4 * items // group), items)
        counts = count(
            inside_program(group),
            kernel,
            (items,),
            (group,),
            arguments,
            machine=machine_of(profile.device),
        )
        assert model.predict(counts).duration_ns == pytest.approx(median(times_ns), rel=0.15)
