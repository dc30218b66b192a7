"""What waits for what: the longest way through a block, by how long results take to come.

The lengths only choose the way; what it takes is the profile's to say.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangled
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import SUM, Operation
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.fold.instruction_costs import named_operations
from cltrace.kernels.fold.movement import LoopMovement
from cltrace.kernels.ir.instructions import (
    Access,
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Terminator,
)
from cltrace.kernels.ir.types import LOCAL, PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of

_LENGTHS: Final[Mapping[CostClass, float]] = {
    CostClass.INT_DIVIDE: 60.0,
    CostClass.FLOAT_DIVIDE: 40.0,
    CostClass.SPECIAL: 30.0,
    CostClass.CONVERT: 8.0,
    CostClass.MOVE: 0.0,
    CostClass.OTHER: 0.0,
    CostClass.BARRIER: 20.0,
    CostClass.COLLECTIVE: 60.0,
    CostClass.STORE: 0.0,
    CostClass.BRANCH: 8.0,
}
"""In cycles, about, of a GPU; `_USUAL` of what is not here."""
_USUAL: Final = 4.0
_MULTIPLY_ADDS: Final = frozenset({"fma", "mad", "fmuladd"})
_LOCAL_READ: Final = 25.0
_GLOBAL_READ: Final = 250.0


IsJoined = Callable[[Instruction | Terminator], bool]


@dataclass(frozen=True, slots=True)
class Chain:
    """What waits for what: how often each operation of the longest way, and each round of reads.

    A round is the numbers of access sites whose reads depend on as many others, one after the other:
    they are under way together. `length` is that of the longest way in cycles, about.
    """

    length: float
    operations: Mapping[Operation, float]
    rounds: Mapping[frozenset[int], float]

    def side_by_side(self, times: int, *, with_operations: bool) -> "Chain":
        """What is left of it for each of so many that stand side by side.

        Their accesses are under way together. Compilers put operations of different trips beside each
        other only where they know all trips.
        """
        many = times if with_operations else 1
        operations = {key: number / many for key, number in self.operations.items()}
        return Chain(
            self.length / (times if self.rounds else many),
            operations,
            {key: number / times for key, number in self.rounds.items()},
        )


NOTHING: Final = Chain(0.0, {}, {})


def longest_chain(whole: Prepared, number: int, is_joined: IsJoined) -> Chain:
    """The longest way through a block. What is joined with another instruction takes nothing."""
    ways = _Ways(whole, number, is_joined)
    return ways.ending_at(ways.last())


def carried_chain(
    whole: Prepared, movement: LoopMovement, number: int, is_joined: IsJoined
) -> Chain:
    """The longest way from a value that a loop carries to its next value, within one block."""
    latch = [
        (phi.result, slot)
        for phi in whole.function.blocks[movement.loop.header].phis
        for block, slot in phi.incoming
        if block == number and phi.result in movement.loop.kept
    ]
    best = NOTHING
    for phi, following in latch:
        ways = _Ways(whole, number, is_joined, from_slot=phi)
        best = max(best, ways.ending_at(following), key=lambda chain: chain.length)
    return best


class _Ways:
    """The longest ways to each value of a block; from one value on where `from_slot` is given."""

    def __init__(
        self, whole: Prepared, number: int, is_joined: IsJoined, from_slot: int | None = None
    ) -> None:
        self._is_joined = is_joined
        self._sites = _sites_of(whole, number)
        self._constants = frozenset(item.slot for item in whole.function.constants)
        self._from = from_slot
        self._length: dict[int, float] = {} if from_slot is None else {from_slot: 0.0}
        self._before: dict[int, int] = {}
        self._depth: dict[int, int] = {}
        self._rounds: dict[int, set[int]] = {}
        self._item: dict[int, Instruction | Terminator] = {}
        block = whole.function.blocks[number]
        self._end = -2
        for item in block.instructions:
            self._add(item, result_of(item))
        self._add(block.terminator, self._end)

    def _add(self, item: Instruction | Terminator, slot: int) -> None:
        if slot == -1:
            return
        known = [one for one in operands_of(item) if one in self._length]
        if not known and self._from is not None:
            return
        longest = max(known, key=self._length.__getitem__, default=None)
        before = 0.0 if longest is None else self._length[longest]
        if longest is not None:
            self._before[slot] = longest
        self._item[slot] = item
        self._length[slot] = before + self._own(item)
        depth = max((self._depth.get(one, 0) for one in known), default=0)
        site = self._sites.get(id(item))
        if site is not None and site[1]:
            self._rounds.setdefault(depth, set()).add(site[0])
            depth += 1
        self._depth[slot] = depth

    def _own(self, item: Instruction | Terminator) -> float:
        site = self._sites.get(id(item))
        if site is not None:
            return site[1]
        if self._is_joined(item):
            return 0.0
        return max((_LENGTHS.get(one.cost, _USUAL) for one, _ in named_operations(item)), default=0)

    def last(self) -> int:
        """The value to which the way is longest."""
        return max(self._length, key=self._length.__getitem__, default=self._end)

    def ending_at(self, slot: int) -> Chain:
        """The way to a value."""
        if slot not in self._length:
            return NOTHING
        operations: dict[Operation, float] = {}
        length, at = self._length[slot], slot
        while at in self._item:
            item = self._item[at]
            if id(item) not in self._sites and not self._is_joined(item):
                for operation, _ in list(named_operations(item, self._constants))[:1]:
                    waited = _sum_alone(item, operation, self._before.get(at))
                    operations[waited] = operations.get(waited, 0.0) + 1.0
            if at not in self._before:
                break
            at = self._before[at]
        return Chain(length, operations, {frozenset(one): 1.0 for one in self._rounds.values()})


def _sum_alone(
    item: Instruction | Terminator, operation: Operation, before: int | None
) -> Operation:
    """What is waited for in a multiply-add whose summand comes last: the sum, the product is there."""
    if operation.cost is not CostClass.FLOAT_MULTIPLY_ADD or not isinstance(item, Call):
        return operation
    is_one = base_name(demangled(item.callee)).removeprefix("llvm.") in _MULTIPLY_ADDS
    if is_one and before == item.arguments[2] and before not in item.arguments[:2]:
        return replace(operation, function=SUM)
    return operation


def _sites_of(whole: Prepared, number: int) -> Mapping[int, tuple[int, float]]:
    """By the identity of an instruction that waits for memory: its site's number, and how long."""
    waiting: dict[int, list[tuple[int, float]]] = {}
    for site in whole.sites:
        if site.block == number and site.access is not Access.WRITE:
            length = {PRIVATE: 0.0, LOCAL: _LOCAL_READ}.get(site.space, _GLOBAL_READ)
            waiting.setdefault(site.pointer, []).append((site.number, length))
    found: dict[int, tuple[int, float]] = {}
    for item in whole.function.blocks[number].instructions:
        for pointer in _pointers(item):
            if waiting.get(pointer):
                found[id(item)] = waiting[pointer].pop(0)
    return found


def _pointers(item: Instruction) -> Iterable[int]:
    if isinstance(item, Load | AtomicUpdate | AtomicExchange):
        return (item.pointer,)
    return item.arguments if isinstance(item, Call) else ()
