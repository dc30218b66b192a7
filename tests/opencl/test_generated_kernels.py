"""Random kernels: lock-step execution, PoCL, Oclgrind and, where there is one, a reference in numpy.

All compute the same, bit by bit; contraction is off in every source.
"""

import os
from collections.abc import Mapping, Sequence

import pytest

from cltrace.kernels.compiler import CodeForm
from tests.kernels.cases import Array, Case
from tests.kernels.generated import sample
from tests.kernels.launches import executed
from tests.kernels.oclgrind import run_apart
from tests.kernels.run_device import OCLGRIND, POCL

pytestmark = pytest.mark.opencl

PARTS = 6
USUAL_PARTS = 1
CHOSEN = [
    *(pytest.param(0, part, id=f"part{part}") for part in range(USUAL_PARTS)),
    *(
        pytest.param(number, part, marks=pytest.mark.slow, id=f"sample{number}-part{part}")
        for number in range(11)
        for part in range(USUAL_PARTS if number == 0 else 0, PARTS)
    ),
]
"""A sample, and which of its parts."""


def _disagreements(
    cases: Sequence[Case], found: Mapping[str, list[Array | None]], errors: Mapping[str, str]
) -> dict[str, str]:
    """What a platform has otherwise than lock-step execution and the reference, by case."""
    wrong = {}
    for case in cases:
        said = errors.get(case.name) or _disagreement(case, found[case.name])
        if said:
            wrong[case.name] = f"{said}\n{case.text}"
    return wrong


def _disagreement(case: Case, found: list[Array | None]) -> str:
    for form in (CodeForm.OPTIMISED, CodeForm.WRITTEN):
        ours, notes = executed(case, form)
        difference = case.difference(ours, found)
        if notes or difference:
            return f"executed as {form}: {sorted(notes)} {difference}"
    return case.disagreement(found) if case.has_reference else ""


@pytest.mark.parametrize(("number", "part"), CHOSEN)
def test_pocl_and_lock_step_execution_agree(number: int, part: int) -> None:
    cases = sample(number)[part::PARTS]
    run = run_apart(cases, POCL, {**os.environ, "POCL_KERNEL_CACHE": "0"})
    assert _disagreements(cases, run.found, run.errors) == {}


@pytest.mark.parametrize(("number", "part"), CHOSEN)
def test_oclgrind_and_lock_step_execution_agree(
    oclgrind: dict[str, str], number: int, part: int
) -> None:
    cases = sample(number)[part::PARTS]
    run = run_apart(cases, OCLGRIND, oclgrind, "-cl-opt-disable")
    assert _disagreements(cases, run.found, run.errors) == {}


def test_the_sample_is_large_and_of_all_families() -> None:
    cases = sample(0)
    assert len({case.name for case in cases}) == len(cases)
    assert len({case.text for case in cases}) >= 200
    assert sum(case.has_reference for case in cases) >= 100
