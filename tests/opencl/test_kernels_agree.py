"""PoCL and Oclgrind on the kernels that lock-step execution is held against: a third and fourth view.

Each runs in a process of its own. A case states where an oracle is wrong or does not support it.
"""

import os

import pytest

from tests.kernels.catalogue import CASES
from tests.kernels.oclgrind import run_apart
from tests.kernels.run_device import OCLGRIND, POCL

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_pocl_has_the_results_of_the_references(half: int) -> None:
    cases = [case for case in CASES if "pocl" not in case.unsupported_by][half::2]
    run = run_apart(cases, POCL, {**os.environ, "POCL_KERNEL_CACHE": "0"})
    wrong = {
        case.name: run.errors.get(case.name) or case.disagreement(run.found[case.name])
        for case in cases
        if not case.pocl_wrong
    }
    assert {name: what for name, what in wrong.items() if what} == {}
    assert len(wrong) >= 75


def test_oclgrind_has_the_results_of_the_references(oclgrind: dict[str, str]) -> None:
    cases = [case for case in CASES if "oclgrind" not in case.unsupported_by]
    run = run_apart(cases, OCLGRIND, oclgrind, "-cl-opt-disable")
    wrong = {
        case.name: run.errors.get(case.name) or case.disagreement(run.found[case.name])
        for case in cases
        if not case.oclgrind_wrong
    }
    assert {name: what for name, what in wrong.items() if what} == {}
    assert len(wrong) >= 150
