"""Loops in which each work-item runs over a share of an array that is its own.

`for (int i = 0; i < lengths[row]; i++) sum += values[i * rows + row];` runs over one of the rows of a
padded matrix. How long it is, contents decide; how long it is at most, the size of the array does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeGuard

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.flow.dependencies import DataDependencies
from cltrace.kernels.flow.linear_factors import LinearFactors
from cltrace.kernels.flow.loops import Loop
from cltrace.kernels.flow.paths import reached_from
from cltrace.kernels.ir.instructions import (
    Access,
    Binary,
    Call,
    Instruction,
    Load,
    Offset,
    Phi,
    Touch,
)
from cltrace.kernels.ir.types import size_bytes
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit

_OF_ITEM: Final = frozenset(
    {"get_global_id", "get_local_id", "get_global_linear_id", "get_local_linear_id"}
)
_OF_GROUP: Final = frozenset({"get_group_id"})
_DIMENSIONS: Final = 3


@dataclass(frozen=True, slots=True)
class ArrayShare:
    """An array of which a loop reads another element in each trip and for each work-item, or group.

    `elements` is the array: its argument's number. `trip_bytes` is how much of it a trip takes. Shares
    are of work-items that differ in the dimensions `of_items`, and of work-groups that differ in
    `of_groups`.
    """

    elements: int
    trip_bytes: int
    of_items: frozenset[int]
    of_groups: frozenset[int]


def find_shares(dependencies: DataDependencies) -> Mapping[int, Sequence[ArrayShare]]:
    """Return the arrays of which work-items have shares, by the number of the loop over them."""
    return _ShareAnalysis(dependencies).run()


class _ShareAnalysis:
    def __init__(self, dependencies: DataDependencies) -> None:
        self._dependencies = dependencies
        self._graph = dependencies.graph
        of_items, of_groups = (
            {number: list(self._calls(names, number)) for number in range(_DIMENSIONS)}
            for names in (_OF_ITEM, _OF_GROUP)
        )
        of_contents = dependencies.forward_slice(lambda item: bool(dependencies.reads(item)))
        self._phis = {phi.result for block in dependencies.function.blocks for phi in block.phis}
        self._users = _users(dependencies, of_contents)
        self._of_items, self._of_groups = (
            {number: self._dependents(slots) for number, slots in by_dimension.items()}
            for by_dimension in (of_items, of_groups)
        )
        self._factors = LinearFactors(dependencies)
        self._by_id = self._factors.of(
            slot for by_dimension in (of_items, of_groups) for slot in chain(*by_dimension.values())
        )

    def _calls(self, names: frozenset[str], dimension: int) -> Iterator[int]:
        """Yield the results of calls of some functions for a dimension."""
        constants = self._dependencies.function.integer_constants()
        for _, item in self._dependencies.instructions:
            if isinstance(item, Call) and demangle(item.callee).name in names:
                # A linear id has no dimension, and differs in all of them.
                chosen = constants.get(item.arguments[0]) if item.arguments else dimension
                if chosen == dimension:
                    yield item.result

    def run(self) -> Mapping[int, Sequence[ArrayShare]]:
        """Look for reads of loops whose places depend on the trip and on the work-item."""
        found: dict[int, Sequence[ArrayShare]] = {}
        for number, loop in enumerate(self._graph.loops):
            phis = self._dependencies.function.blocks[loop.header].phis
            counters = [phi.result for phi in phis if self._is_counter(loop, phi)]
            shares = list(self._shares(number, loop, counters))
            if shares:
                found[number] = shares
        return found

    def _is_counter(self, loop: Loop, phi: Phi) -> bool:
        """Return True for a value that advances by a sum, and begins anew when the loop is entered."""
        begins = [slot for block, slot in phi.incoming if block not in loop.blocks]
        if not self._phis.isdisjoint(begins):
            return False
        following = [slot for block, slot in phi.incoming if block in loop.blocks]
        items = [self._dependencies.definitions.get(slot) for slot in following]
        return all(
            (isinstance(item, Binary) and item.operator == "add") or isinstance(item, Offset)
            for item in items
        )

    def _shares(self, number: int, loop: Loop, counters: Sequence[int]) -> Iterator[ArrayShare]:
        in_trips = self._dependents(counters)
        by_trip = self._factors.of(counters, loop.blocks)
        # The windows of neighbours overlap in `values[item + trip]`: they are no shares.
        together = [
            slot for slot, factor in by_trip.items() if abs(self._by_id.get(slot, 0)) == abs(factor)
        ]
        overlapping = self._dependents(together)
        own = (block for block in sorted(loop.blocks) if self._graph.loop_of[block] == number)
        for item in (
            item for block in own for item in self._dependencies.function.blocks[block].instructions
        ):
            if not _is_read(item):
                continue
            roots = self._dependencies.roots.get(item.pointer, frozenset())
            (root,) = roots if len(roots) == 1 else (None,)
            if not isinstance(root, int) or item.pointer not in in_trips - overlapping:
                continue
            of_items = frozenset(
                number for number, slots in self._of_items.items() if item.pointer in slots
            )
            of_groups = frozenset(
                number for number, slots in self._of_groups.items() if item.pointer in slots
            )
            if of_items or of_groups:
                stride = abs(by_trip.get(item.pointer, 0))
                yield ArrayShare(
                    root, stride or size_bytes(item.type), of_items, of_groups - of_items
                )

    def _dependents(self, slots: Iterable[int]) -> frozenset[int]:
        check_cpu_limit()
        return frozenset(reached_from(slots, self._users))


def _users(dependencies: DataDependencies, left_out: frozenset[int]) -> Mapping[int, list[int]]:
    """Return the values that are computed from each value, but for those `left_out`."""
    users: dict[int, list[int]] = {}
    for _, item in dependencies.instructions:
        if result_of(item) >= 0 and result_of(item) not in left_out:
            for operand in operands_of(item):
                users.setdefault(operand, []).append(result_of(item))
    for block in dependencies.function.blocks:
        for phi in block.phis:
            for _, value in phi.incoming if phi.result not in left_out else ():
                users.setdefault(value, []).append(phi.result)
    return users


def _is_read(item: Instruction) -> TypeGuard[Load | Touch]:
    return isinstance(item, Load) or (isinstance(item, Touch) and item.access is Access.READ)
