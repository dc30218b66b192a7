"""Instructions made ready to run: each becomes a function of a frame of values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.execute import arithmetic, atomics
from cltrace.kernels.execute.calls import lower_call
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Frame, State, Step
from cltrace.kernels.ir.instructions import (
    Access,
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Call,
    Compare,
    Convert,
    Copy,
    ExtractElement,
    ExtractValue,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Negate,
    Offset,
    Select,
    Shuffle,
    Store,
    Touch,
    Unsupported,
)
from cltrace.kernels.ir.types import IntegerType, Type
from cltrace.kernels.values import Value, chosen, is_native


def lower(instruction: Instruction, block: int, sites: SiteTable) -> Step | None:
    """The instruction as a step, or None for one that does nothing when it runs.

    Raises: `UnsupportedKernelError` with the source's line.
    """
    return _LOWERINGS[type(instruction)](instruction, block, sites)


def _binary(instruction: Binary, _: int, __: SiteTable) -> Step:
    run = arithmetic.binary(instruction.operator, instruction.type)
    left, right, result = instruction.left, instruction.right, instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = run(frame[left], frame[right])

    return step


def _compare(instruction: Compare, _: int, __: SiteTable) -> Step:
    run = arithmetic.comparison(instruction.predicate, instruction.type)
    left, right, result = instruction.left, instruction.right, instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = run(frame[left], frame[right])

    return step


def _of_one(run: Callable[[Value], Value], operand: int, result: int) -> Step:
    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = run(frame[operand])

    return step


def _negate(instruction: Negate, _: int, __: SiteTable) -> Step:
    def run(value: Value) -> Value:
        return tuple(-element for element in value) if type(value) is tuple else -value

    return _of_one(run, instruction.operand, instruction.result)


def _convert(instruction: Convert, _: int, __: SiteTable) -> Step:
    run = arithmetic.conversion(instruction.operator, instruction.source, instruction.type)
    return _of_one(run, instruction.operand, instruction.result)


def _select(instruction: Select, _: int, __: SiteTable) -> Step:
    condition, left, right = instruction.condition, instruction.left, instruction.right
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = chosen(frame[condition], frame[left], frame[right])

    return step


def _copy(instruction: Copy, _: int, __: SiteTable) -> Step | None:
    if instruction.result < 0:
        return None
    operand, result = instruction.operand, instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = frame[operand]

    return step


def _load(instruction: Load, block: int, sites: SiteTable) -> Step:
    site = sites.add(
        instruction, block, Access.READ, instruction.space, instruction.type, instruction.pointer
    )
    pointer, result, kind = instruction.pointer, instruction.result, instruction.type

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        frame[result] = state.memory.load(kind, address, lanes)

    return step


def _store(instruction: Store, block: int, sites: SiteTable) -> Step:
    site = sites.add(
        instruction,
        block,
        Access.WRITE,
        instruction.space,
        instruction.type,
        instruction.pointer,
    )
    pointer, value, kind = instruction.pointer, instruction.value, instruction.type

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        state.memory.store(frame[value], kind, address, lanes)

    return step


def _touch(instruction: Touch, block: int, sites: SiteTable) -> Step:
    pointer, kind = instruction.pointer, instruction.type
    site = sites.add(instruction, block, instruction.access, instruction.space, kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        state.memory.touch(kind, address, lanes)

    return step


def accessed(site: int, address: Value, lanes: Lanes, state: State) -> Value:
    """The addresses that lanes access at a site, which its observer is told of."""
    if site in state.redirected_sites and state.redirection is not None:
        address = state.redirection.address(site, address, lanes, state.memory)
    state.observer.accesses(site, address, lanes, state.memory)
    return address


def _atomic_update(instruction: AtomicUpdate, block: int, sites: SiteTable) -> Step:
    pointer, value, result = instruction.pointer, instruction.value, instruction.result
    kind, operator = instruction.type, instruction.operator
    if operator not in {*atomics.OPERATIONS, "sub", "fsub", "nand"}:
        raise UnsupportedKernelError(f"{instruction.place}: the atomic operation {operator!r}")
    site = sites.add(instruction, block, Access.ATOMIC, instruction.space, kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        found = atomics.update(state.memory, operator, kind, address, frame[value], lanes)
        if result >= 0:
            frame[result] = found

    return step


def _atomic_exchange(instruction: AtomicExchange, block: int, sites: SiteTable) -> Step:
    pointer, value, result = instruction.pointer, instruction.value, instruction.result
    kind, expected = instruction.type, instruction.expected
    site = sites.add(instruction, block, Access.ATOMIC, instruction.space, kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = accessed(site, frame[pointer], lanes, state)
        wanted = frame[expected]
        found = atomics.compare_exchange(state.memory, kind, address, wanted, frame[value], lanes)
        frame[result] = (found, found == wanted)

    return step


def _allocate(instruction: Allocate, _: int, sites: SiteTable) -> Step | None:
    if instruction.count == 0:
        return None
    address = sites.allocate(instruction)
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = address

    return step


def _index_reader(kind: Type) -> Callable[[Value], Value] | None:
    """Indices are read with a sign, as 64-bit numbers."""
    if isinstance(kind, IntegerType) and kind.bits == 64:
        return None
    if is_native(kind):
        return lambda value: value.astype(np.int64)
    return lambda value: np.asarray(value).astype(np.int64)


def _offset(instruction: Offset, _: int, __: SiteTable) -> Step:
    pointer, result = instruction.pointer, instruction.result
    constant = np.int64(instruction.constant_bytes)
    terms = [
        (index, np.int64(stride), _index_reader(kind))
        for (index, stride), kind in zip(instruction.terms, instruction.index_types, strict=True)
    ]

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        address = frame[pointer]
        if constant:
            address = address + constant
        for index, stride, reader in terms:
            value = frame[index]
            if reader is not None:
                value = reader(value)
            address = address + value * stride
        frame[result] = address

    return step


def _extract(instruction: ExtractElement, _: int, __: SiteTable) -> Step:
    vector, index, result = instruction.vector, instruction.index, instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        elements, position = frame[vector], frame[index]
        if type(position) is np.ndarray:
            rows = np.stack([np.broadcast_to(element, lanes.count) for element in elements])
            within = np.clip(position, 0, len(elements) - 1)
            frame[result] = rows[within, np.arange(lanes.count)]
        else:
            frame[result] = elements[min(max(int(position), 0), len(elements) - 1)]

    return step


def _insert(instruction: InsertElement, _: int, __: SiteTable) -> Step:
    vector, element, index = instruction.vector, instruction.element, instruction.index
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        elements, position, new = frame[vector], frame[index], frame[element]
        if type(position) is np.ndarray:
            frame[result] = tuple(
                [np.where(position == number, new, old) for number, old in enumerate(elements)]
            )
            return
        at = int(position)
        frame[result] = (*elements[:at], new, *elements[at + 1 :])

    return step


def _shuffle(instruction: Shuffle, _: int, __: SiteTable) -> Step:
    left, right, count = instruction.left, instruction.right, instruction.left_count
    result, positions = instruction.result, instruction.positions

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        first, second = frame[left], frame[right]
        frame[result] = tuple(
            [
                first[max(position, 0)] if position < count else second[position - count]
                for position in positions
            ]
        )

    return step


def _extract_value(instruction: ExtractValue, _: int, __: SiteTable) -> Step:
    aggregate, path, result = instruction.aggregate, instruction.path, instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        value = frame[aggregate]
        for index in path:
            value = value[index]
        frame[result] = value

    return step


def _replaced(value: Value, path: tuple[int, ...], new: Value) -> Value:
    if not path:
        return new
    at = path[0]
    return (*value[:at], _replaced(value[at], path[1:], new), *value[at + 1 :])


def _insert_value(instruction: InsertValue, _: int, __: SiteTable) -> Step:
    aggregate, path, element = instruction.aggregate, instruction.path, instruction.element
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: State, /) -> None:
        frame[result] = _replaced(frame[aggregate], path, frame[element])

    return step


def _call(instruction: Call, block: int, sites: SiteTable) -> Step | None:
    return lower_call(instruction, block, sites, accessed)


def _unsupported(instruction: Unsupported, _: int, __: SiteTable) -> Step:
    raise UnsupportedKernelError(f"{instruction.place}: {instruction.what} is not supported")


_LOWERINGS: Final[Mapping[type, Callable[[Any, int, SiteTable], Step | None]]] = {
    Binary: _binary,
    Negate: _negate,
    Compare: _compare,
    Convert: _convert,
    Select: _select,
    Copy: _copy,
    Load: _load,
    Store: _store,
    Touch: _touch,
    Allocate: _allocate,
    Offset: _offset,
    ExtractElement: _extract,
    InsertElement: _insert,
    Shuffle: _shuffle,
    ExtractValue: _extract_value,
    InsertValue: _insert_value,
    Call: _call,
    AtomicUpdate: _atomic_update,
    AtomicExchange: _atomic_exchange,
    Unsupported: _unsupported,
}
