"""Control of loops that a GPU's compiler unrolls: counting, comparing and branching, per trip and entry.

Measured on an H200 with the driver's PTX and NVIDIA's assembler; see docs/model-overlap.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.costs.classes import CostClass
from cltrace.kernels.costs.operation import Operation
from cltrace.kernels.fold.unrolling import TRIPS_AGAIN, UnrolledLoop

_MAX_SHORT_TRIP: Final = 4.25
"""Operations of a trip up to which a loop is unrolled again for them alone."""
_MAX_COPIED: Final = 128
"""Operations of all copies of a trip of a loop whose number of trips is a constant."""
_SHORTEST: Final = 0.5
_FUNCTIONS: Final = frozenset({CostClass.SPECIAL, CostClass.FLOAT_DIVIDE, CostClass.INT_DIVIDE})
_FUNCTION_INSTRUCTIONS: Final = 8.0
_NATIVE_INSTRUCTIONS: Final = 2.0
_ENTRY: Final = 14.0
"""Instructions that choose between the copies of a body and the trips that are left over, per entry."""
_FURTHER_ENTRY: Final = 9.0
"""Further ones where a loop is unrolled by 4 again, as there are bodies of 4, 8 and 16 trips."""


@dataclass(frozen=True, slots=True)
class LoopControl:
    """Control of an unrolled loop: the share that is left per trip, and instructions per entry."""

    share: float
    entry_instructions: float


class LoopControls:
    """Control of the unrolled loops of a kernel, as its blocks are folded. A CPU has none per entry.

    Attributes:
        entries: instructions per entry of each loop that has any, by number.
    """

    def __init__(self, *, is_cpu: bool) -> None:
        """Start without loops."""
        self._is_cpu = is_cpu
        self.entries: Final[dict[int, float]] = {}

    def share(self, loop: UnrolledLoop, operations: Mapping[Operation, float]) -> float:
        """Return the share of a loop's control that is left per trip of other operations."""
        if self._is_cpu:
            return 0.0 if loop.is_whole else 1.0 / loop.trips
        control = control_of(loop, operations)
        if control.entry_instructions:
            self.entries[loop.evolution.loop.number] = control.entry_instructions
        return control.share


def control_of(loop: UnrolledLoop, operations: Mapping[Operation, float]) -> LoopControl:
    """Return the control of a loop on a GPU, whose trips have these other operations.

    A loop with a constant number of trips has as many copies as fit into 128 operations, but no fewer
    than its body is unrolled by. Any other one of up to four operations is unrolled by 4 again, and has
    to find out at each entry how many trips there are. With `double`, each body moves its literals to
    registers as well: 6 moves for two multiply-adds of three literals in 16 trips, as much as the control
    of four bodies.
    """
    trip_operations = sum(_instructions(each) * number for each, number in operations.items())
    if loop.is_whole:
        return LoopControl(0.0, 0.0)
    has_one_block = loop.has_one_block
    if loop.trips == 1:
        return LoopControl(1.0, 0.0)
    if loop.evolution.constant_bounds() is not None:
        copies = _copies_of(trip_operations) if has_one_block else 1
        return LoopControl(1.0 / max(loop.trips, copies), 0.0)
    is_short = trip_operations <= _MAX_SHORT_TRIP
    has_doubles = any(operation.type == "double" for operation in operations)
    if has_one_block and is_short and not has_doubles and loop.evolution.has_constant_step():
        return LoopControl(1.0 / TRIPS_AGAIN, _ENTRY + _FURTHER_ENTRY)
    return LoopControl(1.0 / loop.trips, _ENTRY)


def _instructions(operation: Operation) -> float:
    """Return about how many instructions an operation is."""
    if operation.cost is CostClass.SPECIAL and operation.function.startswith("native_"):
        return _NATIVE_INSTRUCTIONS
    return _FUNCTION_INSTRUCTIONS if operation.cost in _FUNCTIONS else 1.0


def _copies_of(trip_operations: float) -> int:
    """Return the copies of a trip in the body of a loop with a constant number of trips."""
    copies = 1
    while 2 * copies * max(trip_operations, _SHORTEST) <= _MAX_COPIED:
        copies *= 2
    return copies
