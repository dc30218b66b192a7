"""Sets, measurements of them, and the scores of models."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltrace.errors import ProfileError
from cltrace.events.workloads import Workload
from cltrace.predict.accuracy import (
    SHORT_NS,
    ErrorSummary,
    Evaluation,
    evaluate,
    summarise_ablation,
    summarise_cold_errors,
    summarise_errors,
)
from cltrace.predict.measurements import read_measurements, write_measurements
from cltrace.predict.models import MODELS
from cltrace.predict.sets import SetName, launches_of
from cltrace.profile import DeviceFacts, load_profile
from cltrace.report.accuracy import accuracy_report
from tests.conftest import Runner

DATA = Path(__file__).parents[1] / "data"
H200 = load_profile("nvidia-h200").device
CPU = load_profile("pocl-cpu").device


def evaluated_with(predicted: list[float], measured: list[float], again: list[float]) -> Evaluation:
    first, second, said = (np.asarray(one, np.float64) for one in (measured, again, predicted))
    return Evaluation(
        names=tuple(f"launch {number}" for number in range(len(measured))),
        families=tuple(str(number % 3) for number in range(len(measured))),
        sizes=np.full(len(measured), 1024),
        measured_ns=first,
        deviations_ns=first / 10,
        again_ns=second,
        is_long=(first + second) / 2 >= SHORT_NS,
        predicted_ns={"thesis": said},
        bounds_ns={"thesis": (said / 1.5, said * 1.5)},
        ablated_ns={"first": said / 2, "second": said},
        cold_ns=2 * first,
        predicted_cold_ns={"thesis": said},
        refused={},
    )


def by_name(found: Evaluation) -> dict[str, ErrorSummary]:
    return {score.name: score for score in summarise_errors(found)}


def test_scores_are_what_they_are_called() -> None:
    measured = [20_000.0, 40_000.0, 80_000.0, 5_000.0]
    found = evaluated_with([40_000.0, 80_000.0, 160_000.0, 8_000.0], measured, measured)
    score = by_name(found)["thesis"]
    assert (score.launches, score.short) == (3, 1)
    assert (score.mean.value, score.deviation.value) == (2.0, 0.0)
    assert (score.mean.low, score.mean.high) == (2.0, 2.0)
    assert score.median_distance == score.p90 == score.p99 == 2.0
    assert score.mape == pytest.approx(1.0)
    assert score.within == 0.0
    assert score.short_error_ns == 3_000.0
    without = by_name(found)["thesis without bias"]
    assert (without.mean.value, without.within) == (1.0, 1.0)
    assert without.geometric == pytest.approx(1e-4)
    assert by_name(found)["measured again"].mape == 0.0


def test_intervals_stages_and_cold_caches_have_their_scores() -> None:
    measured = [20_000.0, 40_000.0, 80_000.0, 90_000.0]
    found = evaluated_with([20_000.0, 50_000.0, 160_000.0, 20_000.0], measured, measured)
    assert by_name(found)["thesis"].coverage == 0.5
    assert by_name(found)["measured again"].coverage is None
    first, second = summarise_ablation(found)
    assert first.mean.value == pytest.approx(second.mean.value / 2)
    (cold,) = summarise_cold_errors(found)
    assert cold.mean.value == pytest.approx(by_name(found)["thesis"].mean.value / 2)
    assert summarise_cold_errors(replace(found, cold_ns=np.full(4, np.nan))) == ()


def test_too_short_and_too_long_are_equally_far() -> None:
    measured = [100_000.0] * 3
    shorter = by_name(evaluated_with([50_000.0] * 3, measured, measured))["thesis"]
    longer = by_name(evaluated_with([200_000.0] * 3, measured, measured))["thesis"]
    assert shorter.median_distance == longer.median_distance == 2.0
    assert shorter.mean.value == 0.5


def test_what_cannot_be_counted_is_scored_by_the_mean_of_times() -> None:
    measured = [20_000.0, 80_000.0]
    found = evaluated_with([20_000.0, np.nan], measured, measured)
    score = by_name(found)["thesis"]
    assert score.launches == 2
    assert score.p99 == pytest.approx(2.0, rel=0.05)


@given(st.lists(st.floats(1e4, 1e9), min_size=2, max_size=30), st.floats(0.2, 5.0))
def test_intervals_hold_the_value(measured: list[float], factor: float) -> None:
    found = evaluated_with([one * factor for one in measured], measured, measured)
    score = by_name(found)["thesis"]
    assert score.mean.low <= score.mean.value * (1 + 1e-9)
    assert score.mean.value <= score.mean.high * (1 + 1e-9)


@pytest.mark.parametrize("name", list(SetName))
def test_a_set_is_made_again_from_its_name_and_seed(name: SetName) -> None:
    first, again = (launches_of(name, 24, 5, CPU) for _ in range(2))
    assert [(one.family, one.name) for one in first] == [(one.family, one.name) for one in again]
    if name is not SetName.TRANSFERS:
        sources = [
            [one.work.source for one in made if isinstance(one.work, Workload)]
            for made in (first, again)
        ]
        assert sources[0] == sources[1]
    other = launches_of(name, 24, 6, CPU)
    assert [one.name for one in first] != [one.name for one in other]
    assert len({(one.family, one.name) for one in first}) == len(first)


def workloads(name: SetName, samples: int, seed: int, device: DeviceFacts) -> Iterator[Workload]:
    for one in launches_of(name, samples, seed, device):
        assert isinstance(one.work, Workload)
        yield one.work


def test_sizes_are_those_of_the_device() -> None:
    for device, least, most in ((H200, 1 << 11, 1 << 26), (CPU, 1 << 10, 1 << 20)):
        sizes = [work.work_items for work in workloads(SetName.RESTRICTED, 400, 1, device)]
        assert (min(sizes), max(sizes)) == (least, most)
    for work in workloads(SetName.SUITE, 1 << 20, 1, H200):
        assert work.buffer_bytes <= H200.global_bytes // 2


def test_recorded_measurements_are_predicted(tmp_path: Path) -> None:
    recorded = read_measurements(DATA / "h200-restricted.json")
    few = replace(recorded, timings=recorded.timings[:12])
    found = evaluate(few, load_profile("nvidia-h200"))
    assert set(found.predicted_ns) == set(MODELS)
    assert not found.refused
    for values in found.predicted_ns.values():
        assert (values > 1_000).all()
    long = max(few.timings, key=lambda timing: timing.first_ns or 0.0)
    unknown = replace(few, timings=(replace(long, name="no such launch"),))
    refused = evaluate(unknown, load_profile("nvidia-h200"))
    assert list(refused.refused) == ["no such launch"]
    report = accuracy_report(unknown, load_profile("nvidia-h200"), refused)
    (families,) = (table for table in report.tables if table.key == "families")
    assert all(math.isnan(float(str(value))) for value in families.rows[0][2:])
    write_measurements(few, tmp_path / "again.json")
    assert read_measurements(tmp_path / "again.json") == few


def test_a_set_of_a_gpu_is_not_predicted_with_costs_of_a_cpu() -> None:
    for file, profile in (
        ("h200-restricted.json", "pocl-cpu"),
        ("pocl-restricted.json", "nvidia-h200"),
    ):
        with pytest.raises(ProfileError, match="name a profile of the same kind"):
            evaluate(read_measurements(DATA / file), load_profile(profile))


@pytest.mark.parametrize(
    ("name", "mean", "deviation", "distance"),
    [
        ("restricted", 0.05, 0.14, 1.11),
        ("unrestricted", 0.06, 0.2, 1.13),
        ("suite", 0.06, 0.18, 1.12),
    ],
)
def test_the_default_model_is_as_good_as_it_is_said_to_be(
    name: str, mean: float, deviation: float, distance: float
) -> None:
    """A part of each recorded set, held to a little more than what the whole of it gives."""
    recorded = read_measurements(DATA / f"h200-{name}.json")
    long = [one for one in recorded.timings if one.first_ns is not None and one.first_ns > 1e4]
    found = evaluate(replace(recorded, timings=tuple(long[::8])), load_profile("nvidia-h200"))
    score = by_name(found)["overlap"]
    assert abs(score.mean.value - 1.0) <= mean
    assert score.deviation.value <= deviation
    assert score.median_distance <= distance
    assert score.coverage is not None
    assert score.coverage >= 0.75
    assert score.mape < 0.4 * by_name(found)["thesis"].mape


def test_recorded_transfers_are_predicted(run: Runner) -> None:
    recorded = read_measurements(DATA / "h200-transfers.json")
    found = evaluate(recorded, load_profile("nvidia-h200"))
    assert by_name(found)["transfers"].median_distance <= 1.15
    done = run("accuracy", "--from", str(DATA / "h200-transfers.json"), "--profile", "nvidia-h200")
    assert done.status == 0, done.stderr
    assert "pageable to device" in done.stdout


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cltrace_measurements": 7}', "nothing"])
def test_what_holds_no_measurements_is_one_line(text: str, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ProfileError):
        read_measurements(tmp_path / "bad.json")
    done = run("accuracy", "--from", "bad.json")
    assert done.status == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("samples", [-1, 1 << 31, 1 << 63, 1e308])
def test_a_set_of_impossible_length_is_refused(samples: float, tmp_path: Path, run: Runner) -> None:
    stored = json.loads((DATA / "pocl-restricted.json").read_text())
    (tmp_path / "bad.json").write_text(json.dumps({**stored, "samples": samples}))
    done = run("accuracy", "--from", "bad.json", "--profile", "pocl-cpu")
    assert done.status == 2
    assert "at most 100,000" in done.stderr
    assert run("accuracy", "--samples", "100001").status == 2


@pytest.mark.parametrize("deviation", ["x", [[]], None, -1.0, float("nan"), float("inf")])
def test_an_impossible_deviation_is_refused(deviation: object, tmp_path: Path) -> None:
    stored = json.loads((DATA / "pocl-restricted.json").read_text())
    stored["timings"][0][stored["timing"].index("deviation_ns")] = deviation
    (tmp_path / "bad.json").write_text(json.dumps(stored))
    with pytest.raises(ProfileError):
        read_measurements(tmp_path / "bad.json")


def test_recorded_measurements_are_reported_and_drawn(run: Runner, tmp_path: Path) -> None:
    stored = json.loads((DATA / "h200-suite.json").read_text())
    quick = [row for row in stored["timings"] if row[1] in {"vectors", "polynomials", "scan"}]
    stored["timings"] = quick[:16]
    (tmp_path / "few.json").write_text(json.dumps(stored))
    words = ["accuracy", "--from", "few.json", "--profile", "nvidia-h200"]
    shown = run(*words, "--plot", str(tmp_path), "--format", "json")
    assert shown.status == 0, shown.stderr
    report = json.loads(shown.stdout)
    models = [row["model"] for row in report["scores"]]
    assert models == [*MODELS, "thesis without bias", "measured again"]
    assert {row["family"] for row in report["families"]} <= {"vectors", "polynomials", "scan"}
    assert (tmp_path / "suite-histograms.svg").is_file()
    assert (tmp_path / "suite-times.svg").is_file()
    assert "measured" in (tmp_path / "suite-sizes.svg").read_text()
