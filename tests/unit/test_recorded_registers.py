"""Advice about registers on programs that ran on an H200, with spills and without."""

import json
import statistics
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

import cltrace
from cltrace.kernels.launches.settings import default_settings
from cltrace.predict.kernel_advice import Counting, advise_on_kernels
from cltrace.timeline.advice import Finding
from cltrace.timeline.analysis import Analysis

ARCHIVE = Path(__file__).parent.parent / "data" / "h200-register-advice.tar.xz"
IN_THIS_PROCESS = replace(default_settings(), workers=1)
RULES = {"register-spills", "register-pressure", "low-occupancy"}
WARMED_UP = {"limit-below-sums"}
"""After the remedy, the other variant's launch for warming up takes more than 1 % of the run."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("registers")
    with tarfile.open(ARCHIVE) as archive:
        # Pythons before 3.11.4 have no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)
    return directory


def findings(path: Path) -> dict[str, Finding]:
    with cltrace.load(path) as opened:
        analysis = Analysis(opened)
        advice = advise_on_kernels(analysis, Counting(IN_THIS_PROCESS))
        run = analysis.findings_with(advice)
    return {each.rule: each for each in run.worthwhile() if each.rule in RULES}


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("limit-below-sums", "register-spills"),
        pytest.param("limit-below-tile", "register-spills", marks=pytest.mark.slow),
        ("large-required-groups", "register-spills"),
        ("wide-tile", "register-spills"),
        pytest.param("values-around-a-walk", "register-pressure", marks=pytest.mark.slow),
        ("sound-tile", ""),
        pytest.param("sound-walk", "", marks=pytest.mark.slow),
    ],
)
def test_measured_gains_lie_within_the_stated(recorded: Path, case: str, rule: str) -> None:
    assert json.loads((recorded / "rules.json").read_text())[case] == rule
    before = findings(recorded / f"{case}-before.cltrace")
    assert set(before) == ({rule} if rule else set())
    if case not in WARMED_UP:
        assert not findings(recorded / f"{case}-after.cltrace")
    if rule:
        times = json.loads((recorded / f"{case}.compare.json").read_text())
        saved_ns = statistics.median(times["before_ns"]) - statistics.median(times["after_ns"])
        gain = before[rule].gain
        assert gain is not None
        assert gain.low_ns <= saved_ns <= gain.high_ns
