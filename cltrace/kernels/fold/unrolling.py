"""Loops that a driver's compiler unrolls, and the trips that it unrolls them by."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.canonical_loops import CanonicalLoop, find_canonical_loops
from cltrace.kernels.fold.constant_loops import ConstantLoop, find_constant_loops
from cltrace.kernels.fold.instruction_operations import named_operations
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution, is_pure
from cltrace.kernels.fold.loop_indices import registers_read_ahead
from cltrace.kernels.fold.loop_sizes import LoopSizes, is_loop_control
from cltrace.kernels.fold.memory_order import (
    NEAR_SPACES,
    MemoryOrder,
    may_read,
    may_write,
    places_of,
)
from cltrace.kernels.fold.sequential_trips import has_sequential_trips
from cltrace.kernels.ir.instructions import (
    Branch,
    Call,
    FallThrough,
    Instruction,
    Jump,
    Load,
    Return,
    Store,
    Switch,
    Terminator,
    Unreachable,
)
from cltrace.kernels.ir.types import PRIVATE, size_bytes
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.machine import Machine

_REGISTER_BYTES: Final = 4
TRIPS_AGAIN: Final = 16
"""Trips of the body of a loop that is unrolled by 4, and by 4 again."""
_MAX_SHORT_TRIP: Final = 8.5
"""Operations of a trip up to which a loop is unrolled further than others."""
_MAX_WHOLE_SIZE: Final = 420.0
_MAX_PARTIAL_SIZE: Final = 200.0
"""Sizes of all copies up to which NVIDIA's compiler unrolls a loop wholly, and by 4 or 2.

Found in the PTX of 416 loops (`benchmarks/loop_sizes.py`), of which these sizes give 404 as they are, if
more than four copies of a known number of trips count as four.
"""
_MAX_TESTED_TRIPS: Final = 8
"""Trips up to which LLVM unrolls a loop wholly that may end before."""
_MORE_FOR_PRIVATE: Final = 4
"""Times the size that a compiler unrolls wholly if the body accesses private variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrolledLoop:
    """An unrolled loop with `trips` copies of its body.

    `is_whole` if these are all of its trips, `is_sequential` if a trip may need what the one before has
    computed, `is_in_step` if work-items wait for each other in each trip, so that trips stay one after
    another. `has_loops` if it has loops inside. `constants` are the slots whose values are constants in
    each copy, and `powers` those that are powers of two.
    """

    kernel: PreparedKernel
    evolution: LoopEvolution
    trips: int
    is_whole: bool
    is_sequential: bool
    is_in_step: bool
    has_loops: bool
    constants: frozenset[int] = frozenset()
    powers: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        kernel: PreparedKernel,
        evolution: LoopEvolution,
        trips: int,
        *,
        is_whole: bool,
        is_in_step: bool = False,
    ) -> "UnrolledLoop":
        """Return a loop of a kernel that is unrolled."""
        is_sequential = has_sequential_trips(kernel.function, evolution)
        number, loops = evolution.loop.number, kernel.graph.loops
        return cls(
            kernel=kernel,
            evolution=evolution,
            trips=trips,
            is_whole=is_whole,
            is_sequential=is_sequential,
            is_in_step=is_in_step,
            has_loops=any(loop.parent == number for loop in loops),
        )

    @property
    def has_one_block(self) -> bool:
        """True if a compiler makes a trip one block: what else leaves the loop is no condition."""
        return len(self.evolution.blocks) - len(self.evolution.loop.further_tests) == 1

    @property
    def overlaps_operations(self) -> bool:
        """Whether operations of different copies overlap.

        In sequential loops, operations one after another, with more reads in flight than there are,
        predict sums better; see docs/model-overlap.md.
        """
        return self.is_whole or not self.is_sequential

    def reads_ahead(self, trip_operations: float, rounds: float = 1.0) -> float:
        """Return the copies of the unrolled body whose reads are in flight together: also a part of one.

        In a loop that only reads and whose counter advances by a constant, a short trip (of few
        `trip_operations`) is unrolled again. As many reads of these 16 trips as there are registers for
        begin together, and others once the first have arrived: on an H200, 22 ns a trip that reads one
        register, 38 for two, 81 for four. Where a trip has conditions or waits for several `rounds` of
        reads, those of two copies begin together: 112 ns a trip on an H100.

        A loop that is still tested before its first trip, as a size is read there, is unrolled later and
        has no such reads: 6.8 ns a trip for a sum over local memory, 4.4 where the size is a variable.
        """
        if self.is_whole or self.trips == 1 or self.has_loops:
            return 1.0
        writes = any(places_of(item) for item in self.evolution.instructions() if may_write(item))
        waits = writes or self.evolution.is_tested_first or not self.evolution.has_constant_step()
        if not waits and (rounds > 1.0 or not self.has_one_block):
            return 2.0
        if waits or trip_operations > _MAX_SHORT_TRIP:
            return 1.0
        return self._trips_ahead() / self.trips

    def _trips_ahead(self) -> float:
        """Return the trips of a short loop whose reads are in flight together, at least one."""
        number = self.evolution.loop.number
        is_alone = self.kernel.graph.loops[number].parent < 0 and not _synchronising(self.evolution)
        together = registers_read_ahead(self.kernel, self.evolution, is_alone=is_alone)
        if not together:
            return float(self.trips)
        rounds = math.ceil(TRIPS_AGAIN * max(self._read_registers(), 1.0) / together)
        return max(TRIPS_AGAIN / rounds, 1.0)

    def _read_registers(self) -> float:
        """Return the registers that a trip reads from memory."""
        return sum(
            math.ceil(size_bytes(item.type) / _REGISTER_BYTES)
            for item in self.evolution.instructions()
            if isinstance(item, Load) and item.space != PRIVATE
        )

    def is_advanced(self, item: Instruction | Terminator) -> bool:
        """Return True for a value that advances by additions, beside the waits of the loop."""
        if isinstance(item, Jump | FallThrough | Branch | Switch | Return | Unreachable):
            return False
        result = result_of(item)
        return (
            result >= 0
            and is_pure(item)
            and self.evolution.of(result) <= Evolution.INVARIANT_STRIDE
        )

    def is_control(self, item: Instruction | Terminator) -> bool:
        """Return True for an instruction of the loop's counting, comparing and branching."""
        return is_loop_control(item, self.evolution.loop)


def find_unrolled_loops(kernel: PreparedKernel, machine: Machine) -> Mapping[int, UnrolledLoop]:
    """Return the unrolled loops by number: innermost ones, and those around wholly unrolled ones.

    A loop in which work-items wait for each other is unrolled if its reads may move over the barriers,
    so that those of several trips wait together: 111 ns a trip on an H200 with `restrict`, 226 without
    it. So is one whose counters are constants in each trip, but its reads stay where they are. One whose
    counter advances by a number that is known at run time only, such as the global size, is not: its
    trips cannot be counted before.
    """
    return _Unrolling(kernel, machine).loops()


class _Unrolling:
    def __init__(self, kernel: PreparedKernel, machine: Machine) -> None:
        self._kernel, self._machine = kernel, machine
        self._order = MemoryOrder(kernel)
        function, graph = kernel.function, kernel.graph
        is_gpu = not machine.has_item_loops
        loops = find_canonical_loops(function, graph, joins_exits=is_gpu)
        canonical = {loop.number: loop for loop in loops.values()}
        self._constant = {
            number: loop
            for number, loop in (find_constant_loops(kernel) if is_gpu else {}).items()
            if not _ends_before(loop, canonical.get(number))
        }
        self._forms = {number: loop.form for number, loop in self._constant.items()} | canonical
        self._unrolled: dict[int, UnrolledLoop] = {}
        self._sizes = LoopSizes(kernel, self._unrolled)

    def loops(self) -> Mapping[int, UnrolledLoop]:
        """Return the unrolled loops by number, inner ones first."""
        loops = self._kernel.graph.loops
        for number in reversed(range(len(loops))):
            inner = [position for position, loop in enumerate(loops) if loop.parent == number]
            if number in self._forms and all(map(self._is_whole, inner)):
                unrolled = self._loop(number, has_inner=bool(inner))
                if unrolled is not None:
                    self._unrolled[number] = unrolled
        return self._unrolled

    def _is_kept(self, number: int) -> bool:
        """Return True for a loop of which the program says that it is not unrolled, or no further."""
        loop = self._kernel.graph.loops[number]
        ends = (
            self._kernel.function.blocks[block].terminator
            for block in self._kernel.graph.predecessors[loop.header]
            if block in loop.blocks
        )
        return any(isinstance(end, Branch | Jump) and end.keeps_loop for end in ends)

    def _is_whole(self, number: int) -> bool:
        return number in self._unrolled and self._unrolled[number].is_whole

    def _loop(self, number: int, *, has_inner: bool) -> UnrolledLoop | None:
        kernel, machine, constant = self._kernel, self._machine, self._constant.get(number)
        evolution = LoopEvolution(
            kernel.function,
            kernel.graph,
            self._forms[number],
            inlines_calls=not machine.has_item_loops,
            copy_constants=constant.values if constant is not None else frozenset(),
        )
        waits = _synchronising(evolution)
        is_in_step = bool(waits) and (
            has_inner
            or machine.has_item_loops
            or CostClass.COLLECTIVE in waits
            or not self._order.passes_barriers(evolution)
        )
        is_kept = self._is_kept(number)
        trips = constant.trips if constant is not None else evolution.trips()
        if not is_kept and trips is not None and self._becomes_whole(evolution, trips):
            if is_in_step and (constant is None or CostClass.COLLECTIVE in waits):
                return None
            stays = is_in_step or (bool(waits) and not _reads_far(evolution))
            whole = UnrolledLoop.of(kernel, evolution, trips, is_whole=True, is_in_step=stays)
            if constant is None:
                return whole
            return replace(whole, constants=constant.values, powers=constant.powers)
        if is_in_step or not evolution.has_known_step():
            return None
        copies = 1 if is_kept else self._copies(evolution, trips)
        is_long = copies == 1 and not is_kept
        if has_inner and (waits or machine.has_item_loops or is_long):
            return None
        return UnrolledLoop.of(kernel, evolution, copies, is_whole=False)

    def _becomes_whole(self, evolution: LoopEvolution, trips: int) -> bool:
        """Return True for a loop of so many trips that is unrolled wholly.

        A GPU's compiler looks at the size of all copies, and goes further for private variables, which
        this may bring into registers.
        """
        if self._machine.has_item_loops:
            return trips <= self._machine.full_unroll_trips
        is_private = any(
            isinstance(item, Load | Store) and item.space == PRIVATE
            for item in evolution.instructions()
        )
        limit = _MAX_WHOLE_SIZE * (_MORE_FOR_PRIVATE if is_private else 1)
        return trips * max(self._sizes.of_known_trip(evolution), 1.0) <= limit

    def _copies(self, evolution: LoopEvolution, trips: int | None) -> int:
        """Return the trips by which a loop is unrolled that is not unrolled wholly.

        Of known trips, none are left over if that is possible: 50 have two copies.
        """
        copies = self._machine.unrolled_trips
        if self._machine.has_item_loops:
            return copies
        while copies > 1 and copies * self._sizes.of_trip(evolution) > _MAX_PARTIAL_SIZE:
            copies //= 2
        without_rest = math.gcd(copies, trips or copies)
        return without_rest if without_rest > 1 else copies


def _ends_before(loop: ConstantLoop, joined: CanonicalLoop | None) -> bool:
    """Return True for a loop with a further exit, from which a compiler computes fewer trips.

    It unrolls a few trips wholly nevertheless, with a test before each.
    """
    is_joined = joined is not None and not joined.tests <= loop.form.tests
    return is_joined and loop.trips > _MAX_TESTED_TRIPS


def _reads_far(evolution: LoopEvolution) -> bool:
    """Return True for a loop that reads memory which other work-groups have, too."""
    return any(
        place.space not in NEAR_SPACES
        for item in evolution.instructions()
        if may_read(item)
        for place in places_of(item)
    )


def _synchronising(evolution: LoopEvolution) -> set[CostClass]:
    """Return the kinds of operations of a loop at which work-items wait for each other."""
    return {
        operation.cost
        for item in evolution.instructions()
        if isinstance(item, Call)
        for operation, _ in named_operations(item)
    } & {CostClass.BARRIER, CostClass.COLLECTIVE}
