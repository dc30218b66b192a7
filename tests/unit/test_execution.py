"""Lock-step execution against references in numpy: real kernels, all families of builtin functions."""

import pytest

from cltrace.kernels.compiler import CodeForm
from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.launches import executed

WAITING = {"spin_lock": frozenset({"a loop waits for other work-items"})}
"""What the executor says of cases that are correct and unusual."""


@pytest.mark.parametrize("form", [CodeForm.OPTIMISED, CodeForm.WRITTEN])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_has_the_results_of_its_reference(case: Case, form: CodeForm) -> None:
    found, notes = executed(case, form)
    assert case.disagreement(found) == ""
    assert notes == WAITING.get(case.name, frozenset())


def test_the_cases_are_of_many_kernels_and_families() -> None:
    assert len({(case.source, case.kernel) for case in CASES}) >= 150
    assert len({case.family for case in CASES}) >= 22
