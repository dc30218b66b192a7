"""Branches on a condition that is known where control comes from: `while (a && b)` with `a` false.

Without optimisation clang evaluates the condition of a loop as a value, and branches on that value. As
the condition of an `if`, a false `a` decides at once. Here it does so for loops, too.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.ir.instructions import Binary, Branch, Jump, successors
from cltrace.kernels.ir.module import Block, Function
from cltrace.kernels.ir.types import IntegerType
from cltrace.kernels.ir.uses import operands_of, result_of, retarget

_TRUTH: Final = IntegerType(1)


def with_threaded_conditions(function: Function) -> Function:
    """Return a function whose known conditions are not evaluated again; itself if it has none."""
    return _Threading(function).result()


@dataclass(frozen=True, slots=True)
class _Way:
    """A way of control through blocks that only pass a truth value on.

    Attributes:
        last: the last block of the way.
        target: the block behind it.
    """

    last: int
    target: int


class _Threading:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._blocks = list(function.blocks)
        self._truths = {
            item.slot: bool(item.value)
            for item in function.constants
            if item.type == _TRUTH and isinstance(item.value, int)
        }
        self._passing = self._find_passing()

    def result(self) -> Function:
        """Return the function in its new form."""
        for number in sorted(self._passing):
            for previous in dict(self._blocks[number].phis[0].incoming):
                way = self._way(previous, number)
                if way is not None:
                    self._redirect(previous, number, way)
        blocks = tuple(self._blocks)
        return (
            self._function
            if blocks == self._function.blocks
            else replace(self._function, blocks=blocks)
        )

    def _find_passing(self) -> frozenset[int]:
        """Return the blocks that only pass a truth value on: to a branch, or to each other."""
        passing = {number for number, block in enumerate(self._blocks) if _passes(block)}
        users: dict[int, set[int]] = defaultdict(set)
        for number, block in enumerate(self._blocks):
            for slot in _used_slots(block):
                users[slot].add(number)
        while True:
            kept = {
                number
                for number in passing
                if all(users[slot] <= passing for slot in _results(self._blocks[number]))
            }
            if kept == passing:
                return frozenset(kept)
            passing = kept

    def _way(self, previous: int, number: int) -> _Way | None:
        """Return the way on from an edge on which a condition is known, None if it is not."""
        truths, is_decided, visited = dict(self._truths), False, set[int]()
        while number in self._passing and number not in visited:
            visited.add(number)
            block = self._blocks[number]
            target = _next_block(block, previous, truths)
            if target is None:
                break
            is_decided |= isinstance(block.terminator, Branch)
            previous, number = number, target
        return _Way(previous, number) if is_decided else None

    def _redirect(self, previous: int, number: int, way: _Way) -> None:
        """Let an edge lead to the end of a way."""
        terminator = self._blocks[previous].terminator
        own = {slot for block in self._passing for slot in _results(self._blocks[block])}
        values = _values_from(self._blocks[way.target], way.last)
        if way.target in successors(terminator) or own & {*values}:
            return
        terminator = retarget(
            terminator, lambda slot: slot, lambda block: way.target if block == number else block
        )
        self._blocks[previous] = replace(self._blocks[previous], terminator=terminator)
        self._blocks[number] = _without_edge(self._blocks[number], previous)
        self._blocks[way.target] = _with_edge(self._blocks[way.target], previous, values)


def _passes(block: Block) -> bool:
    """Return True for a block that only passes truth values on, or their negations."""
    return (
        bool(block.phis)
        and isinstance(block.terminator, Branch | Jump)
        and all(item.type == _TRUTH for item in block.phis)
        and all(
            isinstance(item, Binary) and item.operator == "xor" and item.type == _TRUTH
            for item in block.instructions
        )
    )


def _next_block(block: Block, previous: int, truths: dict[int, bool]) -> int | None:
    """Return the block behind a passing one, None if its condition is not known. Extend `truths`."""
    given = {item.result: dict(item.incoming).get(previous) for item in block.phis}
    truths |= {slot: truths[value] for slot, value in given.items() if value in truths}
    for item in block.instructions:
        assert isinstance(item, Binary)
        if item.left in truths and item.right in truths:
            truths[item.result] = truths[item.left] != truths[item.right]
    match block.terminator:
        case Jump(target):
            return target
        case Branch(condition, then, otherwise) if condition in truths:
            return then if truths[condition] else otherwise
        case _:
            return None


def _values_from(block: Block, previous: int) -> list[int]:
    """Return the values that a block takes on entry from another one."""
    return [dict(item.incoming)[previous] for item in block.phis]


def _without_edge(block: Block, previous: int) -> Block:
    phis = (
        replace(item, incoming=tuple(pair for pair in item.incoming if pair[0] != previous))
        for item in block.phis
    )
    return replace(block, phis=tuple(phis))


def _with_edge(block: Block, previous: int, values: Sequence[int]) -> Block:
    phis = (
        replace(item, incoming=(*item.incoming, (previous, value)))
        for item, value in zip(block.phis, values, strict=True)
    )
    return replace(block, phis=tuple(phis))


def _results(block: Block) -> Iterator[int]:
    yield from (item.result for item in block.phis)
    yield from map(result_of, block.instructions)


def _used_slots(block: Block) -> Iterator[int]:
    for item in (*block.instructions, block.terminator):
        yield from operands_of(item)
    for phi in block.phis:
        yield from (slot for _, slot in phi.incoming)
