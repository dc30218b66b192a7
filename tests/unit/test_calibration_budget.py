"""Calibrations with a deadline: the order of probes, what is left out, and what stands for it."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltrace.errors import DeviceError, ExitStatus, UnsettledError
from cltrace.measure.clocks import NoClocks
from cltrace.measure.repetition import Repetitions, StopRule, repeat
from cltrace.predict import MODELS
from cltrace.predict.calibration import (
    Calibration,
    MeasuredDevice,
    keep_settled,
    require_settled,
)
from cltrace.predict.caveats import profile_caveats
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.fitting import fit_models
from cltrace.predict.models.overlap.joint_search import SearchLimits, search_minimum
from cltrace.predict.models.overlap.probes import count_calibration
from cltrace.profile import DeviceProfile, Parameter, load_profile, read_profile, write_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits, planned_probes
from cltrace.suite.calibration.probes import ProbeWork
from tests.conftest import Runner

ROOT = Path(__file__).parents[2]
CPU = load_profile("pocl-cpu")
LIMITS = ProbeLimits.of(CPU.device, Effort.QUICK)
TOTAL = len(list(planned_probes(LIMITS)))
BUDGET_S = 30.0


class Machine:
    """A machine whose time passes only while probes run, each for `probe_s(number)` seconds."""

    def __init__(
        self, probe_s: Callable[[int], float], is_settled: Callable[[int], bool] = lambda _: True
    ) -> None:
        self.now_s = 100.0
        self.rules: list[StopRule] = []
        self.works: list[ProbeWork] = []
        self._probe_s = probe_s
        self._is_settled = is_settled

    def clock(self) -> float:
        return self.now_s

    def time_work(self, work: ProbeWork, rule: StopRule) -> Repetitions:
        number = len(self.works)
        self.works.append(work)
        self.rules.append(rule)
        self.now_s += self._probe_s(number)
        return Repetitions(
            runs=9,
            mean_ns=1e5,
            deviation_ns=1e3,
            median_ns=1e5,
            min_ns=9e4,
            is_settled=self._is_settled(number),
        )

    def calibration(
        self, earlier: DeviceProfile | None = None, seconds: float | None = BUDGET_S
    ) -> Calibration:
        device = MeasuredDevice(CPU.device, self.time_work, NoClocks())
        deadline = (
            Deadline.after(seconds, self.clock)
            if seconds is not None
            else replace(NEVER, clock=self.clock)
        )
        return Calibration(device, Effort.QUICK, earlier, deadline)


def measure(calibration: Calibration) -> DeviceProfile:
    *_, profile = calibration.measure_families(lambda _: None)
    return profile


def left_out(profile: DeviceProfile) -> dict[str, int]:
    return {entry.family: entry.unmeasured for entry in profile.provenance.left_out}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 4.0), min_size=8, max_size=8), st.floats(5.0, 60.0))
def test_a_calibration_ends_at_its_deadline(durations: list[float], seconds: float) -> None:
    """It exceeds it by no more than a probe that takes longer than the ones before."""
    machine = Machine(lambda number: durations[number % len(durations)])
    try:
        profile = measure(machine.calibration(seconds=seconds))
    except UnsettledError:
        return
    assert machine.now_s - 100.0 <= seconds + max(durations)
    assert profile.num_points + sum(left_out(profile).values()) == TOTAL


def test_with_enough_time_nothing_is_left_out() -> None:
    machine = Machine(lambda _: 0.01)
    profile = measure(machine.calibration())
    assert profile.provenance.left_out == ()
    assert profile.num_points == TOTAL == len(machine.works)
    assert not profile_caveats(profile)


def test_the_most_valuable_families_are_measured_first() -> None:
    profile = measure(Machine(lambda _: 0.2).calibration())
    assert {"base", "groups", "throughput", "chases", "transfers"} <= profile.families.keys()
    assert {"float add", "int multiply"} <= {point.series for point in profile.points("throughput")}
    order = [f"{planned.family} {planned.probe.series}" for planned in planned_probes(LIMITS)]
    last_of_all_families = order.index("occupancy dependent loads")
    assert order.index("throughput float add") < last_of_all_families
    assert order.index("throughput float sin") > last_of_all_families
    assert left_out(profile)["classes"] == 30
    assert left_out(profile)["latency"] > 70


def test_every_family_has_a_place_in_the_order() -> None:
    planned = list(planned_probes(LIMITS))
    assert len({probe.key for probe in planned}) == len(planned)
    assert sum(len(list(family.probes(LIMITS))) for family in FAMILIES.values()) == len(planned)


def test_a_probe_that_cannot_end_in_time_is_not_begun() -> None:
    """A slow machine has few probes; none begins behind the deadline."""
    machine = Machine(lambda _: 3.0)
    begins: list[float] = []
    time_work = machine.time_work

    def observe(work: ProbeWork, rule: StopRule) -> Repetitions:
        begins.append(machine.now_s - 100.0)
        return time_work(work, rule)

    device = MeasuredDevice(CPU.device, observe, NoClocks())
    measure(Calibration(device, Effort.QUICK, None, Deadline.after(BUDGET_S, machine.clock)))
    assert len(begins) > 5
    assert max(begins) <= BUDGET_S - 3.0
    assert all(rule.give_up_s <= BUDGET_S for rule in machine.rules)


def test_no_time_at_all_is_an_error() -> None:
    profiles = Machine(lambda _: 1.0).calibration(seconds=0.01).measure_families(lambda _: None)
    with pytest.raises(UnsettledError, match="no time"):
        next(profiles)


def test_unsettled_probes_are_measured_again_while_there_is_time() -> None:
    machine = Machine(lambda _: 0.01, is_settled=lambda number: number >= TOTAL // 2)
    profile = measure(machine.calibration())
    assert not profile.is_noisy
    assert TOTAL < len(machine.works) < TOTAL + TOTAL // 2
    assert machine.rules[-1].max_s > machine.rules[0].max_s


def test_an_earlier_calibration_is_continued_probe_by_probe() -> None:
    first = measure(Machine(lambda _: 0.2).calibration())
    machine = Machine(lambda _: 0.001)
    second = measure(machine.calibration(first))
    assert len(machine.works) == TOTAL - first.num_points
    assert second.num_points == TOTAL
    assert second.provenance.left_out == ()


def test_what_did_not_settle_is_measured_anew_after_a_refusal() -> None:
    noisy = measure(Machine(lambda _: 0.2, is_settled=lambda number: number % 2 == 0).calibration())
    assert noisy.is_noisy
    kept = keep_settled(noisy)
    assert kept.unsettled_share == 0
    assert 0 < kept.num_points < noisy.num_points
    machine = Machine(lambda _: 0.001)
    assert not measure(machine.calibration(kept)).is_noisy


def test_a_family_that_cannot_be_measured_is_an_error() -> None:
    def refuse(_: ProbeWork, __: StopRule) -> Repetitions:
        raise DeviceError("broken")

    with pytest.raises(DeviceError, match="no probe of base could be measured"):
        measure(Calibration(MeasuredDevice(CPU.device, refuse, NoClocks()), Effort.QUICK))


def test_a_repetition_gives_up_before_its_smallest_number_of_runs() -> None:
    ticks = iter(range(1000))
    rule = StopRule(min_runs=50, warm_runs=0, give_up_s=3.0)
    sample = repeat(lambda: 5.0, rule, clock=lambda: float(next(ticks)))
    assert sample.runs == 4
    assert not sample.is_settled


def test_the_minute_includes_the_start_of_the_process() -> None:
    code = (
        "import time; from cltrace.commands.shared.process_age import process_age_s as age; "
        "before = age(); time.sleep(0.05); print(before, age())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    before, after = map(float, done.stdout.split())
    assert (before, after) == (0.0, 0.0) or after >= before + 0.04


def test_deadlines() -> None:
    now = [10.0]
    deadline = Deadline.after(20.0, lambda: now[0])
    assert deadline.before(5.0).left_s() == 15.0
    assert deadline.first_part(0.25).left_s() == 5.0
    assert NEVER.first_part(0.5).before(9.0).left_s() == np.inf
    now[0] = 31.0
    assert deadline.is_over
    assert deadline.first_part(0.5).left_s() == -1.0


def test_a_search_ends_at_its_deadline_with_the_best_so_far() -> None:
    ticks = iter(range(100_000))
    target = np.asarray([1.0, -2.0, 3.0])

    def residuals(values: np.ndarray) -> np.ndarray:
        return np.asarray(values - target + 0.1 * (values - target) ** 3)

    start = np.full(3, 9.0)
    hurried = Deadline(6.0, lambda: float(next(ticks)))
    early = search_minimum(residuals, start, SearchLimits(hurried))
    whole = search_minimum(residuals, start, SearchLimits())
    assert next(ticks) < 10
    assert np.abs(early.values - target).max() <= np.abs(start - target).max()
    assert early.errors.tolist() == [0.0, 0.0, 0.0]
    assert whole.values == pytest.approx(target)
    over = search_minimum(residuals, start, SearchLimits(Deadline(0.0, lambda: 1.0)))
    assert over.values.tolist() == start.tolist()


@pytest.fixture(scope="module")
def hurried() -> DeviceProfile:
    """A fitted calibration of a CPU that had time for a few probes of a few families."""
    keep = {"base", "groups", "chases", "working-sets", "transfers"}
    families = {name: points for name, points in CPU.families.items() if name in keep}
    families["throughput"] = CPU.points("throughput", "float add")
    bare = replace(CPU, families=families, parameters={}, residuals={})
    machine = Machine(lambda _: 1e3)
    with_gaps = machine.calibration(bare, seconds=0.0)
    *_, profile = with_gaps.measure_families(lambda _: None)
    effort = replace(profile.provenance, effort="full")
    return fit_models(replace(profile, provenance=effort))


def test_a_calibration_with_gaps_is_fitted_with_defaults(hurried: DeviceProfile) -> None:
    costs = hurried.parameters["overlap"]
    assert not costs["launch"].is_default
    assert not costs["float add"].is_default
    assert costs["int divide"].is_default
    assert costs["int divide"].value == CPU.parameters["overlap"]["int divide"].value
    assert costs["atomic"].is_default
    assert hurried.parameters["thesis"]["float + each"].is_default
    assert not hurried.parameters["thesis"]["base each"].is_default
    assert hurried.parameters["roofline"]["int divide"].is_default
    assert costs.keys() == CPU.parameters["overlap"].keys()
    for name in MODELS:
        assert set(hurried.parameters[name]) == set(CPU.parameters[name])
        MODELS[name].for_device(hurried)
    (caveat,) = (each for each in profile_caveats(hurried) if each.key == "left_out")
    assert "latency" in caveat.text
    assert "defaults stand for" in caveat.text


def test_gaps_are_stored(hurried: DeviceProfile, tmp_path: Path) -> None:
    write_profile(hurried, tmp_path / "one.json")
    again = read_profile(tmp_path / "one.json")
    assert again.provenance.left_out == hurried.provenance.left_out != ()
    stored = json.loads((tmp_path / "one.json").read_text())
    del stored["provenance"]["left_out"]
    (tmp_path / "old.json").write_text(json.dumps(stored))
    assert read_profile(tmp_path / "old.json").provenance.left_out == ()


def test_probes_are_not_counted_behind_the_deadline(hurried: DeviceProfile) -> None:
    counted = count_calibration(hurried, Deadline(0.0, lambda: 1.0))
    assert counted.probes == []
    assert counted.uncounted["base"] == len(hurried.points("base"))
    fitted = fit_models(hurried, Deadline(0.0, lambda: 1.0))
    assert fitted.parameters["overlap"]["launch"].is_default
    uncounted = {entry.family: entry.uncounted for entry in fitted.provenance.left_out}
    assert uncounted["chases"] == len(hurried.points("chases"))
    MODELS["overlap"].for_device(fitted)


def test_a_new_fit_keeps_energies(hurried: DeviceProfile) -> None:
    energies = {"idle": Parameter(100.0, "W", 1.0, "idle")}
    measured = replace(hurried, parameters={**hurried.parameters, "energy": energies})
    fitted = fit_models(measured, Deadline(0.0, lambda: 1.0))
    assert fitted.parameters["energy"] == energies


def noisy(profile: DeviceProfile, every: int) -> DeviceProfile:
    """The profile with every so-many-th probe unsettled."""
    families = {
        name: tuple(
            replace(point, is_settled=number % every != 0) for number, point in enumerate(points)
        )
        for name, points in profile.families.items()
    }
    return replace(profile, families=families)


def test_a_quarter_of_unsettled_probes_is_the_limit() -> None:
    points = CPU.points("base", "empty")[:1] * 4
    for unsettled, is_noisy in ((1, False), (2, True)):
        mixed = tuple(
            replace(point, is_settled=number >= unsettled) for number, point in enumerate(points)
        )
        profile = replace(CPU, families={"base": mixed})
        assert profile.is_noisy is is_noisy
        if is_noisy:
            with pytest.raises(UnsettledError, match="50% of 4 probes"):
                require_settled(profile, "measure again")
        else:
            require_settled(profile, "measure again")
    assert not replace(CPU, families={}).is_noisy


def test_a_noisy_profile_is_refused_without_the_flag(
    run: Runner, hurried: DeviceProfile, tmp_path: Path
) -> None:
    write_profile(noisy(hurried, 2), tmp_path / "measured.json")
    done = run("calibrate", "--from", "measured.json", "-o", "mine.json")
    assert done.status == ExitStatus.UNDECIDED
    assert "--noisy" in done.stderr.splitlines()[-1]
    assert "did not settle" in done.stderr
    assert not (tmp_path / "mine.json").exists()
    done = run("calibrate", "--from", "measured.json", "-o", "mine.json", "--noisy")
    assert done.status == 0, done.stderr
    assert read_profile(tmp_path / "mine.json").is_noisy
    shown = json.loads(run("profile", "show", "mine.json", "--format", "json").stdout)
    assert "did not settle" in shown["facts"]["noisy_profile"]
    assert "no time for" in shown["facts"]["left_out"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"compute_units": 64}, "64 compute units"),
        ({"driver": "9.1"}, "driver 9.1"),
        ({"name": "another"}, "another"),
        ({"platform": "Intel"}, "platform Intel"),
    ],
)
def test_another_device_is_foreign(change: dict[str, object], word: str) -> None:
    other = replace(CPU.device, **change)  # type: ignore[arg-type]
    differences = CPU.device.differences_from(other)
    assert word in differences
    (caveat,) = (
        each for each in profile_caveats(CPU, differences) if each.key == "foreign_profile"
    )
    assert word in caveat.text


def test_another_minor_version_of_a_driver_is_not_foreign() -> None:
    other = replace(CPU.device, driver=f"{CPU.device.driver_major}.99")
    assert CPU.device.differences_from(other) == ()
