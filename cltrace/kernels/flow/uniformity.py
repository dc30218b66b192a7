"""Whether all trips of a loop are alike: whether a few of them say what the others do."""

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


class Unevenness(Enum):
    """What is not the same, or does not move by the same amount, in each trip."""

    CONTROL = auto()
    """Where control goes, or how often it goes around a loop within."""
    ADDRESSES = auto()
    """Only which memory is accessed."""
    BEHIND = auto()
    """What it leaves behind, in values or in memory, decides what comes after it."""
    AROUND = auto()
    """Not the loop itself, but one around it, so that it is another one each time it is entered."""


class Movement:
    """How values within a loop move from trip to trip."""

    def __init__(
        self, function: Function, graph: Graph, loop: CanonicalLoop, by_lane: frozenset[int]
    ) -> None:
        """`by_lane` are the values that may differ from lane to lane."""
        self._by_lane = by_lane
        self._function = function
        self._loop = loop
        self._blocks = graph.loops[loop.number].blocks
        self._defined: dict[int, Instruction | Phi] = {}
        for number in self._blocks:
            block = function.blocks[number]
            self._defined.update({phi.result: phi for phi in block.phis})
            self._defined.update(
                {result_of(item): item for item in block.instructions if result_of(item) >= 0}
            )
        self._moving = self._dependents()
        self._linear: dict[int, bool] = {}

    def _dependents(self) -> set[int]:
        """The values that depend on what the loop moves."""
        moving = {slot for slot, _ in self._loop.affine} | set(self._loop.kept)
        size = -1
        while size != len(moving):
            size = len(moving)
            for slot, item in self._defined.items():
                if slot not in moving and not moving.isdisjoint(_read(item)):
                    moving.add(slot)
        return moving

    def control_varies(self) -> bool:
        """Whether a branch within depends on what moves, other than the loop's own way out."""
        own = self._loop.comparison.result
        for number in self._blocks:
            terminator = self._function.blocks[number].terminator
            if isinstance(terminator, Branch | Switch):
                (slot,) = operands_of(terminator)
                if slot in self._moving and slot != own:
                    return True
        return False

    def is_linear(self, slot: int) -> bool:
        """Whether a value moves by the same amount in each trip, and for all lanes."""
        if slot not in self._moving or any(slot == affine for affine, _ in self._loop.affine):
            return True
        known = self._linear.get(slot)
        if known is None:
            self._linear[slot] = (
                True  # of values that are computed from themselves, the rest decides
            )
            known = self._linear[slot] = self._computes_linearly(self._defined[slot])
        return known

    def _computes_linearly(self, item: Instruction | Phi) -> bool:
        match item:
            case Binary(_, "add" | "sub", _, left, right):
                return self.is_linear(left) and self.is_linear(right)
            case Binary(_, "mul", _, left, right):
                factors = {left, right} - self._moving
                fixed = bool(factors) and self._by_lane.isdisjoint(factors)
                return fixed and self.is_linear(left) and self.is_linear(right)
            case Binary(_, "shl", _, left, right):
                return self.is_linear(left) and right not in self._moving
            case Convert(_, "sext" | "zext" | "ptrtoint" | "inttoptr" | "addrspacecast"):
                return self.is_linear(item.operand)
            case Copy() | Offset():
                return all(map(self.is_linear, operands_of(item)))
            case Phi() if item.result not in self._loop.kept:
                return all(self.is_linear(value) for _, value in item.incoming)
            case _:
                return False


def _read(item: Instruction | Phi) -> tuple[int, ...]:
    if isinstance(item, Phi):
        return tuple(value for _, value in item.incoming)
    return operands_of(item)
