"""What Oclgrind does to a program once it is compiled: stores of vectors become stores of elements.

Where a vector is put together and stored, Oclgrind writes its elements one by one, in place
(`Program::scalarizeAggregateStore` in its sources). It is no work of a compiler, so code that is to be
compared with Oclgrind's is rewritten in the same way. Code that has been is left as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from cltrace.kernels.ir.instructions import (
    ExtractElement,
    InsertElement,
    Instruction,
    Load,
    Offset,
    Shuffle,
    Store,
)
from cltrace.kernels.ir.module import Constant, Function, Module
from cltrace.kernels.ir.types import IntegerType, PointerType, Type, VectorType, stored_bytes
from cltrace.kernels.ir.uses import operands_of, result_of

_INDEX = IntegerType(64)


def with_element_stores(module: Module) -> Module:
    """The program with its stores of vectors rewritten."""
    return Module(module.declarations, _Functions(module.functions), module.variables)


class _Functions(Mapping[str, Function]):
    """The functions of a program, each rewritten when it is first asked for."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._known: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        if name not in self._known:
            self._known[name] = _Rewriting(self._functions[name]).result()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


@dataclass(frozen=True)
class _Source:
    """Where an element of a vector comes from: a slot of a vector, and a position there."""

    vector: int
    position: int


class _Rewriting:
    """A function as it is rewritten."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._made: dict[int, Instruction] = {
            result_of(item): item
            for block in function.blocks
            for item in block.instructions
            if result_of(item) >= 0
        }
        self._constants: Mapping[int, object] = {c.slot: c.value for c in function.constants}
        self._new: list[Constant] = []
        self._types = list(function.types)
        self._slots = count(function.slots)

    def result(self) -> Function:
        """The function in its new form, without what nothing uses any more."""
        blocks = [
            replace(
                block,
                instructions=tuple(
                    new for item in block.instructions for new in self._rewritten(item)
                ),
            )
            for block in self._function.blocks
        ]
        changed = replace(
            self._function,
            blocks=tuple(blocks),
            slots=next(self._slots),
            types=tuple(self._types),
            constants=(*self._function.constants, *self._new),
        )
        return _without_unused(changed, self._function)

    def _rewritten(self, item: Instruction) -> Iterator[Instruction]:
        made = self._made.get(item.value) if isinstance(item, Store) else None
        if isinstance(item, Store) and isinstance(made, InsertElement):
            yield from self._of_insertion(item, made)
        elif isinstance(item, Store) and isinstance(made, Shuffle):
            yield from self._of_shuffle(item, made)
        else:
            yield item

    def _of_insertion(self, store: Store, made: InsertElement) -> Iterator[Instruction]:
        """The vector that an element was put into, unless it is in place, and then the element."""
        if not self._is_in_place(made.vector, store):
            yield from self._rewritten(replace(store, value=made.vector))
        yield from self._element_store(store, made.index, made.element)

    def _of_shuffle(self, store: Store, made: Shuffle) -> Iterator[Instruction]:
        """The elements that are not in place already; the whole, if that is all or some moved."""
        sources = [self._source(made, position) for position in range(len(made.positions))]
        elsewhere = []
        for position, source in enumerate(sources):
            if source is None:
                continue
            if not self._is_in_place(source.vector, store):
                elsewhere.append((position, source))
            elif source.position != position:
                yield store
                return
        if len(elsewhere) == len(sources):
            yield store
            return
        for position, source in elsewhere:
            yield from self._shuffled(store, position, source)

    def _shuffled(self, store: Store, position: int, source: _Source) -> Iterator[Instruction]:
        value = self._constants.get(source.vector)
        kind = store.type
        assert isinstance(kind, VectorType)
        if isinstance(value, tuple):
            element = self._constant(kind.element, value[source.position])
            yield from self._element_store(store, self._constant(_INDEX, position), element)
            return
        while isinstance(through := self._made.get(source.vector), Shuffle):
            further = self._source(through, source.position)
            assert further is not None
            source = further
        place = self._constant(_INDEX, source.position)
        taken = self._slot(kind.element)
        yield ExtractElement(taken, kind.element, source.vector, place, store.place)
        yield from self._element_store(store, self._constant(_INDEX, position), taken)

    def _source(self, made: Shuffle, position: int) -> _Source | None:
        """Where an element of a shuffle comes from, or None where it is undefined."""
        number = made.positions[position]
        if number < 0 or self._is_padding(made, number):
            return None
        if number < made.left_count:
            return _Source(made.left, number)
        return _Source(made.right, number - made.left_count)

    def _is_padding(self, made: Shuffle, number: int) -> bool:
        """Whether an element is the fourth of a vector of three, which clang names in two ways."""
        return len(made.positions) == 4 and made.left_count == 3 and number == 3

    def _is_in_place(self, vector: int, store: Store) -> bool:
        """Whether a vector was read from where it is stored."""
        made = self._made.get(vector)
        return isinstance(made, Load) and made.pointer == store.pointer

    def _element_store(self, store: Store, index: int, element: int) -> Iterator[Instruction]:
        kind = store.type
        assert isinstance(kind, VectorType)
        step, position = stored_bytes(kind.element), self._constants.get(index)
        position = next((c.value for c in self._new if c.slot == index), position)
        known = position if isinstance(position, int) else 0
        terms = () if isinstance(position, int) else ((index, step),)
        types: tuple[Type, ...] = () if isinstance(position, int) else (_INDEX,)
        address = self._slot(PointerType(store.space))
        base = self._made.get(store.pointer)
        if isinstance(base, Offset):
            yield replace(
                base, result=address, constant_bytes=base.constant_bytes + known * step,
                terms=base.terms + terms, index_types=base.index_types + types, place=store.place,
            )  # fmt: skip
        else:
            yield Offset(address, store.pointer, known * step, terms, types, store.place)
        yield Store(element, kind.element, address, store.space, store.place)

    def _slot(self, kind: Type) -> int:
        self._types.append(kind)
        return next(self._slots)

    def _constant(self, kind: Type, value: object) -> int:
        slot = self._slot(kind)
        self._new.append(Constant(slot, kind, value))  # type: ignore[arg-type]
        return slot


def _without_unused(function: Function, before: Function) -> Function:
    """The function without what was used before and is not any more, and what only that used."""
    once = _used(before)
    while True:
        dropped = once - _used(function)
        blocks = tuple(
            replace(
                block,
                instructions=tuple(
                    item for item in block.instructions if result_of(item) not in dropped
                ),
            )
            for block in function.blocks
        )
        if blocks == function.blocks:
            return function
        function = replace(function, blocks=blocks)


def _used(function: Function) -> set[int]:
    """The slots that something reads."""
    return {
        slot
        for block in function.blocks
        for item in (*block.instructions, block.terminator)
        for slot in operands_of(item)
    } | {slot for block in function.blocks for phi in block.phis for _, slot in phi.incoming}
