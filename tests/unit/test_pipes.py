"""Pipes of a GPU's compute unit: which operation takes which, and how far they overlap."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from cltrace.events.cost_names import CostName
from cltrace.kernels import BufferArgument, CostClass, count, parse
from cltrace.kernels.costs.operation import OF_INTS, TO_FLOAT, AddressForm
from cltrace.kernels.counts.records import FoldedCount
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand import Pipe, cost_names, demand_of, pipe_of
from cltrace.predict.models.overlap.costs import Costs
from cltrace.predict.models.overlap.parts import overlap
from cltrace.predict.models.overlap.pipe_overlap import MIXTURES, pipe_overlap
from cltrace.predict.models.overlap.pipe_times import pipe_times
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.profile import read_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits

PROFILES = Path(__file__).parents[2] / "cltrace" / "profiles"
H200 = PROFILES / "nvidia-h200.json"
CPU = PROFILES / "pocl-cpu.json"
LAUNCH_NS = 5_000.0
SOME = ("float add and int logic", "int multiply and int logic", "float multiply and int multiply")
MEASURED = frozenset(
    map(CostName.parse, ("int add", "int logic", "int multiply", "long multiply-add of ints"))
)
OLDER = frozenset(map(CostName.parse, ("int add", "int multiply", "int to float and back")))


def row(kind: str, cost: CostClass, function: str = "") -> FoldedCount:
    """Return a row of one operation."""
    return FoldedCount(kind, cost, function, 1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("operation", "names"),
    [
        (row("pointer", CostClass.ADDRESS, AddressForm.PRODUCT), ["long multiply-add of ints"]),
        (row("pointer", CostClass.ADDRESS, AddressForm.HALVES), ["int logic"] * 2),
        (row("pointer", CostClass.ADDRESS, AddressForm.NEAR), []),
        (row("pointer", CostClass.ADDRESS), ["int add"]),
        (row("long", CostClass.INT_MULTIPLY, OF_INTS), ["long multiply-add of ints"]),
        (row("int", CostClass.INT_LOGIC), ["int logic"]),
        (row("long", CostClass.INT_LOGIC), ["int logic"] * 2),
        (row("float", CostClass.SELECT), ["int logic"]),
        (row("float", CostClass.CONVERT, TO_FLOAT), ["int logic"]),
    ],
)
def test_operations_have_the_names_of_measured_series(
    operation: FoldedCount, names: Sequence[str]
) -> None:
    assert [str(name) for name in cost_names(operation, MEASURED)] == names


@pytest.mark.parametrize(
    ("operation", "names"),
    [
        (row("pointer", CostClass.ADDRESS, AddressForm.PRODUCT), ["int add"]),
        (row("long", CostClass.INT_MULTIPLY, OF_INTS), ["int multiply"]),
        (row("int", CostClass.INT_LOGIC), ["int add"]),
        (row("float", CostClass.CONVERT, TO_FLOAT), ["int to float and back"]),
    ],
)
def test_an_older_calibration_counts_them_as_it_measured_them(
    operation: FoldedCount, names: Sequence[str]
) -> None:
    assert [str(name) for name in cost_names(operation, OLDER)] == names


@pytest.mark.parametrize(
    ("name", "pipe"),
    [
        ("float multiply-add", Pipe.ISSUE),
        ("int add", Pipe.ISSUE),
        ("int logic", Pipe.LOGIC),
        ("float compare and select", Pipe.LOGIC),
        ("long multiply-add of ints", Pipe.MULTIPLY),
        ("double add", Pipe.DOUBLE),
        ("float native_rsqrt", Pipe.SPECIAL),
    ],
)
def test_each_operation_has_a_pipe(name: str, pipe: Pipe) -> None:
    assert pipe_of(CostName.parse(name)) is pipe


@cache
def mixtures() -> tuple[tuple[MeasuredProbe, ...], Costs]:
    """Return probes of mixtures without times, and the costs of an H200."""
    profile = read_profile(H200)
    costs = Costs.of(profile.parameters["overlap"])
    counter = WorkloadCounter(profile.device)
    limits = ProbeLimits.of(profile.device, Effort.FULL)
    probes = tuple(
        MeasuredProbe(
            MIXTURES,
            probe.series,
            float(probe.x),
            0.0,
            demand_of(counter.count(probe.launch), costs.operations),
        )
        for probe in FAMILIES[MIXTURES].probes(limits)
        if probe.series in SOME and probe.launch is not None
    )
    return probes, costs


@pytest.mark.parametrize("exponent", [1.5, 4.0, 10.0])
def test_the_exponent_comes_back(exponent: float) -> None:
    probes, costs = mixtures()
    timed = [
        replace(
            probe,
            time_ns=LAUNCH_NS + overlap(pipe_times(probe.demand, costs).values(), exponent),
        )
        for probe in probes
    ]
    found = dict(pipe_overlap(timed, costs))
    assert found["p pipes"].value == pytest.approx(exponent, rel=0.02)
    assert found["p pipes"].family == MIXTURES


def test_few_series_say_nothing() -> None:
    probes, costs = mixtures()
    few = [replace(probe, time_ns=probe.x) for probe in probes if probe.series == SOME[0]]
    assert dict(pipe_overlap(few, costs)) == {}


def test_a_cpu_has_no_mixtures() -> None:
    limits = ProbeLimits.of(read_profile(CPU).device, Effort.FULL)
    assert not list(FAMILIES[MIXTURES].probes(limits))


def test_each_pair_of_a_mixture_has_two_pipes() -> None:
    probes, _ = mixtures()
    for probe in probes:
        assert len({work.pipe for work in probe.demand.work if work.warp_total > 1e3}) >= 2


@pytest.mark.parametrize(
    ("function", "instructions"),
    [("native_exp(x)", 5), ("exp(x)", 8), ("(x + 3) / x", 8)],
)
def test_a_function_takes_the_issue_slots_of_its_instructions(
    function: str, instructions: int
) -> None:
    """The numbers are those of NVIDIA's assembler: one of each function is for its own pipe."""
    profile = read_profile(H200)
    costs = Costs.of(profile.parameters["overlap"])
    source = (
        "__kernel void one(__global float *a) {{ size_t i = get_global_id(0); float x = a[i]; {} }}"
    )
    slots = []
    for body in (f"a[i] = {function};", "a[i] = x + 3;"):
        counts = count(
            parse(source.format(body)), "one", (1 << 20,), (256,), [BufferArgument(4 << 20)]
        )
        demand = demand_of(counts, costs.operations)
        warps = demand.warps * demand.busiest_share / demand.units
        slots.append(pipe_times(demand, costs)[Pipe.ISSUE] / warps / costs["slot"])
    rest = 0 if "+" in function else 1
    assert slots[0] - slots[1] + rest == pytest.approx(instructions, rel=0.15)
