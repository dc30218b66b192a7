"""Loops whose counters are constants in each trip: a compiler that unrolls them computes none of these.

So are those that double or halve a counter from a constant to a constant, the loops in them that begin or
end with such a counter, and what all of them compute from their counters alone (`1 - buffer`, `k % 3`).
NVIDIA's assembler leaves no loop and no such computation, but the barriers, of a scan or a bitonic sort
of a work-group whose size is known.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.flow.loops import Graph, Loop
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
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.ir.uses import operands_of, result_of

MAX_TRIPS: Final = 256
"""Largest number of trips, of all entries of a loop together."""
_PREDICATES: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}
_OPERATORS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "xor": lambda left, right: left ^ right,
    "shl": lambda left, right: left << right,
    "shr": lambda left, right: left >> right,
    "div": lambda left, right: _quotient(left, right),
    "rem": lambda left, right: left - _quotient(left, right) * right,
}
_UNSIGNED: Final = {"lshr": "shr", "udiv": "div", "urem": "rem"}
_SIGNED: Final = {"ashr": "shr", "sdiv": "div", "srem": "rem"}
_EXTENSIONS: Final = frozenset({"sext", "zext", "trunc"})


@dataclass(frozen=True, slots=True)
class KnownLoop:
    """A loop whose counters are constants in each trip.

    `trips` are those of its longest entry, `values` the slots whose values are constants in each trip.
    `form` has all header values but those in `non_affine`.
    """

    trips: int
    values: frozenset[int]
    form: CanonicalLoop


def find_known_loops(function: Function, graph: Graph) -> Mapping[int, KnownLoop]:
    """Return the loops whose counters are constants in each trip, by number."""
    found: dict[int, KnownLoop] = {}
    environments: dict[int, Sequence[Mapping[int, int]]] = {-1: [function.integer_constants()]}
    definitions = {
        result_of(item): item
        for number in graph.order
        for item in function.blocks[number].instructions
        if result_of(item) >= 0
    }
    for number, loop in enumerate(graph.loops):
        outer = environments.get(loop.parent)
        if outer is None:
            continue
        known = _LoopSearch(function, graph, number, definitions, outer[0])
        trips = known.run(outer) if known.form is not None else []
        if known.form is None or not trips:
            continue
        environments[number] = [values for entry in trips for values in entry]
        longest = max(map(len, trips))
        found[number] = KnownLoop(longest, frozenset(known.values()), known.form)
    return found


class _LoopSearch:
    """The known values of one loop. `outer` has the values that are known around it."""

    def __init__(
        self,
        function: Function,
        graph: Graph,
        number: int,
        definitions: Mapping[int, Instruction],
        outer: Mapping[int, int],
    ) -> None:
        self._function, self._definitions = function, definitions
        self._loop: Loop = graph.loops[number]
        self._outer = outer
        self._known: dict[int, bool] = {}
        self._phis = dict(self._header_values())
        self._drop_unknown()
        self.form: Final = self._form(graph, number)

    def _header_values(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the phis of the header that have one value at entry, and one from the trip before."""
        blocks = self._loop.blocks
        for phi in self._function.blocks[self._loop.header].phis:
            first = [slot for block, slot in phi.incoming if block not in blocks]
            following = [slot for block, slot in phi.incoming if block in blocks]
            is_integer = isinstance(phi.type, IntegerType)
            if is_integer and len(first) == len(following) == 1 and first[0] in self._outer:
                yield phi.result, (first[0], following[0])

    def _drop_unknown(self) -> None:
        """Drop the phis whose next values need something that is unknown."""
        while True:
            self._known = {}
            kept = {phi: pair for phi, pair in self._phis.items() if self._is_known(pair[1])}
            if len(kept) == len(self._phis):
                return
            self._phis = kept

    def _is_known(self, slot: int) -> bool:
        if slot in self._outer or slot in self._phis:
            return True
        known = self._known.get(slot)
        if known is None:
            self._known[slot] = False  # a value that needs itself
            item = self._definitions.get(slot)
            known = self._known[slot] = (
                item is not None
                and _is_computed(item)
                and all(map(self._is_known, operands_of(item)))
            )
        return known

    def _form(self, graph: Graph, number: int) -> CanonicalLoop | None:
        """Return the loop as a canonical one, None if something unknown ends it."""
        blocks, header = self._loop.blocks, self._loop.header
        leaving = [
            block for block in blocks if any(t not in blocks for t in graph.successors[block])
        ]
        if len(leaving) != 1 or graph.loop_of[leaving[0]] != number or not self._phis:
            return None
        branch = self._function.blocks[leaving[0]].terminator
        if not isinstance(branch, Branch):
            return None
        comparison = self._definitions.get(branch.condition)
        if not isinstance(comparison, Compare) or not self._is_known(comparison.result):
            return None
        self._is_tested_first = leaving[0] == header and len(blocks) > 1
        others = [
            phi.result for phi in self._function.blocks[header].phis if phi.result not in self._phis
        ]
        return CanonicalLoop(
            number=number,
            header=header,
            affine=(),
            non_affine=tuple(others),
            comparison=comparison,
            continues_when=branch.then in blocks,
            step_instructions=(),
        )

    def run(self, outer: Sequence[Mapping[int, int]]) -> list[list[Mapping[int, int]]]:
        """Return the known values in each trip of each entry; nothing for too many trips."""
        entries: list[list[Mapping[int, int]]] = []
        left = MAX_TRIPS
        for around in outer:
            trips = self._run_once(around, left)
            if trips is None:
                return []
            left -= len(trips)
            entries.append(trips)
        return entries

    def _run_once(
        self, around: Mapping[int, int], max_trips: int
    ) -> list[Mapping[int, int]] | None:
        """Return the known values in each trip of an entry; None for more than `max_trips`."""
        form = self.form
        if form is None:
            return None
        trips: list[Mapping[int, int]] = []
        values = {phi: around[first] for phi, (first, _) in self._phis.items()}
        while len(trips) <= max_trips:
            environment = {**around, **values}
            try:
                goes_on = bool(self._value(form.comparison.result, environment))
                following = {
                    phi: self._value(next_slot, environment)
                    for phi, (_, next_slot) in self._phis.items()
                }
            except (ZeroDivisionError, ValueError):
                return None
            goes_on = goes_on == form.continues_when
            if goes_on or not self._is_tested_first:
                trips.append(self._all_values(environment))
            if not goes_on:
                return trips if len(trips) <= max_trips else None
            values = following
        return None

    def _all_values(self, environment: dict[int, int]) -> Mapping[int, int]:
        """Return the environment of a trip with all that is known in it."""
        for slot in self.values():
            with suppress(ZeroDivisionError, ValueError):  # of a branch that is not taken
                self._value(slot, environment)
        return environment

    def _value(self, slot: int, environment: dict[int, int]) -> int:
        """Return a known value, and note it and those that it needs in the environment."""
        value = environment.get(slot)
        if value is None:
            item = self._definitions[slot]
            operands = [self._value(operand, environment) for operand in operands_of(item)]
            value = environment[slot] = _compute(item, operands)
        return value

    def values(self) -> Iterator[int]:
        """Yield the slots whose values are constants in each trip."""
        yield from self._phis
        for number in self._loop.blocks:
            for item in self._function.blocks[number].instructions:
                if result_of(item) >= 0 and self._is_known(result_of(item)):
                    yield result_of(item)


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


def _compute(item: Instruction, operands: Sequence[int]) -> int:
    """Return the result of an operation, as an unsigned number. Raises: `ValueError` for others."""
    match item:
        case Binary(_, operator, IntegerType(bits), _, _):
            return _binary(operator, bits, *(operand % (1 << bits) for operand in operands))
        case Compare(_, predicate, IntegerType(bits), _, _):
            return _compare(predicate, bits, *(operand % (1 << bits) for operand in operands))
        case Convert(_, operator, IntegerType(source), IntegerType(bits), _):
            number = operands[0] % (1 << source)
            return (_signed(number, source) if operator == "sext" else number) % (1 << bits)
        case Select():
            condition, left, right = operands
            return left if condition else right
        case Copy():
            return operands[0]
        case _:
            raise ValueError(item)


def _binary(operator: str, bits: int, left: int, right: int) -> int:
    """Return the result of an operator. Raises: `ValueError` for a shift beyond the bits."""
    name = _UNSIGNED.get(operator, operator)
    if operator in _SIGNED:
        name, left, right = _SIGNED[operator], _signed(left, bits), _signed(right, bits)
    if name in {"shl", "shr"} and not 0 <= right < bits:
        raise ValueError(name)
    return _OPERATORS[name](left, right) % (1 << bits)


def _compare(predicate: str, bits: int, left: int, right: int) -> int:
    if predicate in _PREDICATES:
        return int(_PREDICATES[predicate](left, right))
    if predicate.startswith("s"):
        left, right = _signed(left, bits), _signed(right, bits)
    return int(_PREDICATES[predicate[1:]](left, right))


def _signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


def _quotient(left: int, right: int) -> int:
    """Return a quotient that is rounded to zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient
