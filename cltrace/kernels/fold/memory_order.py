"""Order of memory accesses: which reads a compiler cannot move in front of an earlier write.

Two accesses may meet unless they are in different address spaces, in different variables of the program,
or at addresses with a known distance, or one of them is through a `restrict` parameter. Types make no
difference, nor does `const`, as OpenCL drivers' compilers leave them out of account.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, DataDependencies, Root
from cltrace.kernels.fold.linear_addresses import LinearAddresses
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution
from cltrace.kernels.ir.instructions import (
    AtomicExchange,
    AtomicUpdate,
    Call,
    Instruction,
    Load,
    Store,
)
from cltrace.kernels.ir.types import CONSTANT, GENERIC, LOCAL, PRIVATE, PointerType, size_bytes
from cltrace.kernels.ir.uses import operands_of, result_of

_MAX_AHEAD: Final = 8
"""Trips by which a compiler may move a read to the front."""
NEAR_SPACES: Final = frozenset({CONSTANT, LOCAL})


@dataclass(frozen=True, slots=True)
class _Place:
    """What an access touches: the slot of its pointer, the address space, the bytes; 0 if not known."""

    pointer: int
    space: int
    size_bytes: int


class MemoryOrder:
    """The order of a kernel's accesses. `private_memory` are the sites of private variables in memory."""

    def __init__(
        self, kernel: PreparedKernel, private_memory: frozenset[int] = frozenset()
    ) -> None:
        self._kernel = kernel
        self.private_memory = private_memory
        self._addresses = LinearAddresses(kernel)
        facts = kernel.function.kernel
        self._restricted = frozenset(
            index
            for index, qualifiers in enumerate(facts.qualifiers if facts is not None else ())
            if "restrict" in qualifiers.split()
        )

    @cached_property
    def _dependencies(self) -> DataDependencies:
        return DataDependencies(self._kernel.function, self._kernel.graph)

    @cached_property
    def _written(self) -> frozenset[Root]:
        """The roots that the kernel may write."""
        return frozenset[Root]().union(
            *(self._dependencies.writes(item) for _, item in self._dependencies.instructions)
        )

    def holds_back(
        self, write: Instruction, read: Instruction, loop: LoopEvolution | None = None
    ) -> bool:
        """Return True if `read` has to stay behind an earlier `write`.

        With `loop`, the read is that of the trip after the write's.
        """
        return any(
            self._may_meet(written, found, loop)
            for written in places_of(write)
            for found in places_of(read)
        )

    def may_meet_in_any_trip(self, write: Instruction, read: Instruction) -> bool:
        """Return True if a write may change what is read, in whatever trips of the loops around both."""
        return any(
            self._may_share(written, found)
            for written in places_of(write)
            for found in places_of(read)
        )

    def passes_barriers(self, loop: LoopEvolution) -> bool:
        """Return True if a loop's reads of global memory may move in front of its barriers.

        So may those through `restrict` parameters that the kernel does not write, and all reads of a loop
        without a write.
        """
        items = list(loop.instructions())
        if any(isinstance(item, AtomicUpdate | AtomicExchange) for item in items):
            return False
        if not any(may_write(item) for item in items):
            return True
        read = {
            root
            for item in items
            if may_read(item)
            for place in places_of(item)
            if place.space not in NEAR_SPACES
            for root in self._roots_of(place)
        }
        return read <= self._restricted and read.isdisjoint(self._written)

    def _roots_of(self, place: _Place) -> frozenset[Root]:
        return self._dependencies.roots.get(place.pointer) or frozenset({UNKNOWN_ROOT})

    def held_back_reads(self, loop: LoopEvolution) -> Iterator[Instruction]:
        """Yield the reads of a loop that stay behind a write of the trip before that waits for reads."""
        late = _late_slots(self._kernel, loop)
        items = [
            item
            for number in self._kernel.graph.order
            if number in loop.blocks
            for item in self._kernel.function.blocks[number].instructions
        ]
        writes = [
            item for item in items if may_write(item) and late.intersection(operands_of(item))
        ]
        writes = list({tuple(places_of(write)): write for write in writes}.values())
        for item in items:
            if may_read(item) and any(self.holds_back(write, item, loop) for write in writes):
                yield item

    def _may_meet(self, write: _Place, read: _Place, loop: LoopEvolution | None) -> bool:
        if not self._may_share(write, read):
            return False
        return self._may_be_two(write, read) or not self._is_apart(write, read, loop)

    def _may_share(self, write: _Place, read: _Place) -> bool:
        """Return True if two places may be in the same memory."""
        spaces = {write.space, read.space}
        if CONSTANT in spaces or (len(spaces) > 1 and GENERIC not in spaces):
            return False
        return self._may_be_two(write, read) or bool(self._roots_of(write) & self._roots_of(read))

    def _may_be_two(self, write: _Place, read: _Place) -> bool:
        """Return True if places may be in the same memory by different roots."""
        written, taken = self._roots_of(write), self._roots_of(read)
        return any(self._may_overlap(root, other) for root in written for other in taken - {root})

    def _may_overlap(self, one: Root, other: Root) -> bool:
        """Return True if two different roots may be the same memory."""
        if isinstance(one, int) and isinstance(other, int):
            return self._restricted.isdisjoint((one, other))
        return UNKNOWN_ROOT in {one, other}

    def _is_apart(self, write: _Place, read: _Place, loop: LoopEvolution | None) -> bool:
        """Return True if accesses of one memory have a known distance that keeps them apart."""
        written, taken = (self._addresses.of(place.pointer) for place in (write, read))
        if (written.base, written.terms) != (taken.base, taken.terms):
            return False
        distance = taken.begin_bytes - written.begin_bytes
        if loop is None:
            return _are_apart(distance, write, read)
        advance = self._addresses.bytes_per_trip(read.pointer, loop)
        if advance is None:
            return distance == 0 and loop.of(read.pointer) is Evolution.CONSTANT_STRIDE
        return all(
            _are_apart(distance + trips * advance, write, read) for trips in range(1, _MAX_AHEAD)
        )


def _are_apart(distance_bytes: int, write: _Place, read: _Place) -> bool:
    """Return True if a read at a distance from a write touches other bytes."""
    extent = write.size_bytes if distance_bytes >= 0 else read.size_bytes
    return extent > 0 and abs(distance_bytes) >= extent


def may_write(item: Instruction) -> bool:
    """Return True if an instruction may write memory that others read."""
    return isinstance(item, Store | AtomicUpdate | AtomicExchange) or (
        isinstance(item, Call) and bool(places_of(item))
    )


def may_read(item: Instruction) -> bool:
    """Return True if an instruction may read memory that others write."""
    return isinstance(item, Load | AtomicUpdate | AtomicExchange) or (
        isinstance(item, Call) and bool(places_of(item))
    )


def places_of(item: Instruction) -> list[_Place]:
    """Return what an access touches; nothing for private memory, which has an order of its own."""
    match item:
        case Load() | Store() | AtomicUpdate() | AtomicExchange():
            places = [_Place(item.pointer, item.space, size_bytes(item.type))]
        case Call():
            places = [
                _Place(slot, kind.space, 0)
                for slot, kind in zip(item.arguments, item.argument_types, strict=True)
                if isinstance(kind, PointerType)
            ]
        case _:
            places = []
    return [place for place in places if place.space != PRIVATE]


def _late_slots(kernel: PreparedKernel, loop: LoopEvolution) -> frozenset[int]:
    """Return the values of a loop that wait for reads in it."""
    blocks = [
        kernel.function.blocks[number] for number in kernel.graph.order if number in loop.blocks
    ]
    late: set[int] = set()
    known = -1
    while len(late) > known:
        known = len(late)
        for block in blocks:
            late.update(
                phi.result for phi in block.phis if any(slot in late for _, slot in phi.incoming)
            )
            for item in block.instructions:
                is_read = may_read(item) and bool(places_of(item))
                if is_read or late.intersection(operands_of(item)):
                    late.add(result_of(item))
        late.discard(-1)
    return frozenset(late)
