"""Profiles of devices: files, names, what is fitted to them, and what is drawn."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cltrace.errors import ProfileError
from cltrace.kernels import BufferArgument, count, parse
from cltrace.kernels.demand.cost_types import CostType
from cltrace.measure.repetition import StopRule, repeat
from cltrace.predict.calibration import find_doubts
from cltrace.predict.caveats import profile_caveats
from cltrace.predict.curves import fit_decay, fit_knee, fit_line
from cltrace.predict.fitting import fit_models
from cltrace.predict.models.thesis import THESIS
from cltrace.predict.quotients import distance, quotient
from cltrace.profile import (
    ClockReading,
    DeviceProfile,
    Point,
    load_profile,
    profile_for,
    profile_paths,
    read_profile,
    write_profile,
)
from tests.conftest import Runner

H200 = Path(__file__).parents[1] / "data" / "nvidia-h200-calibration.json"


FEW_OPERATIONS = {
    "float add",
    "float multiply",
    "float divide",
    "float sin",
    "int add",
    "int multiply",
}


MANY_SERIES = {
    *("few-items", "few-units", "first", "grid-strides", "idle", "image-changes", "images"),
    *("mixtures", "order", "private", "several-operations", "strides", "transfers", "widths"),
}
"""Families that have every third series only."""


def thinned(profile: DeviceProfile) -> DeviceProfile:
    """Fewer probes, so that they are counted soon: the ends and the middle of each chosen series."""
    families = {}
    for name, points in profile.families.items():
        series: dict[str, list[Point]] = {}
        for point in points:
            series.setdefault(point.series, []).append(point)
        titles = list(series)[:: 3 if name in MANY_SERIES else 1]
        if len(series) > 20 and name != "elementary":
            titles = [title for title in titles if title in FEW_OPERATIONS]
        families[name] = tuple(
            point
            for title in titles
            for point in dict.fromkeys(
                (series[title][0], series[title][len(series[title]) // 2], series[title][-1])
            )
        )
    return replace(profile, families=families)


@pytest.fixture(scope="module")
def measured() -> DeviceProfile:
    return thinned(read_profile(H200))


@pytest.fixture(scope="module")
def whole(measured: DeviceProfile) -> DeviceProfile:
    """The profile with all models fitted to it."""
    return fit_models(measured)


def test_a_profile_is_what_was_written(
    measured: DeviceProfile, whole: DeviceProfile, tmp_path: Path
) -> None:
    write_profile(whole, tmp_path / "one.json")
    first = read_profile(tmp_path / "one.json")
    write_profile(first, tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert first.device == measured.device
    assert first.families == measured.families
    assert {path.name for path in tmp_path.iterdir()} == {"one.json", "two.json"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: [], "is no profile"),
        (lambda one: {**one, "cltrace_profile": 99}, "newer"),
        (lambda one: {**one, "device": {}}, "damaged"),
        (lambda one: {**one, "families": {"base": [[1, 2]]}}, "damaged"),
        (lambda one: {**one, "device": {**one["device"], "compute_units": "many"}}, "damaged"),
        (lambda one: {**one, "families": []}, "damaged"),
    ],
)
def test_what_is_no_profile_is_one_line(
    change: Callable[[Any], Any], words: str, tmp_path: Path, run: Runner
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(change(json.loads(H200.read_bytes()))))
    with pytest.raises(ProfileError, match=words):
        read_profile(path)
    done = run("profile", "show", str(path))
    assert done.status == 2
    assert len(done.stderr.splitlines()) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(raw)
    with pytest.raises(ProfileError):
        read_profile(path)


def test_a_users_profile_stands_before_a_shipped_one(
    measured: DeviceProfile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert load_profile("nvidia-h200").device.name == "NVIDIA H200"
    own = replace(load_profile("nvidia-h200"), device=measured.device, notes=("mine",))
    write_profile(own, tmp_path / "cltrace" / "profiles" / "nvidia-h200.json")
    assert load_profile("nvidia-h200").notes == ("mine",)
    assert profile_for(measured.device).notes == ("mine",)
    assert "nvidia-h200" in profile_paths()
    with pytest.raises(ProfileError, match="nvidia-h200"):
        load_profile("nothing-like-it")
    with pytest.raises(ProfileError, match="calibrate"):
        profile_for(replace(measured.device, name="another"))


@given(
    st.floats(1e-4, 1e3), st.floats(0, 1e6), st.lists(st.floats(1, 1e8), min_size=3, max_size=20)
)
def test_a_line_is_found_again(slope: float, constant: float, xs: list[float]) -> None:
    assume(max(xs) > 2 * min(xs))
    line = fit_line(xs, [slope * x + constant for x in xs])
    for x in xs:
        assert line(x) == pytest.approx(slope * x + constant, rel=1e-4)


def test_small_points_of_a_line_count_as_much_as_large_ones() -> None:
    line = fit_line([1, 10, 1e6], [11, 20, 2e6])
    assert line(1) == pytest.approx(11, rel=0.35)


def test_a_knee_is_found_again() -> None:
    xs = [1, 2, 4, 8, 16, 32, 64]
    knee = fit_knee(xs, [100 + 5 * max(x - 10, 0) for x in xs])
    assert knee.saturation == pytest.approx(10, rel=0.1)
    assert knee(64) == pytest.approx(370, rel=0.03)


def test_a_decay_is_found_again() -> None:
    xs = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    ys = [900 * np.exp(-x / 3) + 60 * np.exp(-x / 40) + 10 for x in xs]
    decay = fit_decay(xs, ys)
    assert [decay(x) for x in xs] == pytest.approx(ys, rel=0.03)


def test_the_thesis_model_of_a_real_calibration(whole: DeviceProfile) -> None:
    profile = whole
    model = THESIS.for_device(profile)
    left = profile.residuals[THESIS.name].values()
    residuals = [abs(one) for values in left for one in values if one is not None]
    assert np.median(residuals) < 0.1
    assert model.group_factor(1024) == pytest.approx(1.0)
    assert model.group_factor(1) > 50
    program = parse("__kernel void k(__global float *a) { a[get_global_id(0)] *= 2.0f; }")
    counts = count(program, "k", (1 << 24,), (256,), [BufferArgument(4 << 24)])
    parts = {part.type: part for part in model.parts(counts)}
    assert parts[CostType.BASE].time_ns > 0
    assert model.predict(counts).duration_ns == pytest.approx(
        sum(p.time_ns for p in parts.values())
    )
    assert 20_000 < model.predict(counts).duration_ns < 200_000


def test_the_costs_of_the_default_model_are_those_of_the_hardware(whole: DeviceProfile) -> None:
    """What an H200 is known to do: 128 lanes a cycle, 4.8 TB/s, 0.5 to 0.7 ns a work-group."""
    costs = {name: one.value for name, one in whole.parameters["overlap"].items()}
    cycle_ns = 1e3 / whole.device.clock_mhz
    assert costs["float add"] == pytest.approx(cycle_ns / 4, rel=0.1)
    assert costs["wait float add"] == pytest.approx(4 * cycle_ns, rel=0.1)
    assert 0.5 < costs["group"] < 0.7
    assert 1 / 5.5e3 < costs["byte read"] < 1 / 3.5e3
    assert costs["wait l1"] < costs["wait l2"] < costs["wait memory"]
    assert 0.5 < costs["interval low"] < 1.0 < costs["interval high"] < 2.0
    assert all(value >= 0 for value in costs.values())


def test_a_profile_that_lacks_a_family_is_not_fitted(measured: DeviceProfile) -> None:
    families = {name: rows for name, rows in measured.families.items() if name != "classes"}
    with pytest.raises(ProfileError, match="classes"):
        THESIS.fit(replace(measured, families=families))
    with pytest.raises(ProfileError, match="not fitted"):
        THESIS.for_device(measured)


def test_noise_and_a_lowered_clock_are_said(measured: DeviceProfile) -> None:
    assert find_doubts(measured) == ()
    noisy = {
        name: tuple(replace(point, is_settled=False) for point in rows)
        for name, rows in measured.families.items()
    }
    (caveat,) = profile_caveats(replace(measured, families=noisy))
    assert (caveat.key, "100% of" in caveat.text) == ("noisy_profile", True)
    clocks = (ClockReading(0.0, 1980, 40), ClockReading(1.0, 1500, 90))
    throttled = replace(measured, provenance=replace(measured.provenance, clocks=clocks))
    assert "1980 to 1500" in find_doubts(throttled)[0]


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9))
def test_a_distance_is_one_or_more_and_the_same_both_ways(predicted: float, actual: float) -> None:
    p, a = np.asarray([predicted]), np.asarray([actual])
    assert distance(p, a)[0] >= 1.0
    assert distance(p, a)[0] == pytest.approx(distance(a, p)[0])
    assert quotient(p, a)[0] == pytest.approx(predicted / actual)


def test_repeating_ends_when_the_mean_is_known() -> None:
    values = iter([100.0] * 100)
    sample = repeat(lambda: next(values), StopRule(min_runs=5, warm_runs=3))
    assert sample.runs == 5
    assert sample.mean_ns == 100.0
    assert sample.is_settled


def test_repeating_ends_when_time_is_up() -> None:
    ticks = iter(range(1000))
    values = iter([1.0, 1000.0] * 500)
    rule = StopRule(min_runs=2, max_runs=400, max_s=10.0, warm_runs=0, relative_error=1e-6)
    sample = repeat(lambda: next(values), rule, clock=lambda: float(next(ticks)))
    assert not sample.is_settled
    assert sample.runs == 12
    point = Point(series="s", x=1.0, **asdict(sample))
    assert point.standard_error_ns == pytest.approx(sample.deviation_ns / 12**0.5)


def test_what_models_make_of_a_family_is_kept_with_it() -> None:
    profile = load_profile("nvidia-h200")
    measured = {point.x: point.mean_ns for point in profile.points("near-sets")}
    fits = profile.fitted_times("overlap", "near-sets", "every 132 B")
    assert [x for x, _ in fits] == sorted(measured)
    assert all(0.5 < ns / measured[x] < 2.0 for x, ns in fits)
    assert profile.fitted_times("overlap", "transfers", "pageable to device") == ()
    assert (
        0
        < len(profile.fitted_times("thesis", "base", "empty"))
        <= len(profile.points("base", "empty"))
    )
    left = {"overlap": {"near-sets": (None, *profile.residuals["overlap"]["near-sets"][1:])}}
    assert (
        len(replace(profile, residuals=left).fitted_times("overlap", "near-sets", "every 132 B"))
        == 6
    )
    short = {"overlap": {"near-sets": (0.0,)}}
    assert (
        replace(profile, residuals=short).fitted_times("overlap", "near-sets", "every 132 B") == ()
    )


def test_profiles_are_listed_shown_and_compared(run: Runner, tmp_path: Path) -> None:
    assert "NVIDIA H200" in run("profile", "list").stdout
    shown = run("profile", "show", str(H200), "--format", "json")
    families = {row["family"] for row in json.loads(shown.stdout)["families"]}
    assert {"base", "elementary", "transfers"} <= families
    compared = run("profile", "compare", str(H200), "nvidia-h200", "--format", "json")
    ratios = [row["ratio_1"] for row in json.loads(compared.stdout)["series"]]
    assert len(ratios) > 100
    drawn = run("profile", "plot", str(H200), "--family", "base", "-o", str(tmp_path))
    assert (tmp_path / "nvidia-h200-base.svg").is_file()
    assert "nvidia-h200-base.svg" in drawn.stdout
    run("profile", "plot", "nvidia-h200", "--family", "near-sets", "-o", str(tmp_path))
    assert "lines: overlap" in (tmp_path / "nvidia-h200-near-sets.svg").read_text()
    for words in (("show",), ("compare", "one"), ("list", "one"), ("plot", "a", "b")):
        assert run("profile", *words).status == 2
