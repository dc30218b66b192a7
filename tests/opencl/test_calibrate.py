"""`cltrace calibrate` on a device."""

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cltrace.predict.measurements import read_measurements
from cltrace.profile import DeviceProfile, LeftOut, Point, load_profile, read_profile, write_profile
from cltrace.suite.calibration import FAMILIES, Effort, PlannedProbe, ProbeLimits, planned_probes
from tests.conftest import Runner
from tests.patience import HANG_S, wait_until

COMMAND = [sys.executable, "-m", "cltrace", "calibrate", "--quick", "--noisy"]
"""`--noisy`, as this machine may be busy."""


MEASURED = load_profile("pocl-cpu")
MODELLED = {"base", "transfers", "barriers", "local-banks", "classes"}
LEFT = MODELLED | (FAMILIES.keys() - MEASURED.families.keys())
"""Families that are measured in CI. For the others, points stand that were measured before."""
FITTED = MODELLED | {"groups", "chases", "working-sets"}


def measured_before(planned: PlannedProbe) -> Point:
    """Return a point of the shipped profile for a probe, of the nearest size."""
    family = MEASURED.families[planned.family]
    series = [point for point in family if point.series == planned.probe.series] or family
    nearest = min(series, key=lambda point: abs(point.x - planned.probe.x))
    return replace(nearest, series=planned.probe.series, x=planned.key[2])


def with_most_families(partial: DeviceProfile) -> DeviceProfile:
    """Return a calibration that was interrupted later: few families are left."""
    limits = ProbeLimits.of(partial.device, Effort.QUICK)
    families = {name: list(points) for name, points in partial.families.items()}
    has_begun = {(name, p.series, p.x) for name, points in families.items() for p in points}
    for planned in planned_probes(limits):
        if planned.family not in LEFT and planned.key not in has_begun:
            families.setdefault(planned.family, []).append(measured_before(planned))
    return replace(partial, families={name: tuple(points) for name, points in families.items()})


def with_few_families(measured: DeviceProfile) -> DeviceProfile:
    """Return a calibration that has left out what takes longest to fit."""
    families = {name: measured.families[name] for name in FITTED}
    families["throughput"] = measured.points("throughput", "float add")
    left_out = tuple(
        LeftOut(name, len(points) - len(families.get(name, ())))
        for name, points in measured.families.items()
        if len(points) > len(families.get(name, ()))
    )
    provenance = replace(measured.provenance, left_out=left_out)
    return replace(measured, families=families, provenance=provenance)


@pytest.mark.parametrize(
    "advance",
    [with_most_families, pytest.param(lambda partial: partial, marks=pytest.mark.slow)],
    ids=["late", "early"],
)
def test_a_calibration_is_interrupted_goes_on_and_is_fitted(
    advance: Callable[[DeviceProfile], DeviceProfile], run: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "mine.json"
    partial = tmp_path / "mine.json.calibrating"
    process = subprocess.Popen(
        [*COMMAND, "--measure-only", str(path)], stderr=subprocess.PIPE, text=True
    )
    wait_until(partial.exists, "the first family to be measured")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 2
    assert "continues from" in said
    before = read_profile(partial)
    assert 0 < len(before.families) < len(FAMILIES)
    before = advance(before)
    write_profile(before, partial)

    done = run("calibrate", "--quick", "--noisy", "--measure-only", str(path))
    assert done.status == 0, done.stderr
    assert not partial.exists()
    measured = read_profile(path)
    check_continued(before, measured)
    if advance is with_most_families:  # a fit to all of them takes a minute
        write_profile(with_few_families(measured), path)

    output = tmp_path / "fitted.json"
    done = run("calibrate", "--from", str(path), "-o", str(output), "--noisy")
    assert done.status == 0, done.stderr
    assert "Costs" in done.stdout
    assert read_profile(output).parameters["thesis"]


def check_continued(before: DeviceProfile, measured: DeviceProfile) -> None:
    """Check that every probe was measured or is named, and what was there is as it was."""
    limits = ProbeLimits.of(measured.device, Effort.QUICK)
    left_out = {entry.family: entry.unmeasured for entry in measured.provenance.left_out}
    for name, family in FAMILIES.items():
        num_probes = len(list(family.probes(limits)))
        assert len(measured.points(name)) + left_out.get(name, 0) == num_probes
    for name, points in before.families.items():
        assert measured.families[name][: len(points)] == points
    assert measured.num_points > before.num_points
    assert measured.parameters == {}


@pytest.mark.parametrize("words", [["--device", "no such device"], ["--from", "missing.json"]])
def test_what_is_not_there_is_said(run: Runner, words: list[str]) -> None:
    done = run("calibrate", *words)
    assert done.status == 2
    assert len(done.stderr.splitlines()) == 1


def test_a_set_is_measured_here_and_predicted_there(run: Runner, tmp_path: Path) -> None:
    words = ["accuracy", "--set", "unrestricted", "--samples", "6", "--seed", "3", "--cold"]
    done = run(*words, "--measure-only", "set.json")
    assert done.status == 0, done.stderr
    measured = read_measurements(tmp_path / "set.json")
    assert len(measured.timings) == 6
    for timing in measured.timings:
        assert timing.first_ns
        assert timing.second_ns
        assert timing.cold_ns
    done = run("accuracy", "--from", "set.json", "--profile", "pocl-cpu")
    assert done.status == 0, done.stderr
    assert "measured again" in done.stdout
