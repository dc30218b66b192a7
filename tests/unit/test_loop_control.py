"""Control of loops: what NVIDIA's compiler leaves of it per trip, and what it adds per entry.

No cost is fitted on the measured times.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.loop_control import GROUP, ITEMS, READ_ITEMS, sources, trips_of
from cltrace.kernels import BufferArgument, CostClass, KernelCounts, Machine, count, parse
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models.overlap.model import OVERLAP
from cltrace.profile import load_profile

H200 = load_profile("nvidia-h200")
MEASURED_NS: Mapping[str, Sequence[float]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200-loop-control.json").read_text(encoding="utf-8")
)["ns"]
TRIPS = 256


def counted(name: str, inner_trips: int) -> KernelCounts:
    outer_trips, _ = trips_of(name)
    arguments = (
        BufferArgument(4 * ITEMS),
        BufferArgument(4 * READ_ITEMS),
        np.float32(0.99),
        np.int32(outer_trips),
        np.int32(inner_trips),
    )
    machine = machine_of(H200.device)
    return count(parse(sources()[name]), "f", (ITEMS,), (GROUP,), arguments, machine=machine)


def branches(loop: str, machine: Machine) -> float:
    """The branches of a work-item in a loop of `TRIPS` trips, which a compiler leaves."""
    found = []
    for text in (loop, ""):
        source = (
            f"kernel void f(global float *to, float x, int n) {{ float s = x; {text} to[0] = s; }}"
        )
        arguments = (BufferArgument(4), np.float32(1), np.int32(TRIPS))
        counts = count(parse(source), "f", (64,), (64,), arguments, machine=machine)
        found.append(
            sum(
                each.warp_total / counts.warps
                for each in counts.folded
                if each.cost is CostClass.BRANCH
            )
        )
    return found[0] - found[1]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("k < n", 1, TRIPS / 16 + 23),
        ("k < n", 4, TRIPS / 16 + 23),
        ("k < n", 6, TRIPS / 4 + 14),
        ("k < 1024", 1, 8),
        ("k < 1024", 4, 32),
        ("k < 1024", 40, 256),
        ("k < 20", 4, 0),
    ],
)
def test_control_is_shared_by_the_copies_of_a_body(head: str, body: int, expected: float) -> None:
    """As NVIDIA's assembler leaves it: by 16 where a trip is short, by 4, or as many as fit."""
    operations = "".join(f"s = fma(s, x, {k}.5f);" for k in range(body))
    loop = f"for (int k = 0; {head}; k++) {{ {operations} }}"
    assert branches(loop, Machine()) == pytest.approx(expected, abs=1.5)


def test_a_cpus_compiler_unrolls_by_four() -> None:
    loop = "for (int k = 0; k < n; k++) s = fma(s, x, 0.5f);"
    assert branches(loop, Machine.of_cpu(8)) == pytest.approx(TRIPS / 4, abs=1.5)


def test_each_entry_of_an_inner_loop_costs_its_choice_of_a_body() -> None:
    inner = "for (int k = 0; k < n / 64; k++) s = fma(s, x, 0.5f);"
    loop = f"for (int j = 0; j < n; j++) {{ {inner} s *= x; }}"
    per_entry = branches(loop, Machine()) / TRIPS
    assert 23 < per_entry < 27
    known = loop.replace("n / 64", "4")
    assert branches(known, Machine()) / TRIPS < 1


@pytest.mark.parametrize(
    "inner",
    [
        "for (int k = 0; k < n / 512; k++) s = fma(s, x, 0.5f);",
        "if (s > 9e9f) for (int k = 0; k < n; k++) s = fma(s, x, 0.5f);",
    ],
)
def test_a_loop_that_is_not_entered_costs_no_choice(inner: str) -> None:
    loop = f"for (int j = 0; j < n; j++) {{ {inner} s *= x; }}"
    assert branches(loop, Machine()) / TRIPS < 3


@pytest.mark.parametrize("name", sorted(MEASURED_NS))
def test_loops_take_as_long_as_measured(name: str) -> None:
    model, (_, inner) = OVERLAP.for_device(H200), trips_of(name)
    quotients = [
        model.predict(counted(name, trips)).duration_ns / measured_ns
        for trips, measured_ns in zip(inner, MEASURED_NS[name], strict=True)
    ]
    assert 0.85 < np.exp(np.mean(np.log(quotients))) < 1.15
    assert min(quotients) > 0.75
    assert max(quotients) < 1.4
