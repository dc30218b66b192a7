"""The blocks of a kernel as a driver's compiler leaves them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import KEPT_TYPE, SUM, Operation
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.chains import (
    EMPTY_CHAIN,
    Chain,
    IsFused,
    find_carried_chain,
    find_held_back_sites,
    find_longest_chain,
    find_shared_rounds,
)
from cltrace.kernels.fold.compiled_operations import CompiledOperations
from cltrace.kernels.fold.definitions import Definitions
from cltrace.kernels.fold.divisions import Divisions
from cltrace.kernels.fold.folded_kernel import FoldedBlock, FoldedKernel, ReadsAhead
from cltrace.kernels.fold.kept_values import find_kept_values
from cltrace.kernels.fold.literal_reads import LiteralReads, find_literal_reads
from cltrace.kernels.fold.loop_control import LoopControls
from cltrace.kernels.fold.loop_evolution import (
    Evolution,
    is_pure,
)
from cltrace.kernels.fold.memory_order import MemoryOrder
from cltrace.kernels.fold.predicated_blocks import blocks_in_line, find_predicated_groups
from cltrace.kernels.fold.private_memory import (
    PrivateVariables,
    find_memory_of_processors,
    find_private_variables,
)
from cltrace.kernels.fold.repeated_reads import find_repeated_reads
from cltrace.kernels.fold.shared_atomics import find_shared_atomics, find_summable_atomics
from cltrace.kernels.fold.trip_chains import find_trip_chains
from cltrace.kernels.fold.unrolling import UnrolledLoop, find_unrolled_loops
from cltrace.kernels.ir.instructions import (
    Instruction,
    Load,
    Offset,
    Store,
    Terminator,
)
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.limits import check_cpu_limit
from cltrace.kernels.machine import ItemLoops, Machine

_WHOLE_TRIPS: Final = 32
"""Trips up to which a CPU's compiler unrolls a loop wholly before it chooses registers."""


def fold_kernel(kernel: PreparedKernel, machine: Machine) -> FoldedKernel:
    """Return a kernel as the compiler of a machine leaves it."""
    loops = find_unrolled_loops(kernel, machine)
    values = Definitions.of(kernel)
    private, shared, literals = PrivateVariables(), frozenset[int](), LiteralReads()
    copies: Mapping[int, int] = {}
    if machine.has_item_loops:
        private = PrivateVariables(_memory_of_processors(kernel, machine))
    else:
        private = find_private_variables(kernel, loops)
        shared = find_shared_atomics(kernel)
        literals = find_literal_reads(kernel, values, loops)
        repeated = find_repeated_reads(kernel, loops)
        copies, reads = repeated.copies, repeated.reads
        literals = LiteralReads(literals.sites | reads.sites, literals.values | reads.values)
    folding = _Folding(kernel, values, machine, loops, private, literals.values)
    blocks, atomics = folding.blocks(), find_summable_atomics(kernel)
    return FoldedKernel(
        blocks=blocks,
        private_memory=private.memory,
        shared_atomics=shared,
        summable_atomics=atomics,
        literal_sites=literals.sites,
        entries=folding.controls.entries,
        repeated_copies=copies,
    )


def _memory_of_processors(kernel: PreparedKernel, machine: Machine) -> frozenset[int]:
    """Return the sites of the private variables that a CPU's compiler keeps in memory."""
    if not kernel.private:
        return frozenset()
    wholly = find_unrolled_loops(kernel, replace(machine, full_unroll_trips=_WHOLE_TRIPS))
    return find_memory_of_processors(kernel, wholly)


class _Folding:
    def __init__(
        self,
        kernel: PreparedKernel,
        values: Definitions,
        machine: Machine,
        loops: Mapping[int, UnrolledLoop],
        private: PrivateVariables,
        literals: frozenset[int],
    ) -> None:
        self._kernel = kernel
        self._function = kernel.function
        self._has_item_loops = machine.has_item_loops
        self._calls_functions = machine.item_loops is ItemLoops.LOOPS
        self._compiled = CompiledOperations(
            kernel, values, machine, loops, literals, private.selections
        )
        self._loops = loops
        self.controls: Final = LoopControls(is_cpu=machine.has_item_loops)
        self._order = MemoryOrder(kernel, private.memory)
        self._shared_rounds, self._in_line = _blocks_together(kernel, machine, loops, self._order)
        self._carried = self._trip_chains() if self._has_item_loops else {}

    def _trip_chains(self) -> Mapping[int, Chain]:
        """Return what each trip of a CPU's loops leaves to the next, by the last block of the trip."""
        header = {
            number: frozenset(phi.result for phi in self._function.blocks[loop.header].phis)
            for number, loop in enumerate(self._kernel.graph.loops)
        }
        counted = {
            number: frozenset(loop.evolution.loop.non_affine)
            for number, loop in self._loops.items()
        }
        return find_trip_chains(
            self._kernel,
            {**header, **counted},
            self._compiled.is_fused,
            self._order,
            self._compiled.waited,
        )

    def blocks(self) -> Mapping[int, FoldedBlock]:
        """Return each block, by itself or as a part of an unrolled loop."""
        blocks = {number: self._block(number) for number in self._kernel.graph.order}
        if not self._calls_functions:
            return blocks
        kept = find_kept_values(self._kernel)
        return {
            number: FoldedBlock(
                {**block.operations, **_keeping(*kept.get(number, (0, 0)))}, _fused(block.chain)
            )
            for number, block in blocks.items()
        }

    def _block(self, number: int) -> FoldedBlock:
        check_cpu_limit()
        block = self._function.blocks[number]
        loop = self._loops.get(self._kernel.graph.loop_of[number])
        if loop is None:
            operations = self._operations([*block.instructions, block.terminator])
            return FoldedBlock(operations, self._chain(number))
        operations = self._trip_operations(loop, number)
        chain, in_flight = self._trip_chain(loop, number, sum(operations.values()))
        ahead = None
        if in_flight > 1.0 and not self._has_item_loops:
            ahead = _reads_ahead(self._kernel, self._loops, number, in_flight)
        return FoldedBlock(operations, chain, ahead)

    def _trip_chain(
        self, loop: UnrolledLoop, number: int, operations: float
    ) -> tuple[Chain, float]:
        """Return the longest chain of a block with some operations per trip of an unrolled loop.

        The second value is the number of trips whose reads are in flight together.
        """
        chain = self._chain(number, loop)
        in_flight = 1.0
        if self._has_item_loops:
            return chain, in_flight
        unrolled = chain
        carried = find_carried_chain(
            self._kernel,
            loop.evolution,
            number,
            self._compiled.is_fused,
            self._order,
            self._compiled.waited,
        )
        if (copies := self._copies_in_line(number)) > 1:
            if carried.length and not chain.rounds:
                return chain.behind(carried, copies), in_flight
            held_back = find_held_back_sites(self._kernel, number, loop.evolution, self._order)
            reads_ahead = loop.reads_ahead(operations, sum(chain.rounds.values()))
            if not held_back:
                in_flight = copies * reads_ahead
            unrolled = chain.side_by_side(
                copies,
                with_operations=loop.overlaps_operations,
                reads_ahead=reads_ahead,
                held_back=held_back,
            )
        if carried.length > unrolled.length:
            return carried, 1.0
        return unrolled, in_flight

    def _chain(self, number: int, loop: UnrolledLoop | None = None) -> Chain:
        """Return the longest chain of a block.

        Where work-items are trips of a loop, their reads wait side by side, and so do the trips of a loop
        in them, but for what a trip leaves to the next. The control of an unrolled loop is shared by
        several trips and runs beside them.
        """
        if self._has_item_loops:
            if self._kernel.graph.loop_of[number] >= 0:
                return self._carried.get(number, EMPTY_CHAIN)
            longest = self._longest_chain(number, self._compiled.is_fused)
            return replace(longest, rounds={})

        def is_fused(item: Instruction | Terminator) -> bool:
            is_shared = loop is not None and (loop.is_control(item) or loop.is_advanced(item))
            return is_shared or self._compiled.is_fused(item)

        longest = self._longest_chain(number, is_fused)
        return replace(longest, rounds=self._shared_rounds.get(number, longest.rounds))

    def _longest_chain(self, number: int, is_fused: IsFused) -> Chain:
        return find_longest_chain(
            self._kernel, number, is_fused, self._order, self._compiled.waited
        )

    def _copies_in_line(self, number: int) -> int:
        """Return the copies of a block that are scheduled together, for all unrolled loops around it."""
        graph = self._kernel.graph
        loop, copies = graph.loop_of[number], 1
        while number in self._in_line.get(loop, ()) and not self._loops[loop].is_in_step:
            copies *= self._loops[loop].trips
            loop = graph.loops[loop].parent
        return copies

    def _operations(self, items: Sequence[Instruction | Terminator]) -> Mapping[Operation, float]:
        counts: dict[Operation, float] = {}
        for item in items:
            if not self._compiled.is_fused(item):
                self._count(counts, item, 1.0)
        return counts

    def _trip_operations(self, loop: UnrolledLoop, number: int) -> Mapping[Operation, float]:
        """Return the operations of a block per trip of an unrolled loop."""
        block, counts = self._function.blocks[number], dict[Operation, float]()
        items = [item for item in block.instructions if not self._compiled.is_fused(item)]
        for item in filterfalse(loop.is_control, items):
            share = _trip_share(item, loop)
            if self._compiled.divisions.takes_reciprocal(item):
                # A block of an unrolled body takes a reciprocal once, for all its copies.
                self._count(
                    counts, item, share / loop.trips, self._compiled.divisions.not_inverted()
                )
                share -= share / loop.trips
            self._count(counts, item, share)
        share = self.controls.share(loop, counts)
        for item in filter(loop.is_control, items):
            self._count(counts, item, share)
        end = block.terminator
        self._count(counts, end, share if loop.is_control(end) else 1.0)
        return counts

    def _count(
        self,
        counts: dict[Operation, float],
        item: Instruction | Terminator,
        share: float,
        divisions: Divisions | None = None,
    ) -> None:
        for operation, number in self._compiled.of(item, divisions) if share else ():
            counts[operation] = counts.get(operation, 0.0) + number * share


def _reads_ahead(
    kernel: PreparedKernel, loops: Mapping[int, UnrolledLoop], number: int, in_flight: float
) -> ReadsAhead | None:
    """Return how the partly unrolled loop around a block overlaps its rounds of reads.

    `in_flight` are the trips of all loops around it whose reads are in flight together.
    """
    loop, copies = kernel.graph.loop_of[number], in_flight
    while loop in loops and loops[loop].is_whole:
        copies /= loops[loop].trips
        loop = kernel.graph.loops[loop].parent
    return ReadsAhead(loop, loops[loop].trips, copies) if loop in loops and copies > 1 else None


def _blocks_together(
    kernel: PreparedKernel,
    machine: Machine,
    loops: Mapping[int, UnrolledLoop],
    order: MemoryOrder,
) -> tuple[Mapping[int, Mapping[frozenset[int], float]], Mapping[int, frozenset[int]]]:
    """Return the rounds of reads by block, and by loop the blocks scheduled with those of other trips."""
    if machine.has_item_loops:
        return {}, {number: kernel.graph.loops[number].blocks for number in loops}
    groups = find_predicated_groups(kernel)
    rounds: dict[int, Mapping[frozenset[int], float]] = {}
    for group in groups:
        rounds |= find_shared_rounds(kernel, group, order)
    return rounds, {number: blocks_in_line(kernel, groups, number) for number in loops}


def _keeping(stores: int, loads: int) -> Mapping[Operation, float]:
    """Return the operations that keep values of work-items across barriers."""
    numbers = {CostClass.STORE: float(stores), CostClass.LOAD: float(loads)}
    return {Operation(KEPT_TYPE, cost): number for cost, number in numbers.items() if number}


def _fused(chain: Chain) -> Chain:
    """Return a chain whose products and sums take as long as products, as on a CPU."""
    operations: dict[Operation, float] = {}
    for operation, number in chain.operations.items():
        if operation.cost is CostClass.FLOAT_MULTIPLY_ADD and operation.function != SUM:
            product = Operation(operation.type, CostClass.FLOAT_MULTIPLY)
        else:
            product = operation
        operations[product] = operations.get(product, 0.0) + number
    return replace(chain, operations=operations)


def _trip_share(item: Instruction, loop: UnrolledLoop) -> float:
    """Return the share of an instruction that is left per trip of an unrolled loop."""
    evolution = loop.evolution
    if isinstance(item, Load | Store) and item.space == PRIVATE:
        address = evolution.of(item.pointer)
        is_register = loop.is_whole and address <= Evolution.CONSTANT_STRIDE
        return 0.0 if is_register else 1.0
    if not is_pure(item) or result_of(item) < 0:
        return 1.0
    result = evolution.of(result_of(item))
    if result <= Evolution.INVARIANT:
        return 0.0
    if result is Evolution.IRREGULAR:
        return 1.0
    is_address = isinstance(item, Offset)
    return 1.0 if result is Evolution.INVARIANT_STRIDE and is_address else 0.0
