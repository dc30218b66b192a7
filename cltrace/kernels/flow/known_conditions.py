"""Known parts of unknown branches: a loop that contents may end early ends by its counter, too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cltrace.kernels.flow.loops import Graph
from cltrace.kernels.flow.taint import Taint, leaves_loop
from cltrace.kernels.ir.instructions import Binary, Branch, Instruction, Select
from cltrace.kernels.ir.module import Function
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.ir.uses import result_of

_CONDITION = IntegerType(1)


@dataclass(frozen=True, slots=True)
class KnownParts:
    """Known conditions that alone decide an unknown branch.

    The branch's condition is `decides` where one of `slots` is.
    """

    slots: tuple[int, ...]
    decides: bool


def find_known_parts(function: Function, graph: Graph, taint: Taint) -> Mapping[int, KnownParts]:
    """Return the known parts of unknown branches, by block.

    A condition has parts if it is a disjunction or a conjunction, which LLVM writes as an operation or as
    a selection of truth values.
    """
    conditions = ConditionParts(function)
    known_parts: dict[int, KnownParts] = {}
    for number in taint.blocks:
        terminator = function.blocks[number].terminator
        if not isinstance(terminator, Branch):
            continue
        for decides in (True, False):
            parts = conditions.of(terminator.condition, decides=decides)
            slots = tuple(
                slot
                for slot in parts
                if not taint.reaches((slot,), number)
                or (slot in taint.followed and leaves_loop(graph, number))
            )
            if slots and len(slots) < len(parts):
                known_parts[number] = KnownParts(slots, decides)
    return known_parts


class ConditionParts:
    """The conditions that conditions of a function are made of."""

    def __init__(self, function: Function) -> None:
        self._definitions = {
            result_of(item): item for block in function.blocks for item in block.instructions
        }
        self._truths = {
            item.slot: bool(item.value)
            for item in function.constants
            if item.type == _CONDITION and isinstance(item.value, int)
        }

    def of(self, slot: int, *, decides: bool) -> list[int]:
        """Return the conditions of a disjunction, or of a conjunction if `decides` is false."""
        parts: list[int] = []
        waiting = [slot]
        while waiting:
            current = waiting.pop()
            item = self._definitions.get(current)
            operands = list(_operands(item, self._truths, decides=decides))
            waiting.extend(operands)
            if not operands:
                parts.append(current)
        return parts


def _operands(
    item: Instruction | None, truths: Mapping[int, bool], *, decides: bool
) -> Iterator[int]:
    match item:
        case Binary(operator=operator, type=kind, left=left, right=right) if (
            kind == _CONDITION and operator == ("or" if decides else "and")
        ):
            yield from (left, right)
        case Select(type=kind, condition=condition, left=left, right=right) if kind == _CONDITION:
            constant, other = (left, right) if decides else (right, left)
            if truths.get(constant) is decides:
                yield from (condition, other)
