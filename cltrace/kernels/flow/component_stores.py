"""Stores to components of a vector in memory: `v.x = …`, which the compiler writes as a whole vector.

Without optimisation clang reads the vector, replaces components and writes it back. OpenCL C stores to
the components alone: the others may be what another work-item writes at the same time.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cltrace.kernels.ir.instructions import (
    ExtractElement,
    InsertElement,
    Instruction,
    Load,
    Offset,
    Shuffle,
    Store,
)
from cltrace.kernels.ir.module import Block, Constant, Function
from cltrace.kernels.ir.types import IntegerType, PointerType, Type, VectorType, stored_bytes
from cltrace.kernels.ir.uses import operands_of

_INDEX: Final = IntegerType(64)


def with_component_stores(function: Function) -> Function:
    """Return a function whose stores to components write these alone; itself if it has none."""
    return _Rewriting(function).result()


@dataclass(frozen=True, slots=True)
class _Assignment:
    """Instructions of a block that assign to components.

    They are a read at the position `begin`, those that prepare the components, the one that replaces
    them, if not all are, and the store.
    """

    begin: int
    preparing: Sequence[Instruction]
    made: InsertElement | Shuffle | None
    store: Store


class _Rewriting:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._uses = Counter(slot for block in function.blocks for slot in _used_slots(block))
        self._types: list[Type | None] = list(function.types)
        self._constants = list(function.constants)
        self._known = function.integer_constants()

    def result(self) -> Function:
        """Return the function in its new form."""
        blocks = tuple(
            replace(block, instructions=tuple(self._rewrite(block.instructions)))
            for block in self._function.blocks
        )
        if blocks == self._function.blocks:
            return self._function
        return replace(
            self._function,
            blocks=blocks,
            slots=len(self._types),
            types=tuple(self._types),
            constants=tuple(self._constants),
        )

    def _rewrite(self, instructions: Sequence[Instruction]) -> Iterator[Instruction]:
        begin = 0
        for position, item in enumerate(instructions):
            if not isinstance(item, Store) or not isinstance(item.type, VectorType):
                continue
            assignment = self._assignment(instructions, position, item)
            if assignment is None or assignment.begin < begin:
                continue
            yield from instructions[begin : assignment.begin]
            yield from self._component_stores(assignment)
            begin = position + 1
        yield from instructions[begin:]

    def _assignment(
        self, instructions: Sequence[Instruction], position: int, store: Store
    ) -> _Assignment | None:
        """Return the assignment to components that ends with a store, if it is one."""
        begin, made = position - 1, None
        if begin >= 0 and isinstance(item := instructions[begin], InsertElement | Shuffle):
            if item.result == store.value and self._uses[item.result] == 1:
                begin, made = begin - 1, item
            while begin >= 0 and _prepares(instructions[begin], made):
                begin -= 1
        load = instructions[begin] if begin >= 0 else None
        if not isinstance(load, Load) or (load.pointer, load.place) != (store.pointer, store.place):
            return None
        uses = 0 if made is None else operands_of(made).count(load.result)
        if self._uses[load.result] != uses or (made is not None and not _keeps(made, load.result)):
            return None
        end = position - (made is not None)
        return _Assignment(begin, instructions[begin + 1 : end], made, store)

    def _component_stores(self, assignment: _Assignment) -> Iterator[Instruction]:
        store = assignment.store
        yield from assignment.preparing
        match assignment.made:
            case InsertElement() as made:
                yield from self._component_store(store, made.index, made.element)
            case Shuffle() as made:
                for position, source in enumerate(made.positions):
                    if source >= made.left_count:
                        yield from self._moved(store, made, position)
            case None:
                yield store

    def _moved(self, store: Store, made: Shuffle, position: int) -> Iterator[Instruction]:
        """Yield the store of a component that is one of another vector."""
        assert isinstance(store.type, VectorType)
        kind, source = store.type.element, made.positions[position] - made.left_count
        taken = self._slot(kind)
        yield ExtractElement(taken, kind, made.right, self._index(source), store.place)
        yield from self._component_store(store, self._index(position), taken)

    def _component_store(self, store: Store, index: int, value: int) -> Iterator[Instruction]:
        assert isinstance(store.type, VectorType)
        kind = store.type.element
        step, known = stored_bytes(kind), self._known.get(index)
        terms, types = (
            (((index, step),), (self._types[index] or _INDEX,)) if known is None else ((), ())
        )
        address = self._slot(PointerType(store.space))
        yield Offset(address, store.pointer, (known or 0) * step, terms, types, store.place)
        yield Store(value, kind, address, store.space, store.place)

    def _slot(self, kind: Type) -> int:
        self._types.append(kind)
        return len(self._types) - 1

    def _index(self, value: int) -> int:
        slot = self._slot(_INDEX)
        self._constants.append(Constant(slot, _INDEX, value))
        self._known[slot] = value
        return slot


def _prepares(item: Instruction, made: InsertElement | Shuffle | None) -> bool:
    """Return True for a shuffle that makes the other vector of `made` as long as its first one."""
    return (
        isinstance(made, Shuffle)
        and isinstance(item, Shuffle)
        and (item.result, item.place) == (made.right, made.place)
    )


def _keeps(made: InsertElement | Shuffle, vector: int) -> bool:
    """Return True if the components that are not replaced are those of a vector, in their places."""
    if isinstance(made, InsertElement):
        return made.vector == vector and made.element != vector
    return (
        made.left == vector
        and made.right != vector
        and all(
            source == position or source >= made.left_count
            for position, source in enumerate(made.positions)
        )
    )


def _used_slots(block: Block) -> Iterator[int]:
    for item in (*block.instructions, block.terminator):
        yield from operands_of(item)
    for phi in block.phis:
        yield from (slot for _, slot in phi.incoming)
