"""Loops whose counters are constants in each trip: a compiler that unrolls them computes none of these.

So are those that double or halve a counter from a constant to a constant, the loops in them that begin or
end with such a counter, and what all of them compute from their counters alone (`1 - buffer`, `k % 3`).
NVIDIA's assembler leaves no loop and no such computation, but the barriers, of a scan or a bitonic sort
of a work-group whose size is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.kernels.execute.arithmetic import binary_operation, comparison, conversion
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.instructions import (
    Binary,
    Branch,
    Compare,
    Convert,
    Copy,
    CopyOrigin,
    Instruction,
    Select,
)
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.values import Value

MAX_TRIPS: Final = 256
"""Largest number of trips, of all entries of a loop together."""
_EXTENSIONS: Final = frozenset({"sext", "zext", "trunc"})


@dataclass(frozen=True, slots=True)
class ConstantLoop:
    """A loop whose counters are constants in each trip.

    `trips` are those of its longest entry, `values` the slots whose values are constants in each trip,
    and `powers` those of them that are a power of two in each. `form` has no affine phis; all other phis
    of the header than these values are in `non_affine`.
    """

    trips: int
    values: frozenset[int]
    powers: frozenset[int]
    form: CanonicalLoop


def find_constant_loops(kernel: PreparedKernel) -> Mapping[int, ConstantLoop]:
    """Return the loops of a kernel whose counters are constants in each trip, by number."""
    loops: dict[int, ConstantLoop] = {}
    constants = {
        item.slot: kernel.initial_frame[item.slot]
        for item in kernel.function.constants
        if isinstance(item.type, IntegerType)
    }
    environments: dict[int, Sequence[Mapping[int, Value]]] = {-1: [constants]}
    for number, loop in enumerate(kernel.graph.loops):
        environments[number] = environments[loop.parent]  # if its own counters are unknown
        # Of nested loops with many trips together, the inner ones may be constant by themselves.
        for outer in (environments[loop.parent], environments[-1]):
            search = _LoopSearch(kernel, number, outer[0])
            if search.form is None:
                break
            with np.errstate(all="ignore"):  # branches that are not taken may divide by zero
                entries = _run(search, search.form, outer)
            if entries:
                environments[number] = [trip for trips in entries for trip in trips]
                loops[number] = _constant_loop(search, search.form, entries)
                break
    return loops


def _constant_loop(
    search: "_LoopSearch", form: CanonicalLoop, entries: Sequence[Sequence[Mapping[int, Value]]]
) -> ConstantLoop:
    values = frozenset(search.values())
    environments = [trip for trips in entries for trip in trips]
    powers = frozenset(slot for slot in values if _is_power(environments, slot))
    return ConstantLoop(max(map(len, entries)), values, powers, form)


def _is_power(environments: Sequence[Mapping[int, Value]], slot: int) -> bool:
    """Return True for a value that is a power of two wherever it is computed."""
    values = [int(each[slot]) for each in environments if slot in each]
    return bool(values) and all(value > 0 and not value & (value - 1) for value in values)


def _run(
    search: "_LoopSearch", form: CanonicalLoop, outer: Sequence[Mapping[int, Value]]
) -> list[list[Mapping[int, Value]]]:
    """Return the values in each trip of each entry; nothing for too many trips."""
    entries: list[list[Mapping[int, Value]]] = []
    left = MAX_TRIPS
    for around in outer:
        entries.append(search.run(form, around, left + 1))
        left -= len(entries[-1])
        if left < 0:
            return []
    return entries


class _LoopSearch:
    """The constant values of one loop. `outer` has the values that are constants around it."""

    def __init__(self, kernel: PreparedKernel, number: int, outer: Mapping[int, Value]) -> None:
        self._function = kernel.function
        self._loop = kernel.graph.loops[number]
        self._definitions = {
            result_of(item): item
            for block in self._loop.blocks
            for item in self._function.blocks[block].instructions
            if result_of(item) >= 0
        }
        self._outer = outer
        self._constant: dict[int, bool] = {}
        self._phis = dict(self._header_values())
        self._drop_varying()
        self._is_tested_first = False
        self.form: Final = self._form(kernel.graph, number)

    def _header_values(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the phis of the header that have one value at entry, and one from the trip before."""
        blocks = self._loop.blocks
        for phi in self._function.blocks[self._loop.header].phis:
            first = [slot for block, slot in phi.incoming if block not in blocks]
            following = [slot for block, slot in phi.incoming if block in blocks]
            is_integer = isinstance(phi.type, IntegerType)
            if is_integer and len(first) == len(following) == 1 and first[0] in self._outer:
                yield phi.result, (first[0], following[0])

    def _drop_varying(self) -> None:
        """Drop the phis whose next values need something that is no constant."""
        while True:
            self._constant = {}
            kept = {phi: pair for phi, pair in self._phis.items() if self._is_constant(pair[1])}
            if len(kept) == len(self._phis):
                return
            self._phis = kept

    def _is_constant(self, slot: int) -> bool:
        if slot in self._outer or slot in self._phis:
            return True
        if slot not in self._constant:
            self._constant[slot] = False  # a value that needs itself
            item = self._definitions.get(slot)
            self._constant[slot] = (
                item is not None
                and _is_computed(item)
                and all(map(self._is_constant, operands_of(item)))
            )
        return self._constant[slot]

    def _form(self, graph: Graph, number: int) -> CanonicalLoop | None:
        """Return the loop as a canonical one, None if its counters do not end it.

        Something else may end it before, as in a sort by insertion: a compiler then unrolls it as well.
        clang copies a test into the ways to it (`all = all && is_set(k)`); such copies are one.
        """
        blocks, header = self._loop.blocks, self._loop.header
        leaving = [
            block for block in blocks if any(t not in blocks for t in graph.successors[block])
        ]
        if not self._phis or any(graph.loop_of[block] != number for block in leaving):
            return None
        tests = {block: self._test(block) for block in leaving}
        ending = [block for block, test in tests.items() if test is not None]
        if len({self._way_out(block, tests[block]) for block in ending}) != 1:
            return None
        last = ending[0]
        branch, test = self._function.blocks[last].terminator, tests[last]
        assert isinstance(branch, Branch)
        assert test is not None
        self._is_tested_first = last == header and len(blocks) > 1
        phis = (phi.result for phi in self._function.blocks[header].phis)
        return CanonicalLoop(
            number=number,
            header=header,
            affine=(),
            non_affine=tuple(phi for phi in phis if phi not in self._phis),
            comparison=test,
            continues_when=branch.then in blocks,
            step_instructions=(),
            copied_tests=frozenset(
                copy.result for block in ending if (copy := tests[block]) is not None
            ),
        )

    def _test(self, block: int) -> Compare | None:
        """Return the comparison of counters by which a block leaves the loop; None for another test.

        clang makes a truth value of the counter of two trips, which is a comparison with itself here.
        """
        branch = self._function.blocks[block].terminator
        if not isinstance(branch, Branch) or not self._is_constant(branch.condition):
            return None
        slot = branch.condition
        if slot in self._outer:  # it does not change with the trips
            return None
        test = self._definitions.get(slot)
        if isinstance(test, Compare):
            return test
        return Compare(slot, "eq", IntegerType(1), slot, slot, branch.place)

    def _way_out(self, block: int, test: Compare | None) -> tuple[str, int, int, bool] | None:
        """Return what a test compares, and its result for which the loop goes on."""
        branch = self._function.blocks[block].terminator
        if test is None or not isinstance(branch, Branch):
            return None
        return test.predicate, test.left, test.right, branch.then in self._loop.blocks

    def run(
        self, form: CanonicalLoop, around: Mapping[int, Value], max_trips: int
    ) -> list[Mapping[int, Value]]:
        """Return the values in each trip of an entry, in at most `max_trips`."""
        trips: list[Mapping[int, Value]] = []
        counters = {phi: around[first] for phi, (first, _) in self._phis.items()}
        while len(trips) < max_trips:
            environment = {**around, **counters}
            for slot in self.values():
                self._compute(slot, environment)
            goes_on = bool(environment[form.comparison.result]) == form.continues_when
            if goes_on or not self._is_tested_first:
                trips.append(environment)
            if not goes_on:
                break
            counters = {phi: environment[slot] for phi, (_, slot) in self._phis.items()}
        return trips

    def _compute(self, slot: int, environment: dict[int, Value]) -> Value:
        """Return a constant value, and note it and those that it needs in the environment."""
        if slot not in environment:
            item = self._definitions[slot]
            operands = [self._compute(operand, environment) for operand in operands_of(item)]
            environment[slot] = _result(item, operands)
        return environment[slot]

    def values(self) -> Iterator[int]:
        """Yield the slots whose values are constants in each trip."""
        yield from self._phis
        yield from filter(self._is_constant, self._definitions)


def _is_computed(item: Instruction) -> bool:
    """Return True for an operation on scalar integers whose result follows from its operands."""
    match item:
        case Binary(_, _, IntegerType(), _, _) | Compare(_, _, IntegerType(), _, _):
            return True
        case Convert(_, operator, IntegerType(), IntegerType(), _):
            return operator in _EXTENSIONS
        case Select(type=IntegerType()):
            return True
        case Copy(_, IntegerType(), _, origin):
            return origin is CopyOrigin.FREEZE
        case _:
            return False


def _result(item: Instruction, operands: Sequence[Value]) -> Value:
    """Return the result of an operation of which `_is_computed` is true."""
    match item:
        case Binary(_, operator, kind, _, _):
            return binary_operation(operator, kind)(*operands)
        case Compare(_, predicate, kind, _, _):
            return comparison(predicate, kind)(*operands)
        case Convert(_, operator, source, kind, _):
            return conversion(operator, source, kind)(operands[0])
        case Select():
            condition, left, right = operands
            return left if condition else right
        case _:
            return operands[0]
