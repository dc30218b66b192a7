"""Energy is told from readings as it was put into them, and never more certain than it is."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cltrace
from cltrace.events.power import Quantity, Scope
from cltrace.power.activity_shares import ActiveTime, SensorResponse
from cltrace.power.attribution import attribute
from cltrace.power.channels import ChannelReadings, MeteredDevice, find_outermost
from cltrace.power.design import AttributionInput
from cltrace.power.energy import EnergySource, TraceEnergy, energy_of, fill_from_calibration
from cltrace.power.load_classes import Load, LoadKind, merge_loads, shared_seconds
from cltrace.power.mean_power import NO_OBSERVATIONS, compute_observations
from cltrace.power.readers.sim import GroundTruth, SimulationPlan, simulate_readings
from cltrace.power.results import Attribution, EnergyLine, Tier
from cltrace.power.solving import solve
from cltrace.power.without_scipy import nnls, student_t_95
from tests.channels import power_channel

DATA = Path(__file__).parents[1] / "data"
WATTS = {"k0": 375.0, "k1": 225.0, "k2": 125.0}
COLUMNS = ("time_ns", "within_ns", "raw", "flags")
Floats = NDArray[np.float64]


def work(seed: int, kernel_s: float, *, queues: int = 1, total_s: float = 30.0) -> tuple[Load, ...]:
    """Three kernels in random order with pauses; on several queues they overlap."""
    chooser = np.random.default_rng(seed)
    found: list[list[tuple[float, float]]] = [[], [], []]
    for _ in range(queues):
        now = 0.0
        while now < total_s:
            which = int(chooser.integers(3))
            length = kernel_s * (0.5 + 0.5 * which) * chooser.uniform(0.9, 1.1)
            found[which].append((now, now + length))
            now += length + chooser.exponential(kernel_s)
    return tuple(
        Load(LoadKind.KERNEL, (f"k{which}",), "", 1, *np.array(sorted(some)).T)
        for which, some in enumerate(found)
    )


def told(loads: tuple[Load, ...], plan: SimulationPlan) -> tuple[Attribution, GroundTruth]:
    """What is made of readings by a plan, and the truth."""
    channel, samples, truth = simulate_readings(plan, loads, WATTS)
    table = np.array([(one.time_ns, one.raw) for one in samples], np.int64)
    zeros = np.zeros(len(table), np.int64)
    recorded = channel.to_record(1, "here", "sim")
    seen = compute_observations(recorded, table[:, 0], table[:, 1], zeros, zeros)
    is_stated = recorded.lag_s is not None or recorded.quantity == Quantity.ENERGY
    found = attribute(AttributionInput(seen, loads, SensorResponse(), is_stated, None))
    assert found is not None
    return found, truth


def errors(found: Attribution, truth: GroundTruth) -> list[tuple[float, bool]]:
    """By class: the relative error of its energy, and whether it is within what is stated."""
    result = []
    by_name = {line.load.name: line for line in found.lines}
    for load, dynamic, static in zip(truth.loads, truth.dynamic_j, truth.static_j, strict=True):
        line = by_name[load.name]
        assert line.energy_j is not None
        assert line.within_j is not None
        off = line.energy_j - dynamic - static
        result.append((abs(off) / (dynamic + static), abs(off) <= line.within_j))
    return result


HARD = SimulationPlan(spread=0.1, ramp=0.08, delay_s=0.013)


@pytest.mark.parametrize(
    ("plan", "most"),
    [
        (SimulationPlan(), 0.05),
        (SimulationPlan(period_s=0.1, window_s=0.1), 0.10),
        (SimulationPlan(quantity="energy", period_s=0.1), 0.10),
        (replace(HARD, lag_s=0.0123), 0.05),
        (replace(HARD, period_s=0.1, window_s=0.1), 0.10),
        (replace(HARD, quantity="energy", period_s=0.1), 0.10),
    ],
    ids=["ring", "slow", "counter", "ring, hard", "slow, hard", "counter, hard"],
)
@pytest.mark.parametrize(
    "kernel_s",
    [0.001, *(pytest.param(between, marks=pytest.mark.slow) for between in (0.005, 0.02)), 0.1],
)
def test_energy_is_told_of_kernels_shorter_than_the_period(
    plan: SimulationPlan, most: float, kernel_s: float
) -> None:
    seen: list[tuple[float, bool]] = []
    for seed in range(1, 5):
        found, truth = told(work(seed, kernel_s), replace(plan, seed=seed))
        seen += errors(found, truth)
        late = found.alignment.response.delay_s + found.alignment.response.lag_s
        assert found.alignment.is_measured
        assert abs(late - plan.delay_s - plan.lag_s) < 0.002
        assert abs(found.balance.unattributed_j) < 0.02 * found.balance.measured_j
    assert max(error for error, _ in seen) < most
    # Of 12 classes one may be out by chance: the statement is 95 %.
    assert sum(not is_within for _, is_within in seen) <= 2


@pytest.mark.parametrize("period_s", [0.02, 0.1])
def test_energy_is_told_of_overlapping_queues(period_s: float) -> None:
    plan = SimulationPlan(period_s=period_s, window_s=period_s, spread=0.1)
    for seed in (1, 2, 3):
        found, truth = told(work(seed, 0.005, queues=2), replace(plan, seed=seed))
        assert max(error for error, _ in errors(found, truth)) < 0.03


def test_uncertainty_grows_with_what_is_uncertain() -> None:
    plain, _ = told(work(1, 0.005), SimulationPlan())
    hard, _ = told(work(1, 0.005), replace(HARD, lag_s=0.0123))
    for easy, difficult in zip(plain.lines, hard.lines, strict=True):
        assert easy.within_j
        assert difficult.within_j
        assert difficult.within_j > 3 * easy.within_j


def test_a_balance_adds_up() -> None:
    plan = SimulationPlan(tail_w=60.0, tail_s=0.3)
    loads = work(3, 0.05, total_s=10)
    apart = tuple(
        replace(one, start_s=one.start_s * 4, end_s=one.start_s * 4 + 0.1) for one in loads
    )
    found, truth = told(apart, plan)
    balance = found.balance
    parts = (
        balance.kernels_j, balance.transfers_j, balance.unresolved_j, balance.tail_j, balance.idle_j,
        balance.unattributed_j,
    )  # fmt: skip
    assert sum(parts) == pytest.approx(balance.measured_j)
    assert min(parts[:4]) >= 0
    assert balance.tail_j == pytest.approx(truth.tail_j, rel=0.1)
    assert balance.tail_s == 0.3
    assert balance.idle_w == pytest.approx(75.0, abs=1.0)
    assert balance.measured_j == pytest.approx(truth.total_j, rel=0.02)


def test_energy_is_additive_over_kernels() -> None:
    """Two classes that draw the same have, as one, the energy of both."""
    alike = {"k0": 375.0, "k1": 200.0, "k2": 200.0}
    loads = work(2, 0.005)
    first, *others = sorted(loads, key=lambda one: one.name)
    merged = (first, merge_loads(others, ("rest",)))
    channel, samples, _ = simulate_readings(SimulationPlan(), loads, alike)
    table = np.array([(one.time_ns, one.raw) for one in samples], np.int64)
    zeros = np.zeros(len(table), np.int64)
    recorded = channel.to_record(1, "h", "sim")
    seen = compute_observations(recorded, table[:, 0], table[:, 1], zeros, zeros)
    energies = []
    for some in (loads, merged):
        found = attribute(AttributionInput(seen, some, SensorResponse(), True, None))
        assert found is not None
        energies.append({line.load.name: line.energy_j or 0.0 for line in found.lines})
    apart, as_one = energies
    assert apart["k0"] == pytest.approx(as_one["k0"], rel=0.002)
    assert apart["k1"] + apart["k2"] == pytest.approx(as_one["rest"], rel=0.002)


def test_what_always_runs_together_is_not_told_apart() -> None:
    base = np.arange(0.0, 20.0, 0.0004)
    pair = (
        Load(LoadKind.KERNEL, ("k0",), "", 1, base, base + 0.0001),
        Load(LoadKind.KERNEL, ("k1",), "", 1, base + 0.0001, base + 0.0002),
    )
    found, truth = told(pair, SimulationPlan(spread=0.1))
    assert sorted(found.lines[0].load.names) == ["k0", "k1"]
    assert len(found.lines) == 1
    whole = sum(truth.dynamic_j) + sum(truth.static_j)
    assert found.lines[0].energy_j == pytest.approx(whole, rel=0.05)


def test_too_little_is_unresolved_and_never_zero() -> None:
    loads = (
        *work(1, 0.02),
        Load(LoadKind.TRANSFER, ("write",), "", 1, np.array([3.0]), np.array([3.001])),
    )
    found, _ = told(loads, SimulationPlan())
    line = next(one for one in found.lines if one.load.name == "write")
    assert line.tier is Tier.UNRESOLVED
    assert line.energy_j is None
    assert line.power_w is None
    assert "readings" in line.why or "distinguishable" in line.why


def test_what_ran_for_no_time_to_speak_of_explains_nothing() -> None:
    """Ten launches of 10 µs could draw any power, and take all that others drew: they are not asked."""
    loads = work(4, 0.02)
    start = loads[0].start_s[:10]
    tiny = Load(LoadKind.TRANSFER, ("write",), "", 1, start, start + 1e-5)
    channel, samples, truth = simulate_readings(replace(HARD, seed=4), loads, WATTS)
    table = np.array([(one.time_ns, one.raw) for one in samples], np.int64)
    zeros = np.zeros(len(table), np.int64)
    seen = compute_observations(
        channel.to_record(1, "here", "sim"), table[:, 0], table[:, 1], zeros, zeros
    )
    found = attribute(AttributionInput(seen, (*loads, tiny), SensorResponse(), True, None))
    assert found is not None
    assert max(error for error, _ in errors(found, truth)) < 0.05
    last = found.lines[-1]
    assert last.load.name == "write"
    assert last.tier == Tier.UNRESOLVED
    assert last.energy_j is None
    assert last.coverage == pytest.approx(1.0)
    assert found.balance.transfers_j == 0.0
    assert found.balance.unresolved_j == 0.0


def test_long_stretches_are_measured_directly() -> None:
    start = np.arange(0.0, 20.0, 2.0)
    found, truth = told(
        (Load(LoadKind.KERNEL, ("k0",), "", 1, start, start + 1.0),), SimulationPlan(spread=0.2)
    )
    assert found.lines[0].tier is Tier.DIRECT
    assert found.lines[0].energy_j == pytest.approx(
        truth.dynamic_j[0] + truth.static_j[0], rel=0.01
    )


def test_few_readings_tell_nothing() -> None:
    channel = power_channel()
    times = np.arange(4) * 10**9
    seen = compute_observations(
        channel, times, np.full(4, 50), np.zeros(4, np.int64), np.zeros(4, np.int64)
    )
    assert attribute(AttributionInput(seen, work(1, 0.1), SensorResponse(), False, None)) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(8, 40))
def test_non_negative_least_squares_are_those_of_scipy(seed: int, columns: int, rows: int) -> None:
    from scipy import optimize  # noqa: PLC0415 - slow to load

    chooser = np.random.default_rng(seed)
    matrix, wanted = chooser.normal(size=(rows, columns)), chooser.normal(size=rows)
    found = nnls(matrix, wanted)
    assert (found >= 0).all()
    best = float(np.linalg.norm(matrix @ optimize.nnls(matrix, wanted)[0] - wanted))
    assert np.linalg.norm(matrix @ found - wanted) == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_standard_errors_are_those_of_the_textbook_for_independent_errors() -> None:
    chooser = np.random.default_rng(5)
    matrix = np.stack([np.ones(4000), chooser.normal(size=4000)], axis=1)
    wanted = matrix @ [3.0, 2.0] + chooser.normal(size=4000)
    found = solve(matrix, wanted, np.ones(4000), 5)
    assert found.standard_error == pytest.approx([4000**-0.5] * 2, rel=0.15)
    assert student_t_95(10) == pytest.approx(2.228, abs=0.005)
    assert student_t_95(1000) == pytest.approx(1.962, abs=0.002)


def intervals(draw: st.DrawFn) -> tuple[Floats, Floats]:
    start = np.array(draw(st.lists(st.floats(0, 10), min_size=1, max_size=12)))
    length = np.array(draw(st.lists(st.floats(0, 3), min_size=len(start), max_size=len(start))))
    return start, start + length


@given(st.composite(intervals)())
def test_time_of_intervals_is_their_sum_and_is_shared_out_whole(
    found: tuple[Floats, Floats],
) -> None:
    start, end = found
    busy = ActiveTime.of(start, end)
    assert busy.seconds == pytest.approx(float((end - start).sum()), abs=1e-9)
    half = Load(LoadKind.KERNEL, ("a",), "", 1, start[::2], end[::2])
    rest = Load(LoadKind.KERNEL, ("b",), "", 1, start[1::2], end[1::2])
    shared = shared_seconds([half, rest])
    grid = np.sort(np.unique(np.concatenate([start, end])))
    covered = sum(b - a for a, b in itertools.pairwise(grid) if ((start <= a) & (end >= b)).any())
    assert sum(shared) == pytest.approx(covered, abs=1e-9)


def test_a_slow_sensor_sees_what_was() -> None:
    """A response moves and smears, and loses nothing."""
    busy = ActiveTime.of(np.array([1.0]), np.array([1.3]))
    ends = np.arange(0.0, 6.0, 0.02)
    for response in (SensorResponse(), SensorResponse(0.05), SensorResponse(0.01, 0.1)):
        share = busy.mean(ends - 0.02, ends, response)
        assert share.sum() * 0.02 == pytest.approx(0.3, abs=1e-6)
        middle = float((share * (ends - 0.01)).sum() / share.sum())
        assert middle == pytest.approx(1.15 + response.delay_s + response.lag_s, abs=0.002)


def test_a_real_programs_energy_on_an_h200() -> None:
    """What was regressed of a mixture is what its kernels draw when they run alone (docs/power.md)."""
    alone = {"whole": 0.497, "chain": 0.331}
    with cltrace.load(DATA / "h200-mixture.cltrace") as trace:
        found = energy_of(trace)
    lines = {line.load.name: line for line in found.lines}
    for name, energy_j in alone.items():
        line = lines[name]
        assert line.tier is Tier.REGRESSED
        assert line.energy_j is not None
        assert line.within_j is not None
        each, within = line.energy_j / len(line.load), line.within_j / len(line.load)
        assert abs(each - energy_j) < within + 0.02 * energy_j
    assert lines["gather"].tier is Tier.UNRESOLVED
    (source,) = found.sources
    assert source.component == "GPU"
    (check,) = source.checks
    assert check.ratio == pytest.approx(1.0, abs=0.02)


def source(scope: Scope, key: str, energies: dict[str, float | None]) -> EnergySource:
    """What a channel of a scope tells of some kernels of device 1."""
    channel = power_channel(key=key, label=key, scope=scope)
    device = MeteredDevice((1,), "h", "board", "GPU", "", "")
    lines = tuple(
        EnergyLine(
            load=Load(LoadKind.KERNEL, (name,), "", 1, np.array([0.0]), np.array([1.0])),
            tier=Tier.UNRESOLVED if energy is None else Tier.REGRESSED,
            energy_j=energy,
            within_j=energy and 1.0,
            dynamic_j=energy,
            dynamic_within_j=energy and 1.0,
            coverage=1.0,
            updates=50,
        )
        for name, energy in energies.items()
    )
    found, _ = told(work(1, 0.1, total_s=3), SimulationPlan())
    total = sum(one or 0.0 for one in energies.values())
    component = "GPU" if scope is Scope.GPU else str(scope)
    return EnergySource(
        channel=channel,
        component=component,
        devices=(device,),
        energy_j=total,
        covered_s=3.0,
        sample_count=100,
        observations=NO_OBSERVATIONS,
        attribution=replace(found, lines=lines),
        checks=(),
    )


def energy_from(
    *sources: EnergySource, parts: tuple[EnergySource, ...] = (), device: str = "board"
) -> TraceEnergy:
    return TraceEnergy(
        sources=sources, parts=parts, failures=(), unserved=(), device_names={1: device}
    )


def test_a_kernel_is_told_once_by_what_is_nearest_to_its_device() -> None:
    gpu = source(Scope.GPU, "gpu", {"a + b": 800.0})
    psu = source(Scope.PSU, "psu", {"a": 600.0, "b": 700.0})
    both = energy_from(gpu, psu)
    assert [(line.load.name, line.energy_j) for line in both.lines] == [("a + b", 800.0)]
    # What contains the board stands for it in the total.
    assert both.total_j == 1300.0
    inside = energy_from(psu, parts=(gpu,))
    assert [line.load.name for line in inside.lines] == ["a + b"]
    packages = energy_from(source(Scope.CPU, "p0", {"a": 3.0}), source(Scope.CPU, "p1", {"a": 4.0}))
    assert [line.energy_j for line in packages.lines] == [7.0]
    assert packages.total_j == 7.0
    # Two meters of one thing are not two things: that with more readings is taken.
    other = replace(source(Scope.OTHER, "b", {"a": 5.0}), sample_count=300)
    meters = energy_from(source(Scope.OTHER, "a", {"a": 3.0}), other)
    assert [line.energy_j for line in meters.lines] == [5.0]


def test_channels_that_are_inside_each_other_still_tell() -> None:
    found = _read([("a", "b"), ("b", "a"), ("c", "b"), ("d", ""), ("e", "d"), ("f", "missing")])
    assert [one.channel.key for one in find_outermost(found)] == ["a", "b", "c", "d", "f"]


def _read(names: list[tuple[str, str]]) -> list[ChannelReadings]:
    seen = replace(NO_OBSERVATIONS, power_w=np.ones(1))
    return [
        ChannelReadings(replace(source(Scope.CPU, key, {}).channel, inside=inside), seen, 1)
        for key, inside in names
    ]


def test_unresolved_kernels_are_taken_from_where_they_ran_alone() -> None:
    here = energy_from(source(Scope.GPU, "g", {"a": None, "b": 5.0}))
    alone = source(Scope.GPU, "g", {"a": 2.0})
    assert alone.attribution is not None
    (line,) = alone.attribution.lines
    direct = replace(alone.attribution, lines=(replace(line, tier=Tier.DIRECT),))
    other = energy_from(replace(alone, attribution=direct))
    found = {one.load.name: one for one in fill_from_calibration(here, [other]).lines}
    assert (found["a"].tier, found["a"].energy_j) == (Tier.CALIBRATED, 2.0)
    assert found["b"].tier is Tier.REGRESSED
    elsewhere = replace(other, device_names={1: "another board"})
    assert fill_from_calibration(here, [elsewhere]).lines[1].tier is Tier.UNRESOLVED
