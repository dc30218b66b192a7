"""Which loops a driver's compiler unrolls, and by how many trips."""

from collections.abc import Mapping
from dataclasses import dataclass

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.execute.prepared_kernel import Prepared
from cltrace.kernels.flow.canonical_loops import canonical_loops
from cltrace.kernels.fold.instruction_costs import named_operations
from cltrace.kernels.fold.movement import LoopMovement
from cltrace.kernels.ir.instructions import Branch, Call, Instruction, Terminator
from cltrace.kernels.ir.uses import result_of
from cltrace.kernels.machine import Machine


@dataclass(frozen=True, slots=True)
class Unrolled:
    """An unrolled loop: `trips` of it stand side by side; `is_whole` says that these are all."""

    movement: LoopMovement
    trips: int
    is_whole: bool

    @property
    def control(self) -> float:
        """How much of the loop's own counting, comparing and branching is left in each trip."""
        return 0.0 if self.is_whole else 1.0 / self.trips

    def counts(self, item: Instruction | Terminator) -> bool:
        """Whether an instruction is a part of the loop's own counting, comparing and branching."""
        loop = self.movement.loop
        if isinstance(item, Branch):
            return item.condition == loop.comparison.result
        is_step = any(result_of(item) == following for _, following in loop.affine)
        return item is loop.comparison or is_step


def unrolled_loops(whole: Prepared, machine: Machine) -> Mapping[int, Unrolled]:
    """The loops that are unrolled, by number: innermost ones, and those around what is unrolled whole.

    A loop in which lanes wait for each other is left as it is.
    """
    graph = whole.graph
    found: dict[int, Unrolled] = {}
    canonical = {
        loop.number: loop for loop in canonical_loops(whole.function, graph).values()
    }  # fmt: skip
    for number in reversed(range(len(graph.loops))):
        inner = [one for one, loop in enumerate(graph.loops) if loop.parent == number]
        if number not in canonical or not all(
            one in found and found[one].is_whole for one in inner
        ):
            continue
        movement = LoopMovement(whole.function, graph, canonical[number])
        if any(map(_waits, movement.instructions())):
            continue
        trips = movement.trips()
        if trips is not None and trips <= machine.full_unroll_trips:
            found[number] = Unrolled(movement, trips, is_whole=True)
        elif not inner:
            found[number] = Unrolled(movement, machine.unrolled_trips, is_whole=False)
    return found


def _waits(item: Instruction) -> bool:
    return isinstance(item, Call) and any(
        operation.cost in {CostClass.BARRIER, CostClass.COLLECTIVE}
        for operation, _ in named_operations(item)
    )
