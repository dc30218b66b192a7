"""Loops in which each work-item runs over a share of an array that is its own.

`for (int i = 0; i < lengths[row]; i++) sum += values[i * rows + row];` runs over one of the rows of a
padded matrix. How long it is, contents decide; how long it is at most, the size of the array does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from cltrace.kernels.builtins.mangling import demangle
from cltrace.kernels.flow.dependencies import DataDependencies
from cltrace.kernels.flow.linear_factors import LinearFactors
from cltrace.kernels.flow.loops import Loop
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
from cltrace.kernels.ir.uses import result_of

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
        self._of_items = self._dependents(of_items) - of_contents
        self._of_groups = self._dependents(of_groups) - of_contents - self._of_items
        self._factors = LinearFactors(dependencies)
        self._by_id = self._factors.of([*of_items, *of_groups])

    def run(self) -> Mapping[int, Sequence[ArrayShare]]:
        """Look for reads of loops whose places depend on the trip and on the work-item."""
        found: dict[int, Sequence[ArrayShare]] = {}
        for number, loop in enumerate(self._graph.loops):
            phis = self._dependencies.function.blocks[loop.header].phis
            counters = [phi.result for phi in phis if self._is_counter(loop, phi)]
            shares = list(self._shares(number, counters))
            if shares:
                found[number] = shares
        return found

    def _is_counter(self, loop: Loop, phi: Phi) -> bool:
        """Return True for a value that advances by one of something that the loop does not change."""
        following = [slot for block, slot in phi.incoming if block in loop.blocks]
        items = [self._dependencies.definitions.get(slot) for slot in following]
        return all(
            (isinstance(item, Binary) and item.operator == "add") or isinstance(item, Offset)
            for item in items
        )

    def _shares(self, loop: int, counters: Sequence[int]) -> Iterator[ArrayShare]:
        in_trips, by_trip = self._dependents(counters), self._factors.of(counters)
        # The windows of neighbours overlap in `values[item + trip]`: they are no shares.
        together = [slot for slot, factor in by_trip.items() if self._by_id.get(slot) == factor]
        overlapping = self._dependents(together)
        for block, item in self._dependencies.instructions:
            if not _is_read(item) or self._graph.loop_of[block] != loop:
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

    def _dependents(self, slots: Sequence[int]) -> frozenset[int]:
        return self._dependencies.forward_slice(lambda _: False, slots)


def _is_read(item: Instruction) -> TypeGuard[Load | Touch]:
    return isinstance(item, Load) or (isinstance(item, Touch) and item.access is Access.READ)


def _is_call(item: Instruction, names: frozenset[str]) -> bool:
    return isinstance(item, Call) and demangle(item.callee).name in names
