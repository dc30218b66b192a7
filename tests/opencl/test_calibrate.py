"""`cltrace calibrate` on a device."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cltrace.predict.measurements import read_measurements
from cltrace.profile import read_profile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits
from tests.conftest import Runner
from tests.patience import HANG_S, wait_until

COMMAND = [sys.executable, "-m", "cltrace", "calibrate", "--quick", "--noisy"]
"""`--noisy`, as this machine may be busy."""


def test_a_calibration_is_interrupted_goes_on_and_is_fitted(run: Runner, tmp_path: Path) -> None:
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

    done = run("calibrate", "--quick", "--noisy", "--measure-only", str(path))
    assert done.status == 0, done.stderr
    assert not partial.exists()
    measured = read_profile(path)
    limits = ProbeLimits.of(measured.device, Effort.QUICK)
    left_out = {entry.family: entry.unmeasured for entry in measured.provenance.left_out}
    for name, family in FAMILIES.items():
        num_probes = len(list(family.probes(limits)))
        assert len(measured.points(name)) + left_out.get(name, 0) == num_probes
    for name, points in before.families.items():
        assert measured.families[name] == points
    assert measured.parameters == {}

    output = tmp_path / "fitted.json"
    done = run("calibrate", "--from", str(path), "-o", str(output), "--noisy")
    assert done.status == 0, done.stderr
    assert "Costs" in done.stdout
    assert read_profile(output).parameters["thesis"]


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
