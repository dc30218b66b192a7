"""Rows of `benchmarks/entry_points.py`: every hook has a row, and every row calls its hooks."""

import json
import sys
from collections import Counter
from pathlib import Path

import pyopencl.invoker  # noqa: F401 - the tracer replaces its function when it is imported
import pytest

from benchmarks.programs.cases import SUBJECTS
from cltrace.intercept.tracer import Tracer
from cltrace.spool.settings import Settings
from tests.conftest import Runner

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "programs" / "called_hooks.py"
CASES = [(subject, case) for subject, cases in SUBJECTS.items() for case in cases]
NAMED = {hook for _, case in CASES for hook in case.hooks}


@pytest.fixture
def installed(tmp_path: Path) -> list[str]:
    """Names of the hooks that a tracer installs."""
    tracer = Tracer(tmp_path, Settings(), 0)
    try:
        tracer.install()
        return tracer.installed_names
    finally:
        tracer.finish("test")


def test_every_hook_has_a_row(installed: list[str]) -> None:
    assert len(installed) > 80
    without = sorted(set(installed) - NAMED)
    assert not without, f"no case in benchmarks/programs/cases names {', '.join(without)}"


def test_rows_have_names_of_their_own() -> None:
    repeated = [key for key, count in Counter((s, c.name) for s, c in CASES).items() if count > 1]
    assert not repeated


def test_targets_are_those_of_hooked_calls() -> None:
    assert not [case.name for _, case in CASES if case.target_us is not None and not case.hooks]


@pytest.mark.opencl
def test_rows_call_the_hooks_that_they_name(run: Runner, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = run(PROGRAM, report, command=[sys.executable])
    assert done.status == 0, done.stderr
    result = json.loads(report.read_text())
    assert not result["missed"]
    assert len(result["skipped"]) < len(CASES) / 5, result["skipped"]
