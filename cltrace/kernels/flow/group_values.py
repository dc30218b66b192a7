"""Values that all work-items of a work-group share, and unknown ones at known distances in it.

A group that reads where its part of an array begins, as `j = begins[get_group_id(0)] + get_local_id(0)`
does, has an unknown address that all its work-items share: their distances are known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.builtins.function_kinds import (
    COLLECTIVE_NAME,
    SAME_IN_GROUP,
    is_work_item_function,
)
from cltrace.kernels.builtins.mangling import base_name, demangle
from cltrace.kernels.flow.dependencies import DataDependencies, is_pure
from cltrace.kernels.flow.id_quotients import is_id
from cltrace.kernels.flow.paths import blocks_on_paths
from cltrace.kernels.flow.taint import Taint, reaches_block
from cltrace.kernels.ir.instructions import (
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Branch,
    Call,
    Convert,
    Copy,
    Instruction,
    Load,
    Offset,
    Select,
    Switch,
)
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.ir.uses import operands_of, result_of
from cltrace.kernels.limits import check_cpu_limit

_LINEAR_CONVERSIONS: Final = frozenset(
    {"sext", "zext", "trunc", "bitcast", "ptrtoint", "inttoptr", "addrspacecast"}
)
_SAME_COLLECTIVES: Final = frozenset({"all", "any", "broadcast", "reduce"})
"""Operations of a work-group whose result all its work-items have."""


@dataclass(frozen=True, slots=True)
class LaneValues:
    """Slots by what differs between the work-items of a group.

    Attributes:
        varying: slots whose values may differ.
        scattered: slots whose values differ by amounts that depend on unknown contents.
        varying_after: by slot, the blocks of a loop that work-items leave after different numbers of
            trips: the slot's value varies behind it.
    """

    varying: frozenset[int]
    scattered: frozenset[int]
    varying_after: Mapping[int, frozenset[int]]

    def varies(self, slots: Iterable[int], block: int) -> bool:
        """Return whether any of `slots` may differ between work-items where `block` uses it."""
        return reaches_block(slots, block, self.varying, self.varying_after)

    def is_scattered(self, slots: Iterable[int], block: int) -> bool:
        """Return whether any of `slots`, which are unknown, differs by unknown amounts there."""
        return reaches_block(slots, block, self.scattered, self.varying_after)


def find_lane_values(
    dependencies: DataDependencies,
    taint: Taint,
    flat: frozenset[int],
    quotients: frozenset[int] = frozenset(),
) -> LaneValues:
    """Return what differs between the work-items of a group, where `taint` is unknown.

    Those are considered that have the same ids in the dimensions `flat`: all of the group where it has
    only one in these, else those of one of its rows or planes. Of these, those are considered that have
    the same values in the slots of `quotients`.
    """
    return _LaneAnalysis(dependencies, taint, flat, quotients).run()


class _LaneAnalysis:
    def __init__(
        self,
        dependencies: DataDependencies,
        taint: Taint,
        flat: frozenset[int],
        quotients: frozenset[int],
    ) -> None:
        self._dependencies = dependencies
        self._quotients = quotients
        integers = dependencies.function.integer_constants().items()
        self._flat = frozenset(slot for slot, value in integers if value in flat)
        """Constants that are dimensions in which ids do not differ."""
        self._graph = dependencies.graph
        self._blocks = dependencies.function.blocks
        self._taint = taint
        self._varying: set[int] = set()
        self._scattered: set[int] = set()
        self._after: dict[int, frozenset[int]] = {}
        self._joins: set[int] = set()
        """Blocks that work-items of a group come to along different paths."""
        self._split: set[int] = set()
        """Blocks that end in a varying branch."""

    def run(self) -> LaneValues:
        """Spread what varies, then what is scattered, until nothing changes."""
        size = -1
        while size != self._size():
            check_cpu_limit()
            size = self._size()
            self._spread_varying()
            self._spread_branches()
        size = -1
        while size != len(self._scattered):
            check_cpu_limit()
            size = len(self._scattered)
            self._spread_scattered()
        return LaneValues(frozenset(self._varying), frozenset(self._scattered), dict(self._after))

    def _size(self) -> int:
        return sum(map(len, (self._varying, self._after, self._joins, self._split)))

    def _varies(self, slots: Iterable[int], block: int) -> bool:
        return reaches_block(slots, block, self._varying, self._after)

    def _is_scattered(self, slots: Iterable[int], block: int) -> bool:
        unknown = [slot for slot in slots if self._taint.reaches((slot,), block)]
        return reaches_block(unknown, block, self._scattered, self._after)

    def _spread_varying(self) -> None:
        for number in self._graph.order:
            for phi in self._blocks[number].phis:
                values = [value for _, value in phi.incoming]
                if number in self._joins or self._varies(values, number):
                    self._varying.add(phi.result)
        for number, item in self._dependencies.instructions:
            result = result_of(item)
            if result < 0 or _is_same(item) or self._is_flat_id(item):
                continue
            if _differs(item) or self._varies(operands_of(item), number):
                self._varying.add(result)

    def _is_flat_id(self, item: Instruction) -> bool:
        """Return whether a result is an id, or the quotient of one, that does not differ."""
        if result_of(item) in self._quotients:
            return True
        return is_id(item) and item.arguments[0] in self._flat

    def _spread_branches(self) -> None:
        for number in self._graph.order:
            terminator = self._blocks[number].terminator
            is_split = isinstance(terminator, Branch | Switch) and self._varies(
                operands_of(terminator), number
            )
            if is_split and number not in self._split:
                self._split.add(number)
                self._joins |= self._find_joins(number)
                self._leave_loops(number)

    def _find_joins(self, number: int) -> set[int]:
        """Return the blocks that several ways from a branch lead to before it is run again."""
        ends = {number, self._dependencies.post_dominators[number]}
        seen: set[int] = set()
        joins: set[int] = set()
        for target in self._graph.successors[number]:
            way = blocks_on_paths(self._graph, target, ends)
            joins |= seen & way
            seen |= way
        return joins - {number}

    def _leave_loops(self, number: int) -> None:
        """Note the values of loops that work-items leave at a branch after different trips."""
        loop = self._graph.loop_of[number]
        while loop >= 0:
            inside = self._graph.loops[loop].blocks
            if any(target not in inside for target in self._graph.successors[number]):
                for block in inside:
                    for slot in self._defined_in(block):
                        inner = self._after.get(slot)
                        self._after[slot] = inside if inner is None else inner & inside
            loop = self._graph.loops[loop].parent

    def _defined_in(self, block: int) -> Iterable[int]:
        for phi in self._blocks[block].phis:
            yield phi.result
        for item in self._blocks[block].instructions:
            if result_of(item) >= 0:
                yield result_of(item)

    def _spread_scattered(self) -> None:
        for number in self._graph.order:
            for phi in self._blocks[number].phis:
                values = [value for _, value in phi.incoming]
                is_unknown = self._taint.reaches(values, number)
                if is_unknown and (number in self._joins or self._is_scattered(values, number)):
                    self._scattered.add(phi.result)
        for number, item in self._dependencies.instructions:
            result = result_of(item)
            if result in self._varying and self._taint.reaches((result,), number):
                operands = operands_of(item)
                if not self._is_linear(item, number) or self._is_scattered(operands, number):
                    self._scattered.add(result)

    def _is_linear(self, item: Instruction, number: int) -> bool:
        """Return whether the result differs by known amounts if the unknown operands do."""
        match item:
            case Copy() | Offset() | Binary(_, "add" | "sub"):
                return True
            case Convert():
                return item.operator in _LINEAR_CONVERSIONS
            case Binary(_, "mul"):
                return self._is_factor(item.left, number) or self._is_factor(item.right, number)
            case Binary(_, "shl"):
                return self._is_factor(item.right, number)
            case Select():
                return not self._varies((item.condition,), number)
            case _:
                return False

    def _is_factor(self, slot: int, number: int) -> bool:
        """Return whether a value is known and the same for all work-items."""
        return not self._varies((slot,), number) and not self._taint.reaches((slot,), number)


def _differs(item: Instruction) -> bool:
    """Return whether a result differs between work-items even for equal operands."""
    match item:
        case Load():
            return item.space == PRIVATE
        case AtomicUpdate() | AtomicExchange():
            return True
        case Call():
            is_id = is_work_item_function(base_name(demangle(item.callee)))
            return is_id or not is_pure(item)
        case _:
            return False


def _is_same(item: Instruction) -> bool:
    """Return whether a result is the same for all work-items of a group, whatever the operands are."""
    if not isinstance(item, Call):
        return False
    name = base_name(demangle(item.callee))
    if name in SAME_IN_GROUP:
        return True
    collective = COLLECTIVE_NAME.fullmatch(name)
    return (
        collective is not None
        and collective["scope"] == "work_group"
        and collective["what"] in _SAME_COLLECTIVES
    )
