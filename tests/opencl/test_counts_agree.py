"""What is executed, opcode by opcode and byte by byte, against Oclgrind's own counts.

Two comparisons. The code that Oclgrind executes is read back from it and executed by lock-step
execution: whatever differs is counted wrongly. And our own clang's code is held against that code:
whatever differs there, two compilers write otherwise, or Oclgrind did after compiling.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pytest

from cltrace.kernels.ir.module import Module
from cltrace.kernels.ir.reader import read_module
from tests.kernels.cases import Case
from tests.kernels.catalogue import CASES
from tests.kernels.element_stores import with_element_stores
from tests.kernels.generated import sample
from tests.kernels.oclgrind import Accesses, Counts, counts_of
from tests.kernels.opcodes import NOT_MOVED, RETYPED, Executed, executed_code, module_of

pytestmark = pytest.mark.opencl

NO_OPERATIONS = frozenset({"phi", "alloca"})
"""Where control comes from is no operation, and neither is naming a variable."""
TYPES_OF_POINTERS = frozenset({RETYPED, NOT_MOVED})
"""What clang 14 writes to give a pointer another type. Pointers have none in clang 22; the address
is the same before and after."""
CONTENDED = frozenset({"float_sum_by_swap", "linked_lists", "spin_lock"})
"""Loops until a swap succeeds take as many rounds as the order of work-items makes them."""
BY_VALUE = {"scenes": {"call llvm.memcpy": (448, 192)}}
"""A structure passed by value is copied where it is passed, four times by each of 64 work-items.
Oclgrind copies it inside the call and counts no copy."""


@dataclass(frozen=True)
class Launch:
    """A launch by Oclgrind, and by lock-step execution."""

    case: Case
    counts: Counts

    @cached_property
    def module(self) -> Module:
        """The code that Oclgrind executed."""
        return read_module(self.counts.code)

    @cached_property
    def of_their_code(self) -> Executed:
        return executed_code(self.case, self.module)

    @cached_property
    def of_our_code(self) -> Executed:
        return executed_code(self.case, module_of(self.case))

    @cached_property
    def with_element_stores(self) -> Executed:
        """Our code after what Oclgrind does to the code that clang gives it."""
        return executed_code(self.case, with_element_stores(module_of(self.case)))


@dataclass(frozen=True)
class Differences:
    """By launch, what is counted otherwise, and its share of all that is executed."""

    apart: Mapping[str, Mapping[str, tuple[int, int]]]
    errors: Mapping[str, float]

    @property
    def error(self) -> float:
        """The mean error of hand-written kernels. Generated ones agree, and would make it small."""
        errors = [self.errors[case.name] for case in CASES if case.name in self.errors]
        return sum(errors) / len(errors)


_Count = Callable[[Launch], Counter[str]]


def _launches(cases: Sequence[Case]) -> list[Launch]:
    counted = counts_of([case for case in cases if "oclgrind" not in case.unsupported_by])
    return [
        Launch(case, counted[case.name])
        for case in cases
        if case.name in counted and case.name not in CONTENDED
    ]


@pytest.fixture(scope="module")
def launches(oclgrind: dict[str, str]) -> list[Launch]:
    del oclgrind
    return _launches([*CASES, *sample(0)])


def _differences(
    launches: Sequence[Launch], of_ours: _Count, of_theirs: _Count, left_out: frozenset[str]
) -> Differences:
    apart, errors = {}, {}
    for launch in launches:
        ours, theirs = of_ours(launch), of_theirs(launch)
        names = (ours.keys() | theirs.keys()) - left_out
        differing = {
            name: (ours[name], theirs[name]) for name in names if ours[name] != theirs[name]
        }
        total = sum(theirs[name] for name in names)
        errors[launch.case.name] = sum(abs(a - b) for a, b in differing.values()) / max(total, 1)
        if differing:
            apart[launch.case.name] = differing
    return Differences(apart, errors)


def _counted(counts: Counts) -> Counter[str]:
    """What Oclgrind counted, as our executor has it: functions of the program are inlined."""
    found = Counter(counts.opcodes)
    for name, number in counts.calls.items():
        if name.startswith(("_Z", "llvm.", "printf")):
            found[f"call {name}"] += number
        else:
            found["ret"] -= number
    found.update(_accesses(counts, "count"))
    return _with_plain_names(found)


def _accesses(counts: Counts, what: str) -> Counter[str]:
    tables: dict[str, Mapping[str, Accesses]] = {"load": counts.loads, "store": counts.stores}
    return Counter(
        {
            f"{word} {space}": getattr(part, what)
            for word, table in tables.items()
            for space, part in table.items()
        }
    )


def _with_plain_names(counted: Mapping[str, int]) -> Counter[str]:
    """Copies of memory without the types that their names end in."""
    found: Counter[str] = Counter()
    for name, number in counted.items():
        found[name.split(".p", 1)[0] if name.startswith("call llvm.mem") else name] += number
    return found


def _opcodes(launch: Launch) -> Counter[str]:
    return _counted(launch.counts)


def _sizes(launch: Launch) -> Counter[str]:
    return _accesses(launch.counts, "size")


def test_the_same_code_is_counted_as_oclgrind_counts_it(launches: list[Launch]) -> None:
    def ours(launch: Launch) -> Counter[str]:
        return _with_plain_names(launch.of_their_code.plain)

    opcodes = _differences(launches, ours, _opcodes, NO_OPERATIONS)
    assert opcodes.apart == BY_VALUE
    assert opcodes.error <= 0.0002
    sizes = _differences(launches, lambda one: one.of_their_code.sizes, _sizes, frozenset())
    assert sizes.apart == {}
    assert len(launches) >= 420


def test_the_same_code_has_the_results_of_the_references(launches: list[Launch]) -> None:
    wrong = {
        one.case.name: one.case.disagreement(one.of_their_code.contents)
        for one in launches
        if one.case.has_reference
    }
    assert {name: what for name, what in wrong.items() if what} == {}


def test_two_compilers_code_differs_by_types_of_pointers_and_stores_of_elements(
    launches: list[Launch],
) -> None:
    def ours(launch: Launch) -> Counter[str]:
        return _with_plain_names(launch.with_element_stores.opcodes)

    def theirs(launch: Launch) -> Counter[str]:
        return _with_plain_names(launch.of_their_code.opcodes)

    opcodes = _differences(launches, ours, theirs, NO_OPERATIONS | TYPES_OF_POINTERS)
    assert opcodes.apart == {}
    sizes = _differences(launches, lambda one: one.with_element_stores.sizes, _sizes, frozenset())
    assert sizes.apart == {}


def test_two_compilers_code_is_much_the_same_as_it_is(launches: list[Launch]) -> None:
    """With nothing left out; and with Oclgrind's own step alone taken into account."""
    as_it_is = _differences(
        launches, lambda one: _with_plain_names(one.of_our_code.plain), _opcodes, NO_OPERATIONS
    )
    assert as_it_is.error <= 0.017
    assert len(launches) - len(as_it_is.apart) >= 400
    alike = _differences(
        launches,
        lambda one: _with_plain_names(one.with_element_stores.plain),
        _opcodes,
        NO_OPERATIONS,
    )
    assert alike.error <= 0.005


def test_stores_of_elements_are_what_oclgrind_makes_of_code(launches: list[Launch]) -> None:
    """Oclgrind's own code stays as it is, and ours still computes the same."""
    modules = {one.counts.code: one.module for one in launches}
    for module in modules.values():
        again = with_element_stores(module)
        assert all(again.functions[name] == of for name, of in module.functions.items())
    wrong = {
        one.case.name: one.case.disagreement(one.with_element_stores.contents)
        for one in launches
        if one.case.has_reference
    }
    assert {name: what for name, what in wrong.items() if what} == {}
