"""Loops in which each work-item runs over a share of an array that is its own.

`for (int i = 0; i < lengths[row]; i++) sum += values[i * rows + row];` runs over one of the rows of a
padded matrix. How long it is, contents decide; how long it is at most, the size of the array does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ArrayShare:
    """An array of which a loop reads another element in each trip and for each work-item, or group.

    `elements` is the array: its argument's number. `trip_bytes` is how much of it a trip takes.
    `is_of_group` is whether all work-items of a group have the same share.
    """

    elements: int
    trip_bytes: int
    is_of_group: bool


def find_shares(dependencies: DataDependencies) -> Mapping[int, Sequence[ArrayShare]]:
    """Return the arrays of which work-items have shares, by the number of the loop over them."""
    return _ShareAnalysis(dependencies).run()


class _ShareAnalysis:
    def __init__(self, dependencies: DataDependencies) -> None:
        self._dependencies = dependencies
        self._graph = dependencies.graph
        of_items, of_groups = (
            [result_of(item) for _, item in dependencies.instructions if _is_call(item, names)]
            for names in (_OF_ITEM, _OF_GROUP)
        )
        of_contents = dependencies.forward_slice(lambda item: bool(dependencies.reads(item)))
        self._phis = {phi.result for block in dependencies.function.blocks for phi in block.phis}
        self._users = _users(dependencies, of_contents)
        self._of_items = self._dependents(of_items)
        self._of_groups = self._dependents(of_groups) - self._of_items
        self._factors = LinearFactors(dependencies)
        self._by_id = self._factors.of([*of_items, *of_groups])

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
        together = [slot for slot, factor in by_trip.items() if self._by_id.get(slot) == factor]
        overlapping = self._dependents(together)
        own = (block for block in sorted(loop.blocks) if self._graph.loop_of[block] == number)
        for item in (
            item for block in own for item in self._dependencies.function.blocks[block].instructions
        ):
            if not _is_read(item):
                continue
            roots = self._dependencies.roots.get(item.pointer, frozenset())
            (root,) = roots if len(roots) == 1 else (None,)
            is_of_group = item.pointer in self._of_groups
            has_share = is_of_group or item.pointer in self._of_items
            if not isinstance(root, int) or item.pointer not in in_trips or not has_share:
                continue
            if item.pointer not in overlapping:
                stride = abs(by_trip.get(item.pointer, 0))
                yield ArrayShare(root, stride or size_bytes(item.type), is_of_group)

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


def _is_call(item: Instruction, names: frozenset[str]) -> bool:
    return isinstance(item, Call) and demangle(item.callee).name in names
