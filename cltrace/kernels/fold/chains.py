"""Chains of waits: the longest dependent chain through a block, by the latency of results.

The latencies here only select the chain. Its time follows from the costs of the profile.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import SUM, Operation
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.instruction_operations import named_operations
from cltrace.kernels.fold.loop_evolution import LoopEvolution
from cltrace.kernels.fold.memory_order import MemoryOrder, may_read, may_write, places_of
from cltrace.kernels.fold.predicated_blocks import PredicatedGroup
from cltrace.kernels.ir.instructions import (
    Access,
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Terminator,
)
from cltrace.kernels.ir.module import Block
from cltrace.kernels.ir.types import LOCAL, PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of

_LATENCIES: Final[Mapping[CostClass, float]] = {
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
"""Approximate latencies on a GPU in cycles; `_DEFAULT_LATENCY` for other classes."""
_DEFAULT_LATENCY: Final = 4.0
_MULTIPLY_ADDS: Final = frozenset({"fma", "mad", "fmuladd"})
_LOCAL_READ: Final = 25.0
_GLOBAL_READ: Final = 250.0
_MAX_WRITES: Final = 64
"""Limit on the writes of a block that are held against its reads."""
_READS: Final = (Load, AtomicUpdate, AtomicExchange, Call)


IsFused = Callable[[Instruction | Terminator], bool]
"""True for an instruction that is a part of another one."""
OperationOf = Callable[[Instruction | Terminator], Operation | None]
"""The operation that an instruction is waited for as; None for one without operations."""


def first_operation(item: Instruction | Terminator) -> Operation | None:
    """Return the first operation of an instruction, as the program has it."""
    return next((operation for operation, _ in named_operations(item)), None)


@dataclass(frozen=True, slots=True)
class Chain:
    """A dependent chain: the number of each operation, and of each round of reads.

    A round is the set of access sites whose reads depend on the same number of earlier reads: they are in
    flight together. `length` is the approximate latency of the chain in cycles.
    """

    length: float
    operations: Mapping[Operation, float]
    rounds: Mapping[frozenset[int], float]

    def side_by_side(
        self,
        copies: int,
        *,
        with_operations: bool,
        reads_ahead: float = 1.0,
        held_back: frozenset[int] = frozenset(),
    ) -> "Chain":
        """Return the share of the chain for each of several copies that stand side by side.

        The reads of `reads_ahead` times as many trips are in flight together, but for those at the sites
        `held_back`, which stay behind a write of the trip before that waits for reads. Operations overlap
        only `with_operations`.
        """
        in_flight = copies * reads_ahead
        is_held_back = any(held_back & sites for sites in self.rounds)
        overlapping = copies if with_operations and not is_held_back else 1
        operations = {key: number / overlapping for key, number in self.operations.items()}
        rounds: dict[frozenset[int], float] = {}
        for sites, number in self.rounds.items():
            late = sites & held_back
            rounds[sites] = rounds.get(sites, 0.0) + number / in_flight
            if late:
                rounds[late] = rounds.get(late, 0.0) + number * (1.0 - 1.0 / in_flight)
        shared = in_flight if self.rounds and not is_held_back else overlapping
        return Chain(self.length / shared, operations, rounds)

    def behind(self, carried: "Chain", copies: int) -> "Chain":
        """Return the share of the chain for each of several copies, which hand on `carried`.

        What else a copy computes stands beside the copies that follow.
        """
        operations = {key: number / copies for key, number in self.operations.items()}
        for key, number in carried.operations.items():
            operations[key] = operations.get(key, 0.0) + number * (1.0 - 1.0 / copies)
        length = carried.length + (self.length - carried.length) / copies
        return Chain(length, operations, {})


EMPTY_CHAIN: Final = Chain(0.0, {}, {})


def find_longest_chain(
    kernel: PreparedKernel,
    number: int,
    is_fused: IsFused,
    order: MemoryOrder,
    operation_of: OperationOf,
) -> Chain:
    """Return the longest chain through a block. Fused instructions take no time."""
    search = ChainSearch(kernel, _alone(number), is_fused, order, operation_of)
    return search.chain_to(search.last())


def find_shared_rounds(
    kernel: PreparedKernel, group: PredicatedGroup, order: MemoryOrder
) -> Mapping[int, Mapping[frozenset[int], float]]:
    """Return the rounds of reads of blocks that are in line with each other, by block.

    A round with reads of several blocks is one of the first block of the group.
    """
    search = ChainSearch(kernel, group, lambda _: False, order)
    first = group.blocks[0]
    block_of = {site.number: site.block for site in kernel.sites}
    rounds: dict[int, dict[frozenset[int], float]] = {number: {} for number in group.blocks}
    for sites in search.rounds():
        blocks = {block_of[site] for site in sites}
        rounds[blocks.pop() if len(blocks) == 1 else first][sites] = 1.0
    return rounds


def find_held_back_sites(
    kernel: PreparedKernel, number: int, evolution: LoopEvolution, order: MemoryOrder
) -> frozenset[int]:
    """Return the sites of a loop's block whose reads stay behind a write of the trip before."""
    sites = _waiting_sites(kernel, number, order)
    return frozenset(
        sites[id(item)][0] for item in order.held_back_reads(evolution) if id(item) in sites
    )


def find_carried_chain(
    kernel: PreparedKernel,
    evolution: LoopEvolution,
    number: int,
    is_fused: IsFused,
    order: MemoryOrder,
    operation_of: OperationOf,
) -> Chain:
    """Return the longest chain from a value that a loop carries to its next value, within a block."""
    latch = [
        (phi.result, slot)
        for phi in kernel.function.blocks[evolution.loop.header].phis
        for block, slot in phi.incoming
        if block == number and phi.result in evolution.loop.non_affine
    ]
    longest = EMPTY_CHAIN
    for phi, following in latch:
        search = ChainSearch(kernel, _alone(number), is_fused, order, operation_of, from_slot=phi)
        longest = max(longest, search.chain_to(following), key=lambda chain: chain.length)
    return longest


class ChainSearch:
    """The longest chains to each value of a block; only those from a value, if `from_slot` is given.

    Of several blocks in line with each other, a later one's reads wait for the conditions before it.
    """

    def __init__(
        self,
        kernel: PreparedKernel,
        group: PredicatedGroup,
        is_fused: IsFused,
        order: MemoryOrder,
        operation_of: OperationOf = first_operation,
        from_slot: int | None = None,
    ) -> None:
        self._is_fused = is_fused
        self._order = order
        self._sites = {
            key: site
            for number in group.blocks
            for key, site in _waiting_sites(kernel, number, order).items()
        }
        self._operation_of = operation_of
        self._from = from_slot
        self._length: dict[int, float] = {} if from_slot is None else {from_slot: 0.0}
        self._before: dict[int, int] = {}
        self._chosen: dict[int, int] = {}
        """The last of the values that a value is chosen from behind a branch."""
        self._depth: dict[int, int] = {}
        self._rounds: dict[int, set[int]] = {}
        self._item: dict[int, Instruction | Terminator] = {}
        self._writes: dict[int, tuple[int, Instruction]] = {}
        self._end = -2
        self._guards = group.guards
        self._condition_depths: dict[int, int] = {}
        for number in group.blocks:
            if from_slot is not None and number != group.blocks[0]:
                self._add_choices(kernel.function.blocks[number])
            self._add_block(number, kernel.function.blocks[number])

    def _add_block(self, number: int, block: Block) -> None:
        for phi in block.phis if self._guards else ():
            self._depth[phi.result] = max(
                (
                    max(self._depth.get(slot, 0), self._guard_depth(source))
                    for source, slot in phi.incoming
                ),
                default=0,
            )
        guard_depth = self._guard_depth(number)
        for item in block.instructions:
            self._add(item, result_of(item), guard_depth)
            if may_write(item):
                self._add_write(item)
        self._add(block.terminator, self._end, guard_depth)
        self._condition_depths[number] = self._depth.get(self._end, 0)

    def _add_choices(self, block: Block) -> None:
        """Add the values that a block chooses by where control comes from."""
        for phi in block.phis:
            known = [slot for _, slot in phi.incoming if slot in self._length]
            if known and phi.result not in self._length:
                last = max(known, key=self._length.__getitem__)
                self._chosen[phi.result] = last
                self._length[phi.result] = self._length[last]
                self._depth[phi.result] = self._depth.get(last, 0)

    def _guard_depth(self, number: int) -> int:
        """Return the number of rounds of reads that the conditions of a block depend on."""
        guards = self._guards.get(number, frozenset())
        return max((self._condition_depths.get(guard, 0) for guard in guards), default=0)

    def rounds(self) -> Iterator[frozenset[int]]:
        """Yield the sites whose reads are in flight together, in the order of running."""
        for _, sites in sorted(self._rounds.items()):
            yield frozenset(sites)

    def _add(self, item: Instruction | Terminator, slot: int, guard_depth: int) -> None:
        if slot == -1:
            return
        operands = [operand for operand in operands_of(item) if operand in self._length]
        if not operands and self._from is not None:
            return
        longest = max(operands, key=self._length.__getitem__, default=None)
        before = 0.0 if longest is None else self._length[longest]
        if longest is not None:
            self._before[slot] = longest
        self._item[slot] = item
        self._length[slot] = before + self._latency(item)
        depth = max((self._depth.get(operand, 0) for operand in operands_of(item)), default=0)
        if isinstance(item, _READS) and may_read(item):
            depth = max(depth, guard_depth)
            depth = max(depth, self._depth_behind_writes(item, depth))
        site = self._sites.get(id(item))
        if site is not None and site[1]:
            self._rounds.setdefault(depth, set()).add(site[0])
            depth += 1
        self._depth[slot] = depth

    def _add_write(self, write: Instruction) -> None:
        """Keep a write that waits for reads: reads that it holds back are in a later round."""
        depth = max((self._depth.get(operand, 0) for operand in operands_of(write)), default=0)
        if depth and len(self._writes) < _MAX_WRITES:
            for place in places_of(write):
                self._writes[place.pointer] = (depth, write)

    def _depth_behind_writes(self, read: Instruction, depth: int) -> int:
        later = [found for found in self._writes.values() if found[0] > depth]
        return max(
            (number for number, write in later if self._order.holds_back(write, read)), default=0
        )

    def _latency(self, item: Instruction | Terminator) -> float:
        site = self._sites.get(id(item))
        if site is not None:
            return site[1]
        if self._is_fused(item):
            return 0.0
        return max(
            (
                _LATENCIES.get(operation.cost, _DEFAULT_LATENCY)
                for operation, _ in named_operations(item)
            ),
            default=0,
        )

    def last(self) -> int:
        """Return the value at the end of the longest chain."""
        return max(self._length, key=self._length.__getitem__, default=self._end)

    def chain_to(self, slot: int) -> Chain:
        """Return the chain to a value."""
        if slot not in self._length:
            return EMPTY_CHAIN
        operations: dict[Operation, float] = {}
        for at, item in self._path_to(slot):
            if id(item) not in self._sites and not self._is_fused(item):
                operation = self._operation_of(item)
                if operation is not None:
                    waited = _waited_operation(item, operation, self._before.get(at))
                    operations[waited] = operations.get(waited, 0.0) + 1.0
        return Chain(self._length[slot], operations, dict.fromkeys(self.rounds(), 1.0))

    def rounds_to(self, slot: int) -> Mapping[frozenset[int], float]:
        """Return the reads of the chain to a value itself, each as a round."""
        rounds: dict[frozenset[int], float] = {}
        for _, item in self._path_to(slot):
            if id(item) in self._sites:
                sites = frozenset({self._sites[id(item)][0]})
                rounds[sites] = rounds.get(sites, 0.0) + 1.0
        return rounds

    def _path_to(self, slot: int) -> Iterator[tuple[int, Instruction | Terminator]]:
        """Yield the values of the chain to a value, the last one first, each with its instruction."""
        at: int | None = slot
        while at is not None:
            if at in self._item:
                yield at, self._item[at]
            at = self._chosen.get(at, self._before.get(at))


def _alone(number: int) -> PredicatedGroup:
    return PredicatedGroup((number,), {})


def _waited_operation(
    item: Instruction | Terminator, operation: Operation, before: int | None
) -> Operation:
    """Return the operation that is waited for: in a multiply-add whose summand is last, only the sum."""
    if operation.cost is not CostClass.FLOAT_MULTIPLY_ADD or not isinstance(item, Call):
        return operation
    is_multiply_add = base_name(demangle(item.callee)).removeprefix("llvm.") in _MULTIPLY_ADDS
    if is_multiply_add and before == item.arguments[2] and before not in item.arguments[:2]:
        return replace(operation, function=SUM)
    return operation


def _waiting_sites(
    kernel: PreparedKernel, number: int, order: MemoryOrder
) -> Mapping[int, tuple[int, float]]:
    """Return, by identity of an instruction that waits for memory, its site's number and its latency."""
    waiting: dict[int, list[tuple[int, float]]] = {}
    for site in kernel.sites:
        if site.block == number and site.access is not Access.WRITE:
            private = _LOCAL_READ if site.number in order.private_memory else 0.0
            latency = {PRIVATE: private, LOCAL: _LOCAL_READ}.get(site.space, _GLOBAL_READ)
            waiting.setdefault(site.pointer, []).append((site.number, latency))
    sites: dict[int, tuple[int, float]] = {}
    for item in kernel.function.blocks[number].instructions:
        for pointer in _pointers(item):
            if waiting.get(pointer):
                sites[id(item)] = waiting[pointer].pop(0)
    return sites


def _pointers(item: Instruction) -> Iterable[int]:
    if isinstance(item, Load | AtomicUpdate | AtomicExchange):
        return (item.pointer,)
    return item.arguments if isinstance(item, Call) else ()
