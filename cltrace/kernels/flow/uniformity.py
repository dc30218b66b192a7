"""Uniformity of a loop's trips: the conditions under which a few trips stand for all."""

from enum import Enum, auto

from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.ir.instructions import (
    Binary,
    Branch,
    Convert,
    Copy,
    Instruction,
    Offset,
    Phi,
    Switch,
)
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.uses import operands_of, result_of


class NonUniformity(Enum):
    """Reason why the trips of a loop are not uniform."""

    CONTROL = auto()
    """A branch, or the trip count of an inner loop, varies from trip to trip."""
    ADDRESSES = auto()
    """Only addresses do not advance by a constant amount per trip."""
    LIVE_OUT = auto()
    """Values or memory that the loop leaves decide control or addresses after it."""
    ENCLOSING_LOOP = auto()
    """The loop around it is not uniform, so the loop differs each time it is entered."""


class TripMotion:
    """Motion of a loop's values from trip to trip."""

    def __init__(
        self, function: Function, graph: Graph, loop: CanonicalLoop, divergent: frozenset[int]
    ) -> None:
        """`divergent` are the slots whose values may differ from lane to lane."""
        self._divergent = divergent
        self._function = function
        self._loop = loop
        self._blocks = graph.loops[loop.number].blocks
        self._definitions: dict[int, Instruction | Phi] = {}
        for number in self._blocks:
            block = function.blocks[number]
            self._definitions.update({phi.result: phi for phi in block.phis})
            self._definitions.update(
                {result_of(item): item for item in block.instructions if result_of(item) >= 0}
            )
        self._moving = self._find_moving()
        self._linear: dict[int, bool] = {}

    def _find_moving(self) -> set[int]:
        """Return the slots that depend on a phi of the loop's header."""
        moving = {slot for slot, _ in self._loop.affine} | set(self._loop.non_affine)
        size = -1
        while size != len(moving):
            size = len(moving)
            for slot, item in self._definitions.items():
                if slot not in moving and not moving.isdisjoint(_inputs_of(item)):
                    moving.add(slot)
        return moving

    def control_varies(self) -> bool:
        """Return whether a branch inside depends on a moving value, the loop's own exit aside."""
        exit_condition = self._loop.comparison.result
        for number in self._blocks:
            terminator = self._function.blocks[number].terminator
            if isinstance(terminator, Branch | Switch):
                (slot,) = operands_of(terminator)
                if slot in self._moving and slot != exit_condition:
                    return True
        return False

    def is_linear(self, slot: int) -> bool:
        """Return whether a value moves by the same amount in each trip and for all lanes."""
        if slot not in self._moving or any(slot == affine for affine, _ in self._loop.affine):
            return True
        cached = self._linear.get(slot)
        if cached is None:
            # A value that depends on itself is linear if its other operands are.
            self._linear[slot] = True
            cached = self._linear[slot] = self._computes_linearly(self._definitions[slot])
        return cached

    def _computes_linearly(self, item: Instruction | Phi) -> bool:
        match item:
            case Binary(_, "add" | "sub", _, left, right):
                return self.is_linear(left) and self.is_linear(right)
            case Binary(_, "mul", _, left, right):
                factors = {left, right} - self._moving
                fixed = bool(factors) and self._divergent.isdisjoint(factors)
                return fixed and self.is_linear(left) and self.is_linear(right)
            case Binary(_, "shl", _, left, right):
                return self.is_linear(left) and right not in self._moving
            case Convert(_, "sext" | "zext" | "ptrtoint" | "inttoptr" | "addrspacecast"):
                return self.is_linear(item.operand)
            case Copy() | Offset():
                return all(map(self.is_linear, operands_of(item)))
            case Phi() if item.result not in self._loop.non_affine:
                return all(self.is_linear(value) for _, value in item.incoming)
            case _:
                return False


def _inputs_of(item: Instruction | Phi) -> tuple[int, ...]:
    if isinstance(item, Phi):
        return tuple(value for _, value in item.incoming)
    return operands_of(item)
