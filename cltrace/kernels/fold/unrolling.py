"""Loops that a driver's compiler unrolls, and the trips that it unrolls them by."""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.canonical_loops import find_canonical_loops
from cltrace.kernels.fold.instruction_operations import named_operations
from cltrace.kernels.fold.loop_evolution import Evolution, LoopEvolution, is_pure
from cltrace.kernels.fold.memory_order import may_write, places_of
from cltrace.kernels.ir.instructions import (
    Branch,
    Call,
    FallThrough,
    Instruction,
    Jump,
    Return,
    Switch,
    Terminator,
    Unreachable,
)
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.machine import Machine


@dataclass(frozen=True, slots=True)
class UnrolledLoop:
    """An unrolled loop with `trips` copies of its body; `is_whole` if these are all of its trips."""

    evolution: LoopEvolution
    trips: int
    is_whole: bool

    @property
    def reads_ahead(self) -> int:
        """Copies of the unrolled body whose reads are in flight together.

        In a loop that only reads, those of the next copy begin before the results of this one are used.
        """
        if self.is_whole or self.trips == 1:
            return 1
        writes = any(places_of(item) for item in self.evolution.instructions() if may_write(item))
        return 1 if writes else 2

    @property
    def control_share(self) -> float:
        """Share of the loop's control that is left per trip: counting, comparing and branching."""
        return 0.0 if self.is_whole else 1.0 / self.trips

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
        loop = self.evolution.loop
        if isinstance(item, Branch):
            return item.condition == loop.comparison.result
        is_step = any(result_of(item) == following for _, following in loop.affine)
        return item is loop.comparison or is_step


def find_unrolled_loops(kernel: PreparedKernel, machine: Machine) -> Mapping[int, UnrolledLoop]:
    """Return the unrolled loops by number: innermost ones, and those around wholly unrolled ones.

    A loop in which work-items wait for each other is not unrolled, nor is one whose counter advances by
    a number that is known at run time only, such as the global size: its trips cannot be counted before.
    """
    graph = kernel.graph
    unrolled: dict[int, UnrolledLoop] = {}
    canonical = {
        loop.number: loop for loop in find_canonical_loops(kernel.function, graph).values()
    }
    for number in reversed(range(len(graph.loops))):
        inner = [position for position, loop in enumerate(graph.loops) if loop.parent == number]
        if number not in canonical or not all(
            position in unrolled and unrolled[position].is_whole for position in inner
        ):
            continue
        evolution = LoopEvolution(
            kernel.function,
            graph,
            canonical[number],
            inlines_calls=not machine.has_item_loops,
        )
        if any(map(_is_synchronising, evolution.instructions())):
            continue
        trips = evolution.trips()
        if trips is not None and trips <= machine.full_unroll_trips:
            unrolled[number] = UnrolledLoop(evolution, trips, is_whole=True)
        elif not inner and evolution.has_constant_step():
            unrolled[number] = UnrolledLoop(evolution, machine.unrolled_trips, is_whole=False)
    return unrolled


def _is_synchronising(item: Instruction) -> bool:
    return isinstance(item, Call) and any(
        operation.cost in {CostClass.BARRIER, CostClass.COLLECTIVE}
        for operation, _ in named_operations(item)
    )
