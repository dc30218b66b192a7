"""Reads that are the same in each trip of a loop around wholly unrolled ones: a compiler makes them once.

The weights of a filter, `w[3 * y + x]` in two loops of three trips within a loop over channels, are read
in front of the loop over channels, and so is what is computed of them alone. Checked on what NVIDIA's
assembler makes of the driver's PTX: of 81 reads of neighbours in a loop of eight directions around one of
four axes, 10 are left.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.fold.known_values import KnownValues, written_pointers
from cltrace.kernels.fold.literal_reads import LiteralReads
from cltrace.kernels.fold.loop_evolution import is_pure
from cltrace.kernels.fold.memory_order import MemoryOrder, may_write
from cltrace.kernels.fold.unrolling import UnrolledLoop
from cltrace.kernels.ir.instructions import Instruction, Load, Phi
from cltrace.kernels.ir.types import LOCAL, PRIVATE, size_bytes
from cltrace.kernels.ir.uses import operands_of, result_of

_REGISTER_BYTES: Final = 4
_MAX_REGISTERS: Final = 64
"""Registers that a compiler keeps such values in."""


@dataclass(frozen=True, slots=True)
class RepeatedReads:
    """Reads that loops around unrolled ones repeat, and slots of what follows from them alone.

    `copies` are how many copies of a read of local memory become one, by its site: the loops around it
    are unrolled wholly, too. All others are made in front of a loop.
    """

    reads: LiteralReads
    copies: Mapping[int, int]


def find_repeated_reads(
    kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]
) -> RepeatedReads:
    """Return the reads that loops around unrolled ones repeat."""
    search = _RepeatedReadSearch(kernel, unrolled)
    sites: set[int] = set()
    values: set[int] = set()
    copies: dict[int, int] = {}
    for number in range(len(kernel.graph.loops)):
        repeated = search.within(number)
        read = {item.pointer for item in repeated.values() if isinstance(item, Load)}
        if not read:
            continue
        values |= repeated.keys()
        loop = unrolled.get(number)
        for site in kernel.sites:
            if site.pointer in read:
                if loop is not None and loop.is_whole and site.space == LOCAL:
                    copies[site.number] = copies.get(site.number, 1) * loop.trips
                else:
                    sites.add(site.number)
    return RepeatedReads(LiteralReads(frozenset(sites), frozenset(values)), copies)


class _RepeatedReadSearch:
    def __init__(self, kernel: PreparedKernel, unrolled: Mapping[int, UnrolledLoop]) -> None:
        self._kernel = kernel
        self._unrolled = unrolled
        self._order = MemoryOrder(kernel)
        self._variables = KnownValues(kernel).variables()

    def within(self, outer: int) -> Mapping[int, Instruction | Phi]:
        """Return the values in wholly unrolled loops of a loop that are the same in each of its trips."""
        graph, function = self._kernel.graph, self._kernel.function
        inner = {
            number for number in range(len(graph.loops)) if self._is_whole_within(number, outer)
        }
        blocks = {block for block in graph.loops[outer].blocks if graph.loop_of[block] in inner}
        if not blocks:
            return {}
        inside = {result_of(item) for item in self._instructions(outer)}
        for number in graph.loops[outer].blocks:
            inside.update(phi.result for phi in function.blocks[number].phis)
        writes = [item for item in self._instructions(outer) if may_write(item)]
        variables = self._written_variables(outer)
        same: dict[int, Instruction | Phi] = {
            result_of(item): item
            for number in blocks
            for item in function.blocks[number].instructions
            if result_of(item) >= 0 and self._may_repeat(item, writes, variables)
        }
        headers = [graph.loops[number].header for number in inner]
        same |= {phi.result: phi for header in headers for phi in function.blocks[header].phis}
        varying = inside - same.keys()
        while True:
            lost = [slot for slot, item in same.items() if not varying.isdisjoint(_inputs(item))]
            if not lost:
                break
            for slot in lost:
                del same[slot]
            varying.update(lost)
        return same if self._registers(same, outer) <= _MAX_REGISTERS else {}

    def _is_whole_within(self, number: int, outer: int) -> bool:
        """Return True for a loop within another one that is unrolled wholly, as all between them are."""
        while number >= 0 and number != outer:
            if number not in self._unrolled or not self._unrolled[number].is_whole:
                return False
            parent = self._kernel.graph.loops[number].parent
            if parent == outer:
                return True
            number = parent
        return False

    def _may_repeat(
        self, item: Instruction, writes: Sequence[Instruction], variables: frozenset[int]
    ) -> bool:
        """Return True if a result follows from the operands in each trip of a loop.

        `writes` and `variables` are what the loop writes: memory, and private variables.
        """
        if not isinstance(item, Load):
            return is_pure(item)
        if item.space == PRIVATE:
            read = self._variables.get(item.pointer, frozenset())
            return bool(read) and read.isdisjoint(variables)
        return not any(self._order.may_meet_in_any_trip(write, item) for write in writes)

    def _written_variables(self, loop: int) -> frozenset[int]:
        """Return the private variables that a loop may write."""
        return frozenset(
            variable
            for item in self._instructions(loop)
            for pointer in written_pointers(item)
            for variable in self._variables.get(pointer, ())
        )

    def _instructions(self, loop: int) -> Iterator[Instruction]:
        for number in self._kernel.graph.loops[loop].blocks:
            yield from self._kernel.function.blocks[number].instructions

    def _registers(self, same: Mapping[int, Instruction | Phi], outer: int) -> float:
        """Return the registers of the reads, those of all copies together."""
        graph, total = self._kernel.graph, 0.0
        for number in graph.loops[outer].blocks:
            copies, loop = 1, graph.loop_of[number]
            while loop != outer and loop in self._unrolled:
                copies *= self._unrolled[loop].trips
                loop = graph.loops[loop].parent
            for item in self._kernel.function.blocks[number].instructions:
                if isinstance(item, Load) and item.space != PRIVATE and item.result in same:
                    total += copies * size_bytes(item.type) / _REGISTER_BYTES
        return total


def _inputs(item: Instruction | Phi) -> set[int]:
    return {slot for _, slot in item.incoming} if isinstance(item, Phi) else set(operands_of(item))
