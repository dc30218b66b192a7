"""The energy model: what it is fitted to it finds again, and what it has not seen it predicts."""

import json
import shutil
import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cltrace
from cltrace.errors import ProfileError, UsageError
from cltrace.events.cost_names import CostName
from cltrace.events.workloads import Workload
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.power.energy import TraceEnergy, energy_of
from cltrace.power.model import (
    Caches,
    EnergyModel,
    EnergyWork,
    Example,
    Operations,
    fit_energies,
    group_of,
    model_of,
    work_of,
)
from cltrace.power.model.energy_classes import EnergyClass, Resource, parse_class
from cltrace.power.model.evaluation import (
    EvaluatedExample,
    count_examples,
    cross_validate,
    evaluate,
    transfer_energies,
)
from cltrace.power.model.rows import GROUPS
from cltrace.power.model.terms import compute_terms
from cltrace.power.model.traces import model_trace
from cltrace.power.points import PowerMeasurements, read_points, write_points
from cltrace.power.workloads import PowerSet, find_set, set_probes
from cltrace.profile import load_profile
from cltrace.suite.energy import Group
from cltrace.trace.reader import Trace
from tests.conftest import Runner

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-1.cltrace"
DATA = Path(__file__).parents[1] / "data"
H200 = load_profile("nvidia-h200")
FLOAT_ADD = CostName("float", "add")
FLOAT_DIVIDE = CostName("float", "divide")
FLOAT_MULTIPLY = CostName("float", "multiply")
FLOAT_MULTIPLY_ADD = CostName("float", "multiply-add")
DOUBLE_MULTIPLY_ADD = CostName("double", "multiply-add")
INT_ADD = CostName("int", "add")


def points(wanted: PowerSet) -> PowerMeasurements:
    return read_points(DATA / f"h200-power-{wanted}.json")


@pytest.fixture(scope="module")
def progress() -> dict[PowerSet, list[str]]:
    """The states that counting shows, by set."""
    return {wanted: [] for wanted in PowerSet}


@pytest.fixture(scope="module")
def examples(progress: dict[PowerSet, list[str]]) -> dict[PowerSet, list[Example]]:
    found = {}
    for wanted in PowerSet:
        states = progress[wanted]
        found[wanted], refused = count_examples(points(wanted), wanted, H200, states.append)
        assert not refused
    return found


@pytest.fixture(scope="module")
def mixture() -> Iterator[tuple[Trace, TraceEnergy]]:
    """A trace of an H200, and its energy."""
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        yield trace, energy_of(trace)


@pytest.mark.usefixtures("examples")
def test_counting_shows_its_progress(progress: dict[PowerSet, list[str]]) -> None:
    for wanted, states in progress.items():
        count = len(points(wanted).points)
        assert states == [f"{n} of {count} points" for n in range(count)]


def mape(some: Sequence[EvaluatedExample]) -> tuple[float, float]:
    return (
        statistics.fmean(abs(one.error) for one in some),
        statistics.fmean(abs(one.dynamic_error) for one in some),
    )


def frame_error(some: Sequence[EvaluatedExample]) -> float:
    """Of the dynamic energy of all launches, each done once."""
    predicted = sum((one.predicted_w - one.idle_w) * one.example.run_s for one in some)
    measured = sum((one.example.power_w - one.idle_w) * one.example.run_s for one in some)
    return predicted / measured - 1


def test_programs_that_were_left_out_are_predicted(examples: dict[PowerSet, list[Example]]) -> None:
    """9 % in total, 15 % of the dynamic part: real kernels by a model that has seen others only."""
    idle_w = points(PowerSet.CALIBRATION).idle_w
    found = cross_validate(examples[PowerSet.CALIBRATION], examples[PowerSet.SUITE], idle_w)
    assert len(found) == 62
    total, dynamic = mape(found)
    assert total < 0.09
    assert dynamic < 0.15


def test_the_image_program_is_predicted(examples: dict[PowerSet, list[Example]]) -> None:
    """Its dynamic energy within 10 %: nothing of it was fitted to."""
    found = evaluate(model_of(H200), examples[PowerSet.APPLICATION])
    for exponent in (22, 24):
        frame = [one for one in found if one.example.name.endswith(f"2^{exponent}")]
        assert len(frame) == 3
        assert abs(frame_error(frame)) < 0.10


def test_the_shipped_energies_are_those_of_the_recorded_points(
    examples: dict[PowerSet, list[Example]],
) -> None:
    seen = [*examples[PowerSet.CALIBRATION], *examples[PowerSet.SUITE]]
    again = fit_energies(seen, points(PowerSet.CALIBRATION).idle_w)
    shipped = model_of(H200)
    assert shipped.idle_w == pytest.approx(again.idle_w)
    assert shipped.lane_exponent == pytest.approx(again.lane_exponent)
    assert 0.2 < shipped.lane_exponent < 0.8
    for name, energy in again.energies_j.items():
        assert shipped.energies_j[name] == pytest.approx(energy, rel=1e-3, abs=1e-15)
    # Divisions cost more than products, doubles more than floats, memory more than caches.
    energies = shipped.energies_j
    assert energies[FLOAT_DIVIDE] > 3 * energies[FLOAT_MULTIPLY]
    assert energies[DOUBLE_MULTIPLY_ADD] > 2 * energies[FLOAT_MULTIPLY_ADD]
    assert energies[Resource.MEMORY] > energies[Resource.SHARED_CACHE] > 0


def test_energies_that_were_put_in_are_found_again() -> None:
    chooser = np.random.default_rng(3)
    truth: dict[EnergyClass, float] = {
        FLOAT_ADD: 2e-10,
        Resource.MEMORY: 2.5e-9,
        INT_ADD: 1.5e-10,
    }
    made = []
    for number in range(60):
        amounts = {name: float(chooser.uniform(0.1, 1) * 1e9) for name in truth}
        done = tuple(
            Operations(name, amount, float(chooser.choice([0.25, 0.5, 1.0])))
            for name, amount in amounts.items()
            if name is not Resource.MEMORY
        )
        work = EnergyWork(
            done, {Resource.MEMORY: amounts[Resource.MEMORY]}, float(chooser.integers(1, 132))
        )
        model = EnergyModel(120.0, 0.4, {**truth, Resource.ACTIVE_UNIT: 0.2}, {})
        power = model.energy_j(work, 0.01) / 0.01 * chooser.normal(1, 0.01)
        made.append(Example(f"{number}", f"p{number}", work, 0.01, power, False))
    found = fit_energies(made, 120.0)
    for name, energy in truth.items():
        assert found.energies_j[name] == pytest.approx(energy, abs=3 * found.errors_j[name])
        assert found.errors_j[name] < 0.2 * energy
    assert all(abs(one.error) < 0.05 for one in evaluate(found, made))
    assert found.lane_exponent == pytest.approx(0.4, abs=0.1)
    parts = found.parts_j(made[0].work, 0.01)
    assert sum(parts.values()) == pytest.approx(found.dynamic_j(made[0].work, 0.01))
    assert set(parts) <= set(GROUPS)


def test_full_warps_do_not_tell_what_lanes_are_worth() -> None:
    full = EnergyWork((Operations(FLOAT_ADD, 1e9, 1.0),), {}, 0.0)
    some = replace(full, operations=(Operations(FLOAT_ADD, 1e9, 0.25),))
    known = Example("a", "a", full, 0.01, 200.0, False)
    assert not full.is_partial
    assert some.is_partial
    assert fit_energies([known], 120.0).lane_exponent == 0.5
    # A quarter of the lanes for the energy of half a warp: the square root.
    others = [known, replace(known, work=some, power_w=160.0)]
    assert fit_energies(others, 120.0).lane_exponent == pytest.approx(0.5, abs=0.02)
    others[1] = replace(others[1], power_w=200.0)
    assert fit_energies(others, 120.0).lane_exponent == pytest.approx(0.0, abs=0.02)


def test_probes_of_lanes_have_so_many() -> None:
    counting, caches = WorkloadCounter(H200.device), Caches.of(H200)
    wanted = {"1": 1 / 32, "8": 8 / 32, "16": 16 / 32}
    seen = 0
    for probe in set_probes(PowerSet.CALIBRATION, H200.device):
        if probe.group != Group.LANES:
            continue
        work = probe.make(64)
        assert isinstance(work, Workload)
        name, _, rest = probe.name.partition(" on ")
        kind = "near cache" if name == "own cache read" else name
        rows = [
            one for one in work_of(counting.count(work), caches).operations if str(one.name) == kind
        ]
        most = max(rows, key=lambda one: one.warps)
        assert most.active == pytest.approx(wanted[rest.partition(" ")[0]], rel=0.3), probe.name
        seen += 1
    assert seen == 24


def test_every_class_has_a_row() -> None:
    assert {group_of(name) for name in model_of(H200).energies_j} <= set(GROUPS)
    assert group_of(parse_class("int divide")) == "integer division"
    assert group_of(parse_class("long logic")) == "integer"
    assert group_of(parse_class("double exp")) == "double special"
    assert group_of(parse_class("float native_sin")) == "special"
    assert group_of(parse_class("int to float and back")) == "other"


def test_probes_are_no_programs() -> None:
    """What a model is calibrated on is not what it is evaluated on."""
    by_set = {wanted: {one.name for one in set_probes(wanted, H200.device)} for wanted in PowerSet}
    sources = {
        wanted: {
            work.source
            for one in set_probes(wanted, H200.device)
            if hasattr(work := one.make(16), "source")
        }
        for wanted in PowerSet
    }
    for one in PowerSet:
        for other in PowerSet:
            if one is not other:
                assert not by_set[one] & by_set[other]
                assert not sources[one] & sources[other]


def test_transfers_have_an_energy_a_byte() -> None:
    found = transfer_energies(points(PowerSet.CALIBRATION))
    assert set(found) == {
        "byte pageable to device", "byte pageable from device", "byte pinned to device",
        "byte pinned from device",
    }  # fmt: skip
    assert all(1e-11 < one < 1e-9 for one in found.values())


def test_points_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = points(PowerSet.SUITE)
    write_points(found, tmp_path / "again.json")
    assert read_points(tmp_path / "again.json") == found
    for text in ("", "[]", "{}", '{"cltrace_power_points": 9}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ProfileError):
            read_points(tmp_path / "bad.json")
    stored = json.loads((tmp_path / "again.json").read_text())
    stored["points"][0][6] = -1.0
    (tmp_path / "bad.json").write_text(json.dumps(stored))
    with pytest.raises(ProfileError, match="is no power"):
        read_points(tmp_path / "bad.json")


def test_points_of_another_device_or_set_are_refused() -> None:
    found = points(PowerSet.APPLICATION)
    other = replace(found, device=replace(found.device, name="another"))
    with pytest.raises(ProfileError, match="of another, not of NVIDIA H200"):
        count_examples(other, PowerSet.APPLICATION, H200)
    assert find_set([found.points[0].name], found.device) is PowerSet.APPLICATION
    with pytest.raises(UsageError, match="no set of this cltrace has 'tea'"):
        find_set(["tea"], found.device)
    with pytest.raises(ProfileError, match="has no energies"):
        model_of(replace(H200, parameters={}))
    with pytest.raises(ValueError, match="nothing to fit"):
        fit_energies([], 100.0)


def test_a_real_trace_is_held_against_the_model(mixture: tuple[Trace, TraceEnergy]) -> None:
    told = model_trace(*mixture, H200)
    found = {one.line.load.name: one for one in told.lines}
    assert set(found) == {"chain", "whole", "stream", "gather", "double_chain"}
    for name, bound in (("whole", 0.12), ("double_chain", 0.16)):
        assert found[name].quotient == pytest.approx(1.0, abs=bound)
    # Nothing was measured of these, and something is predicted.
    for name in ("stream", "gather"):
        assert found[name].quotient is None
        energy = found[name].energy_j
        assert energy is not None
        assert energy > told.model.idle_w * found[name].line.load.seconds


def test_the_energy_of_a_run_is_the_sum_of_its_terms(
    mixture: tuple[Trace, TraceEnergy],
) -> None:
    trace, found = mixture
    cpu, gpu, transfer, total = model_trace(trace, found, H200).terms
    assert [one.name for one in (cpu, gpu, transfer, total)] == [
        "E_CPU", "E_GPU", "E_transfer", "E_total",
    ]  # fmt: skip
    # Nothing measures that machine's processor: it is not 0, and the sum says so.
    assert cpu.measured_j is None
    assert cpu.predicted_j is None
    assert cpu.why == "no sensor"
    assert total.why == "without E_CPU"
    assert gpu.measured_j is not None
    assert transfer.measured_j is not None
    assert gpu.measured_j + transfer.measured_j == pytest.approx(found.total_j)
    assert total.measured_j == pytest.approx(found.total_j)
    for one in (gpu, transfer, total):
        assert one.quotient == pytest.approx(1.0, abs=0.05)

    (board,) = found.sources
    package = replace(board, component="CPU", devices=(), attribution=None, energy_j=500.0)
    with_cpu = replace(found, sources=(board, package))
    cpu, *_, total = model_trace(trace, with_cpu, H200).terms
    assert cpu.measured_j == 500.0
    assert cpu.predicted_j is None
    assert cpu.why == "no model of it"
    assert total.measured_j == pytest.approx(found.total_j + 500.0)
    assert total.predicted_j is None
    assert total.quotient is None
    assert total.why == ""
    assert total.within_j is None

    blind = replace(found, sources=())
    assert {one.measured_j for one in compute_terms(trace, blind, H200, 1.0)} == {None}
    assert {one.predicted_j for one in compute_terms(trace, blind, H200, 1.0)} == {None}


def test_what_readings_do_not_cover_is_not_predicted(tmp_path: Path) -> None:
    half = tmp_path / "half.cltrace"
    shutil.copy(DATA / "h200-mixture.cltrace", half)
    with sqlite3.connect(half) as database:
        (middle,) = database.execute("SELECT avg(host_ns) FROM power_sample").fetchone()
        database.execute("DELETE FROM power_sample WHERE host_ns > ?", (int(middle),))
    database.close()
    with cltrace.load(half) as trace:
        _, gpu, transfer, total = model_trace(trace, energy_of(trace), H200).terms
    for one in (gpu, transfer, total):
        assert one.quotient == pytest.approx(1.0, abs=0.06)
        assert one.within_j is not None
        assert one.measured_j is not None
        assert 0 < one.within_j < 0.05 * one.measured_j


def test_the_energy_of_a_processor_is_its_own_term(run: Runner, tmp_path: Path) -> None:
    target = tmp_path / "sim.cltrace"
    words = ("--reader", "sim:scope=cpu,period_s=0.001,window_s=0.001", "-o", target)
    assert run("power", "import", GOLDEN, *words).status == 0
    with cltrace.load(target) as trace:
        found = energy_of(trace)
        name = trace.rows("SELECT name FROM v_device")[0][0]
        mine = replace(H200, device=replace(H200.device, name=name, kind="cpu"))
        cpu, gpu, transfer, total = compute_terms(trace, found, mine, 1.0)
    assert found.sources[0].component == "CPU"
    assert (gpu.measured_j, gpu.why) == (None, "no sensor")
    assert cpu.measured_j is not None
    assert cpu.measured_j + (transfer.measured_j or 0.0) == pytest.approx(found.total_j)
    assert total.measured_j == pytest.approx(found.total_j)
    if transfer.measured_j is None:
        assert cpu.why == "includes E_transfer, which is not distinguishable"


def test_a_term_without_a_model_of_all_of_it_is_unresolved(
    mixture: tuple[Trace, TraceEnergy],
) -> None:
    energies = H200.parameters["energy"]
    known = {name: one for name, one in energies.items() if one.family != "transfers"}
    poorer = replace(H200, parameters={**H200.parameters, "energy": known})
    trace, found = mixture
    _, gpu, transfer, total = compute_terms(trace, found, poorer, None)
    assert gpu.measured_j is not None
    assert (gpu.predicted_j, gpu.why) == (None, "some of its kernels are not predicted")
    assert transfer.predicted_j is None
    assert transfer.why.startswith("no model of commands of the kind ")
    assert total.measured_j == pytest.approx(found.total_j)
    assert total.predicted_j is None


def test_the_verb_fits_and_predicts(run: Runner, tmp_path: Path) -> None:
    words: list[str | Path] = []
    for wanted in (PowerSet.CALIBRATION, PowerSet.SUITE):
        some, path = points(wanted), tmp_path / f"{wanted}.json"
        write_points(replace(some, points=some.points[::3]), path)
        words += ["--from", path]
    profile = tmp_path / "h200.json"
    assert run("power", "calibrate", *words, "--profile", "nvidia-h200", "-o", profile).status == 0
    done = run("power", "predict", DATA / "h200-mixture.cltrace", "--profile", profile)
    assert done.status == 0
    assert "double_chain" in done.stdout
    assert "E_total = E_CPU + E_GPU + E_transfer" in done.stdout
    assert "without E_CPU" in done.stdout
    some, application = points(PowerSet.APPLICATION), tmp_path / "application.json"
    write_points(replace(some, points=some.points[:2]), application)
    predicting = ("power", "predict", "--points", application, "--profile", profile)
    rows = json.loads(run(*predicting, "--format", "json").stdout)["application"]
    assert len(rows) == 2
    few = run(*predicting, "--top", "1", "--format", "json")
    assert json.loads(few.stdout)["application"] == rows[:1]
    both = run("power", "predict", "x.cltrace", "--points", application)
    assert both.status == 2
    assert "not both" in both.stderr
