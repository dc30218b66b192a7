"""What neighbours cost: overlaps, models with known constants, shares, and recorded devices."""

import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.errors import ProfileError
from cltrace.kernels.counts.access_density import TENTHS
from cltrace.kernels.counts.branch_rules import BranchRule
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.measure.beside import overlap_shares
from cltrace.predict.measurements import read_measurements
from cltrace.predict.models.overlap import OVERLAP
from cltrace.predict.neighbours.evaluation import AGAIN, errors_by, evaluate_together
from cltrace.predict.neighbours.fit import calibrated_launches, constants_of
from cltrace.predict.neighbours.models import ShareModel, neighbour_models
from cltrace.predict.neighbours.records import Beside, Member, Reading
from cltrace.predict.neighbours.segments import Segments, segments_of
from cltrace.predict.neighbours.shares import Neighbourhood, solve_shares
from cltrace.predict.neighbours.traced import (
    LaunchesAtOnce,
    NeighbourTime,
    TracedGroup,
    neighbour_times,
)
from cltrace.predict.sets import SetName, cases_beside, launches_of
from cltrace.profile import DeviceProfile, load_profile
from cltrace.suite.calibration import Effort, ProbeLimits
from cltrace.suite.calibration.together import cases
from cltrace.suite.together import CALIBRATION, EVALUATION, Kind, SharedDevice
from tests.conftest import Runner

DATA = Path(__file__).parent.parent / "data"
H200 = load_profile("nvidia-h200")
COSTS = OVERLAP.for_device(H200).costs
APART = Neighbourhood(has_own_units=True, is_memory_shared=False)
SAME_UNITS = Neighbourhood(has_own_units=False, is_memory_shared=False)
KNOWN = {"c": 0.37, "line": 1_250.0}


def members(seed: int, threads: int) -> tuple[Member, ...]:
    chooser = np.random.default_rng(seed)
    return tuple(
        Member(
            float(chooser.uniform(1e5, 1e6)),
            accesses(chooser),
            by_branch_rule={rule: accesses(chooser) for rule in BranchRule},
            density=tuple(chooser.dirichlet(np.ones(TENTHS)).tolist()),
        )
        for _ in range(threads)
    )


def accesses(chooser: np.random.Generator) -> Mapping[Reading, float]:
    return {reading: float(chooser.uniform(1e3, 1e5)) for reading in Reading}


def beside(own: tuple[Member, ...], beside_ns: float) -> Beside:
    return Beside(
        members=own,
        kinds=("stream",) * len(own),
        is_memory_shared=False,
        has_own_units=True,
        beside_ns=beside_ns,
    )


ALL_MODELS = neighbour_models(COSTS, [beside(members(0, 3), 0.0)])


@pytest.mark.parametrize("name", [name for name in ALL_MODELS if name != "share"])
def test_known_constants_are_found_again(name: str) -> None:
    model = ALL_MODELS[name]
    launches = []
    for seed in range(9):
        own = members(seed, 3)
        increase = model.increase_ns(beside(own, 0.0), KNOWN)
        launches.append(beside(own, own[0].alone_ns + increase))
    for key, value in model.train(launches).items():
        assert value == pytest.approx(KNOWN[key], rel=1e-12)
    tested = members(99, 4)
    exact = beside(tested, 0.0)
    trained = model.train(launches)
    assert model.increase_ns(exact, trained) == pytest.approx(
        model.increase_ns(exact, KNOWN), rel=1e-12
    )


@pytest.mark.parametrize("name", ["equal", "collisions, accesses", "collisions + line, accesses"])
def test_a_model_without_launches_is_refused(name: str) -> None:
    with pytest.raises(ProfileError, match="train"):
        neighbour_models(COSTS)[name].train([])


def test_the_study_s_equations() -> None:
    """Equations 4.1 to 4.3 with numbers that can be checked by hand."""
    own = tuple(
        Member(t, dict.fromkeys(Reading, n)) for t, n in ((10.0, 4.0), (5.0, 2.0), (2.0, 6.0))
    )
    launch, models = beside(own, 12.0), neighbour_models(COSTS)
    assert models["equal"].increase_ns(launch, {"c": 0.5}) == 0.5 * 2 * 10.0
    assert models["accesses, accesses"].increase_ns(launch, {"c": 0.5}) == 0.5 * 2 * 4.0
    expected = 0.5 * 4.0 * (2.0 / 5.0 + 6.0 / 2.0)
    assert models["collisions, accesses"].increase_ns(launch, {"c": 0.5}) == pytest.approx(expected)


def test_accesses_in_tenths_meet_what_the_others_access_meanwhile() -> None:
    """Both make their accesses in the first half; the other one runs twice as often."""
    first = (0.2,) * 5 + (0.0,) * 5
    own = Member(10.0, dict.fromkeys(Reading, 100.0), density=first)
    other = Member(5.0, dict.fromkeys(Reading, 40.0), density=first)
    model = neighbour_models(COSTS)["collisions by tenths, accesses"]
    # 20 of 100 accesses in each ns of the first five, in two of which and a half the other makes 16.
    expected = 20.0 * (16 + 16 + 8)
    assert model.increase_ns(beside((own, other), 0.0), {"c": 1.0}) == pytest.approx(expected)
    even = [replace(each, density=()) for each in (own, other)]
    uniform = neighbour_models(COSTS)["collisions, accesses"]
    launch = beside((even[0], even[1]), 0.0)
    assert model.increase_ns(launch, {"c": 1.0}) == pytest.approx(
        uniform.increase_ns(launch, {"c": 1.0})
    )


def test_models_with_a_rule_for_branches_are_there_where_it_matters() -> None:
    names = set(ALL_MODELS)
    assert "collisions, sectors, worst branches" in names
    assert "accesses, accesses, mean branches" in names
    exact = tuple(replace(each, by_branch_rule={}) for each in members(0, 3))
    assert not any("branches" in name for name in neighbour_models(COSTS, [beside(exact, 0.0)]))


def demand(kind: Kind, *, has_own_units: bool) -> Demand:
    device = SharedDevice.of(H200.device)
    work = CALIBRATION[kind].launch(kind, device.room(has_own_units=has_own_units))
    return demand_of(WorkloadCounter(H200.device).count(work), COSTS.operations)


@pytest.mark.parametrize("kind", Kind)
def test_nobody_is_faster_for_neighbours_and_more_cost_more(kind: Kind) -> None:
    own = demand(kind, has_own_units=False)
    durations = [
        solve_shares([own] * count, COSTS, SAME_UNITS).beside_ns[0] for count in (1, 2, 4, 8)
    ]
    alone = solve_shares([own], COSTS, SAME_UNITS).alone_ns[0]
    assert durations[0] == pytest.approx(alone, rel=1e-6)
    assert all(more >= less * (1 - 1e-6) for less, more in pairwise(durations))
    # What they read may be lost from the cache that they share.
    assert durations[-1] <= 8.5 * alone or kind in {Kind.CACHE, Kind.RANDOM}


@pytest.mark.parametrize("kind", [Kind.COMPUTE, Kind.LOCAL])
def test_compute_units_of_their_own_are_not_shared(kind: Kind) -> None:
    own = demand(kind, has_own_units=True)
    times = solve_shares([own] * 8, COSTS, APART)
    assert times.beside_ns[0] == pytest.approx(times.alone_ns[0], rel=0.01)


def test_eight_that_use_all_of_a_part_take_eight_times_as_long() -> None:
    own = demand(Kind.ATOMICS, has_own_units=False)
    times = solve_shares([own] * 8, COSTS, SAME_UNITS)
    assert times.beside_ns[0] == pytest.approx(8 * times.alone_ns[0], rel=0.1)
    assert times.factors["atomics"] > 7


def test_kernels_of_calibration_are_not_those_of_evaluation() -> None:
    assert set(CALIBRATION) == set(EVALUATION) == set(Kind)
    sources = {each.source for each in CALIBRATION.values()}
    assert not sources & {each.source for each in EVALUATION.values()}


def test_cases_name_each_launch_once_and_have_it_alone() -> None:
    limits = ProbeLimits.of(H200.device, Effort.FULL)
    for of_device in (tuple(cases(limits)), cases_beside(H200.device)):
        names = [(case.name, case.threads) for case in of_device]
        assert len(set(names)) == len(names)
        assert {case.alone_name for case in of_device} <= {name for name, _ in names}
    launches = launches_of(SetName.TOGETHER, 5, 1, H200.device)
    assert len(launches) == 2 * len(Kind) + 5


def test_overlap_is_that_of_the_least_neighbour() -> None:
    own = np.asarray([[0.0, 10.0], [10.0, 20.0]])
    first, second = np.asarray([[0.0, 5.0], [5.0, 30.0]]), np.asarray([[8.0, 19.0]])
    assert overlap_shares(own, [first]).tolist() == [1.0, 1.0]
    assert overlap_shares(own, [first, second]).tolist() == pytest.approx([0.2, 0.9])
    assert overlap_shares(own, []).tolist() == [1.0, 1.0]


runs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(-1, 3)), min_size=1, max_size=12
)


@given(runs)
def test_no_nanosecond_is_counted_twice(launches: list[tuple[int, int, int]]) -> None:
    start = np.asarray([begin for begin, _, _ in launches], np.int64)
    end = np.asarray([begin + length for begin, length, _ in launches], np.int64)
    segments = segments_of(start, end, [group for _, _, group in launches])
    depth = np.zeros(100, np.int64)
    for begin, finish in zip(start, end, strict=True):
        depth[begin:finish] += 1
    assert sum(segments.by_set.values()) == int((depth > 0).sum())
    assert segments.total_ns == int((depth > 1).sum())
    assert sum(len(key) * time for key, time in segments.by_set.items()) == int(depth.sum())


@given(runs)
def test_neighbours_cost_no_more_than_they_ran(launches: list[tuple[int, int, int]]) -> None:
    start = np.asarray([begin for begin, _, _ in launches], np.int64)
    end = np.asarray([begin + length for begin, length, _ in launches], np.int64)
    owners = [group % 2 if group >= 0 else -1 for _, _, group in launches]
    segments = segments_of(start, end, owners)
    found = neighbour_times(segments, groups(), H200).costs
    for number, cost in found.items():
        own = sum(time * key.count(number) for key, time in segments.by_set.items() if len(key) > 1)
        assert cost.beside_ns == own
        low, high = cost.interval_ns
        assert 0 <= low <= cost.longer_ns <= high <= own


def costs_and_sets(
    segments: Segments,
) -> tuple[Mapping[int, NeighbourTime], Sequence[LaunchesAtOnce]]:
    neighbours = neighbour_times(segments, groups(), H200)
    return neighbours.costs, neighbours.at_once


def traced(kind: Kind, launch_id: int) -> TracedGroup:
    device = SharedDevice.of(H200.device)
    work = CALIBRATION[kind].launch(kind, device.room(has_own_units=False))
    counts = WorkloadCounter(H200.device).count(work)
    return TracedGroup(launch_id - 1, str(kind), (launch_id,), counts, frozenset({launch_id}))


@cache
def groups() -> tuple[TracedGroup, ...]:
    """Return a kernel with atomic operations and a stream. Every worker collects, and one counts."""
    return traced(Kind.ATOMICS, 1), traced(Kind.STREAM, 2)


def test_neighbours_are_named() -> None:
    times = np.asarray([0, 50], np.int64), np.asarray([100, 150], np.int64)
    found, at_once = costs_and_sets(segments_of(*times, [0, 1]))
    assert found[0].who == ("stream",)
    assert found[1].who == ("atomics",)
    assert found[1].beside_ns == 50
    assert found[1].longer_ns > 25  # its requests wait for atomic operations
    assert [each.kernels for each in at_once] == [("atomics", "stream")]
    assert 0.9 < at_once[0].gain < 1.5  # the stream gets little done meanwhile
    late = neighbour_times(segments_of(*times, [0, 1]), groups(), H200, end_s=0.0)
    assert late.costs[1].longer_ns == 0
    assert not late.at_once


def test_launches_of_a_traced_program_have_their_neighbours(run: Runner, tmp_path: Path) -> None:
    """Three queues of an H200: a histogram, whose atomic operations the others wait for."""
    path = tmp_path / "queues.cltrace"
    path.write_bytes(lzma.decompress((DATA / "h200-queues.cltrace.xz").read_bytes()))
    predicted = run("predict", path, "--profile", "nvidia-h200", "--format", "json")
    tables = json.loads(predicted.stdout)
    rows = {row["kernel"]: row for row in tables["predicted_launches"]}
    assert rows["saxpy"]["neighbours"] == "blockSum, bins"
    assert rows["saxpy"]["limiter"] == "neighbours"
    for row in rows.values():
        assert row["neighbours_least_ns"] <= row["neighbours_ns"] <= row["neighbours_most_ns"]
        assert 0.9 < row["quotient"] < 1.1
    assert tables["at_once"][0]["kernels"].split(", ") == ["bins", "blockSum", "saxpy"]
    shown = run("timeline", path)
    assert "Neighbours" in shown.stdout
    assert "At the same time" in shown.stdout
    elsewhere = run("predict", path, "--profile", "pocl-cpu", "--format", "json")
    assert "neighbours_ns" not in json.loads(elsewhere.stdout)["predicted_launches"][0]


@pytest.mark.parametrize(
    ("profile", "data", "most"), [("nvidia-h200", "h200", 0.2), ("pocl-cpu", "pocl", 0.2)]
)
def test_recorded_devices_are_predicted(profile: str, data: str, most: float) -> None:
    """The default is the best of all models on an H200; on a CPU, measuring again is as far off."""
    measured = read_measurements(DATA / f"{data}-together.json")
    evaluation = evaluate_together(measured, load_profile(profile))
    errors = {error.model: error for error in errors_by(evaluation, lambda _: "all")}
    assert errors["share"].mape < most
    assert errors[AGAIN].mape < errors["share"].mape
    if data == "h200":
        assert errors["share"].mape < min(
            error.mape for name, error in errors.items() if name not in {"share", AGAIN}
        )


def test_constants_of_a_shipped_profile_are_those_of_its_launches() -> None:
    trained = [each for each in calibrated_launches(H200) if each.threads == 3]
    models = neighbour_models(COSTS)
    stored = constants_of(H200)
    assert len(trained) > 30
    for name in ("equal", "collisions, sectors", "collisions + line, sectors"):
        assert models[name].train(trained) == pytest.approx(stored[name])
    assert set(ShareModel(COSTS).train(trained[:1])) <= {"memory", "L2", "atomics"}


def test_a_profile_without_such_launches_is_named() -> None:
    bare: DeviceProfile = replace(
        H200,
        parameters={name: own for name, own in H200.parameters.items() if name != "neighbours"},
    )
    with pytest.raises(ProfileError, match="cltrace calibrate"):
        evaluate_together(read_measurements(DATA / "h200-together.json"), bare)
