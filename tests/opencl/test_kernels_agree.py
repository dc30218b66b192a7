"""PoCL and Oclgrind on the kernels that lock-step execution is held against: a third and fourth view.

Each runs in a process of its own. A case states where an oracle is wrong or does not support it.
"""

import os
from collections import Counter

import pytest

from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.launches import opcodes_of
from tests.kernels.oclgrind import Counts, counts_of, environment, icd_library, run_apart
from tests.kernels.run_device import OCLGRIND, POCL

pytestmark = pytest.mark.opencl

NOT_WRITTEN = frozenset({"phi", "alloca"})
"""Where control comes from is no operation, and neither is naming a variable."""
OTHER_COMPILER = (
    "bitcast",  # of pointers, which have no types any more
    "getelementptr",  # an index of zero is left out, and one into a structure is one step
    "insertelement", "extractelement", "shufflevector",  # vectors of three are put together otherwise
    "store private", "load private",  # and are stored as four; `bool` is kept otherwise
)  # fmt: skip
"""Where clang 22 writes other code than Oclgrind's clang 14 does without optimising."""


def _oclgrind() -> dict[str, str]:
    try:
        return environment(icd_library())
    except StopIteration:
        if os.environ.get("CLTRACE_TESTS_NEED_ALL"):
            raise
        pytest.skip("Oclgrind is not there: make .oclgrind")


def test_pocl_has_the_results_of_the_references() -> None:
    cases = [case for case in CASES if "pocl" not in case.unsupported_by]
    run = run_apart(cases, POCL, {**os.environ, "POCL_KERNEL_CACHE": "0"})
    wrong = {
        case.name: run.errors.get(case.name) or case.disagreement(run.found[case.name])
        for case in cases
        if not case.pocl_wrong
    }
    assert {name: what for name, what in wrong.items() if what} == {}
    assert len(wrong) >= 150


def test_oclgrind_has_the_results_of_the_references() -> None:
    cases = [case for case in CASES if "oclgrind" not in case.unsupported_by]
    run = run_apart(cases, OCLGRIND, _oclgrind(), "-cl-opt-disable")
    wrong = {
        case.name: run.errors.get(case.name) or case.disagreement(run.found[case.name])
        for case in cases
        if not case.oclgrind_wrong
    }
    assert {name: what for name, what in wrong.items() if what} == {}
    assert len(wrong) >= 150


def _their_opcodes(counts: Counts) -> Counter[str]:
    found = Counter(counts.opcodes)
    found.update({f"call {name}": number for name, number in counts.calls.items()})
    found.update({f"load {space}": part.count for space, part in counts.loads.items()})
    found.update({f"store {space}": part.count for space, part in counts.stores.items()})
    return found


def _differences(case: Case, counts: Counts) -> tuple[dict[str, tuple[int, int]], float]:
    """Opcodes that are counted otherwise, and their share of all that is executed."""
    ours, theirs = opcodes_of(case), _their_opcodes(counts)
    calls = sum(number for name, number in theirs.items() if _is_of_program(name))
    theirs = Counter({name: n for name, n in theirs.items() if not _is_of_program(name)})
    theirs["ret"] -= calls  # the program's functions are inlined: their calls and returns are gone
    ours, theirs = _with_plain_names(ours), _with_plain_names(theirs)
    names = (ours.keys() | theirs.keys()) - NOT_WRITTEN
    apart = {name: (ours[name], theirs[name]) for name in names if ours[name] != theirs[name]}
    total = sum(theirs[name] for name in names)
    return apart, sum(abs(a - b) for a, b in apart.values()) / total


def _is_of_program(name: str) -> bool:
    return name.startswith("call ") and not name.startswith(
        ("call _Z", "call llvm.", "call printf")
    )


def _with_plain_names(counted: Counter[str]) -> Counter[str]:
    """Copies of memory without the types that their names end in."""
    found: Counter[str] = Counter()
    for name, number in counted.items():
        found[name.split(".p", 1)[0] if name.startswith("call llvm.mem") else name] += number
    return found


def test_operations_as_written_are_those_that_oclgrind_counts() -> None:
    _oclgrind()
    cases = [case for case in CASES if "oclgrind" not in case.unsupported_by]
    counted = counts_of(cases)
    compared = [
        (case, *_differences(case, counted[case.name])) for case in cases if case.name in counted
    ]
    unexplained = {
        case.name: {name: pair for name, pair in apart.items() if not _is_explained(case, name)}
        for case, apart, _ in compared
    }
    assert {name: apart for name, apart in unexplained.items() if apart} == {}
    errors = [error for case, _, error in compared if case.name not in CONTENDED]
    assert len(compared) >= 60
    assert sum(not apart for _, apart, _ in compared) >= 150
    assert sum(errors) / len(errors) <= 0.02  # with what the two compilers write otherwise


PARTS = {
    (
        "black_scholes",
        "load global",
    ): "an element of a vector in memory is set by reading the whole",
    ("swizzles", "store global"): "elements of a vector of three are stored together",
    ("scenes", "call llvm.memcpy"): "a structure passed by value is copied where it is passed",
}
"""Single differences between the two compilers."""
CONTENDED = frozenset({"float_sum_by_swap", "linked_lists", "spin_lock"})
"""Loops until a swap succeeds take as many rounds as the order of work-items makes them."""


def _is_explained(case: Case, name: str) -> bool:
    return name in OTHER_COMPILER or case.name in CONTENDED or (case.name, name) in PARTS
