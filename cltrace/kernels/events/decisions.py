"""Decisions of a kernel: the conditions that its work-items evaluate, and where each leads.

Between two decisions control goes one way only, so a stream of bits is decoded from decision to
decision. A `switch` is a chain of decisions: each of its targets is taken, or left for the next.

Source: Klein, "Towards Interactive Visual Exploration of Parallel Programs", sections 4.1.3 and 4.2.2.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cltrace.kernels.compiler import SOURCE_NAME
from cltrace.kernels.events.negations import SourceConditions
from cltrace.kernels.events.records import Continuation, Decision, DecisionKind
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.ir.instructions import (
    Binary,
    Branch,
    Compare,
    FallThrough,
    Instruction,
    Jump,
    Phi,
    Switch,
    Terminator,
)
from cltrace.kernels.ir.source_places import Place, has_own_line
from cltrace.kernels.ir.uses import result_of


@dataclass(frozen=True, slots=True)
class DecisionModel:
    """The decisions of a kernel.

    Attributes:
        begin: the code before the first decision.
        decisions: the decisions, by number.
        targets: by block that ends with decisions, its distinct targets. The first decision leads to the
            first target if it is true, the second one to the second, and so on; if all are false, the
            work-item goes on at the last target.
    """

    begin: Continuation
    decisions: tuple[Decision, ...]
    targets: Mapping[int, Sequence[int]]


def find_decisions(kernel: PreparedKernel, conditions: SourceConditions | None) -> DecisionModel:
    """Return the decisions of a kernel, in the order of its blocks.

    `conditions` tells of a source's negations; None for code in which the compiler has moved them.
    """
    search = _DecisionSearch(kernel, conditions)
    return DecisionModel(search.continue_at(0), tuple(search.decisions()), search.targets)


def decode_stream(
    begin: Continuation, decisions: Sequence[Decision], bits: Iterable[int]
) -> list[tuple[int, int]]:
    """Return the decisions that a stream goes through, each with its bit.

    Raises: `ValueError` for a stream that has more bits than its path has decisions.
    """
    path: list[tuple[int, int]] = []
    number = begin.decision
    for bit in bits:
        if number < 0:
            raise ValueError(f"the stream has bits after the end of its path, at bit {len(path)}")
        path.append((number, int(bit)))
        number = decisions[number].after(int(bit)).decision
    return path


class _DecisionSearch:
    def __init__(self, kernel: PreparedKernel, conditions: SourceConditions | None) -> None:
        self._conditions = conditions
        self._function = kernel.function
        self._graph = kernel.graph
        self._rank = {block: rank for rank, block in enumerate(kernel.graph.order)}
        self.targets: dict[int, Sequence[int]] = {}
        self._first: dict[int, int] = {}
        number = 0
        for block in self._graph.order:
            targets = _distinct_targets(self._function.blocks[block].terminator)
            if self._is_negated(block):
                targets = targets[::-1]
            if len(targets) > 1:
                self.targets[block] = targets
                self._first[block] = number
                number += len(targets) - 1

    def _is_negated(self, block: int) -> bool:
        """Return True for a branch whose targets are swapped, as its condition has a `!` before it."""
        terminator = self._function.blocks[block].terminator
        if self._conditions is None or not isinstance(terminator, Branch):
            return False
        item = self._definitions.get(terminator.condition)
        # Elsewhere, as in loops, the compiler evaluates the `!`.
        if not isinstance(item, Compare) and not (isinstance(item, Phi) and self._is_call(item)):
            return False
        place = item.place
        return _is_own(place) and self._conditions.is_negated(place.line, place.column)

    @cached_property
    def _definitions(self) -> Mapping[int, Instruction | Phi]:
        blocks = [self._function.blocks[block] for block in self._graph.order]
        return {result_of(item): item for block in blocks for item in block.instructions} | {
            item.result: item for block in blocks for item in block.phis
        }

    def _is_call(self, item: Phi) -> bool:
        """Return True for the result of a function of the program, whose code is inlined."""
        values = [self._definitions.get(slot) for _, slot in item.incoming]
        return any(
            value is not None and value.place.called_from != item.place.called_from
            for value in values
        )

    def _text(self, block: int) -> str:
        """Return the condition of a branch as the source has it, "" if it is not found there."""
        terminator = self._function.blocks[block].terminator
        if self._conditions is None or not isinstance(terminator, Branch):
            return ""
        item = self._definitions.get(terminator.condition)
        while True:
            match item:
                case Phi(incoming=[(_, slot)]) if not self._is_call(item):
                    item = self._definitions.get(slot)
                case Binary(operator="xor", left=slot):
                    item = self._definitions.get(slot)
                case Compare(place=place) | Phi(place=place) if _is_own(place):
                    return self._conditions.text(place.line, place.column)
                case _:
                    return ""

    def decisions(self) -> Iterator[Decision]:
        """Yield all decisions, by number."""
        for block, targets in self.targets.items():
            terminator = self._function.blocks[block].terminator
            place = terminator.place
            text = self._text(block)
            kind = DecisionKind.CASE if isinstance(terminator, Switch) else self._kind(block)
            for position, target in enumerate(targets[:-1]):
                is_last = position == len(targets) - 2
                rest = Continuation(
                    self._first[block] + position + 1,
                    (),
                    (self._rank[block],),
                    is_within_block=True,
                )
                yield Decision(
                    file=place.file,
                    line=place.line,
                    column=place.column,
                    kind=kind,
                    depth=self._graph.depth(self._graph.loop_of[block]),
                    if_false=self.continue_at(targets[-1]) if is_last else rest,
                    if_true=self.continue_at(target),
                    text=text,
                )

    def continue_at(self, block: int) -> Continuation:
        """Return the code from the begin of a block to the next decision."""
        lines: set[int] = set()
        blocks: list[int] = []
        while self._rank[block] not in blocks:
            blocks.append(self._rank[block])
            lines.update(self._lines_of(block))
            targets = self._successors(block)
            if block in self.targets or not targets:
                return Continuation(self._first.get(block, -1), tuple(sorted(lines)), tuple(blocks))
            block = targets[0]
        return Continuation(-1, tuple(sorted(lines)), tuple(blocks))

    def _successors(self, block: int) -> tuple[int, ...]:
        match self._function.blocks[block].terminator:
            case Jump(target) | FallThrough(target):
                return (target,)
            case terminator:
                return _distinct_targets(terminator)

    def _lines_of(self, block: int) -> set[int]:
        """Return the lines of the program's own source that a block is from."""
        content = self._function.blocks[block]
        places = (*(item.place for item in content.instructions), content.terminator.place)
        return {place.line for place in places if place.file == SOURCE_NAME and has_own_line(place)}

    def _kind(self, block: int) -> DecisionKind:
        """Return the kind of a branch: a loop's condition is at its header or leads back to it."""
        number = self._graph.loop_of[block]
        if number < 0:
            return DecisionKind.CONDITION
        loop = self._graph.loops[number]
        inside = [target in loop.blocks for target in self.targets[block]]
        is_exit = not all(inside)
        is_at_header = block == loop.header or loop.header in self.targets[block]
        return DecisionKind.LOOP if is_exit and is_at_header else DecisionKind.CONDITION


def _is_own(place: Place) -> bool:
    return place.file == SOURCE_NAME and place.line > 0


def _distinct_targets(terminator: Terminator) -> tuple[int, ...]:
    """Return the distinct targets of a terminator in the order of their cases, its default last."""
    match terminator:
        case Branch(_, then, otherwise):
            return (then,) if then == otherwise else (then, otherwise)
        case Switch():
            cases = dict.fromkeys(target for _, target in terminator.cases)
            cases.pop(terminator.default, None)
            return (*cases, terminator.default)
        case _:
            return ()
