"""Lowering of instructions to steps: functions of a frame of values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.errors import UnsupportedKernelError
from cltrace.kernels.execute import arithmetic, atomics
from cltrace.kernels.execute.calls import lower_call
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import ExecutionState, Frame, Step
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
from cltrace.kernels.values import Value, is_native, select


def lower(instruction: Instruction, block: int, sites: SiteTable) -> Step | None:
    """Lower an instruction to a step; None for an instruction without effect.

    Raises: `UnsupportedKernelError` with the source line.
    """
    return _LOWERINGS[type(instruction)](instruction, block, sites)


def _lower_binary(instruction: Binary, _: int, __: SiteTable) -> Step:
    run = arithmetic.binary_operation(instruction.operator, instruction.type)
    left, right, result = instruction.left, instruction.right, instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = run(frame[left], frame[right])

    return step


def _lower_compare(instruction: Compare, _: int, __: SiteTable) -> Step:
    run = arithmetic.comparison(instruction.predicate, instruction.type)
    left, right, result = instruction.left, instruction.right, instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = run(frame[left], frame[right])

    return step


def _unary_step(run: Callable[[Value], Value], operand: int, result: int) -> Step:
    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = run(frame[operand])

    return step


def _lower_negate(instruction: Negate, _: int, __: SiteTable) -> Step:
    def run(value: Value) -> Value:
        return tuple(-element for element in value) if type(value) is tuple else -value

    return _unary_step(run, instruction.operand, instruction.result)


def _lower_convert(instruction: Convert, _: int, __: SiteTable) -> Step:
    run = arithmetic.conversion(instruction.operator, instruction.source, instruction.type)
    return _unary_step(run, instruction.operand, instruction.result)


def _lower_select(instruction: Select, _: int, __: SiteTable) -> Step:
    condition, left, right = instruction.condition, instruction.left, instruction.right
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        chosen = frame[condition]
        if result in state.redirected_selects and state.redirection is not None:
            chosen = state.redirection.redirect_select(result, condition, lanes)
        frame[result] = select(chosen, frame[left], frame[right])

    return step


def _lower_copy(instruction: Copy, _: int, __: SiteTable) -> Step | None:
    if instruction.result < 0:
        return None
    operand, result = instruction.operand, instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = frame[operand]

    return step


def _lower_load(instruction: Load, block: int, sites: SiteTable) -> Step:
    site = sites.add(
        instruction,
        block,
        Access.READ,
        instruction.space,
        instruction.type,
        instruction.pointer,
        alignment_bytes=instruction.alignment_bytes,
    )
    pointer, result, kind = instruction.pointer, instruction.result, instruction.type

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        frame[result] = state.memory.load(kind, address, lanes)

    return step


def _lower_store(instruction: Store, block: int, sites: SiteTable) -> Step:
    site = sites.add(
        instruction,
        block,
        Access.WRITE,
        instruction.space,
        instruction.type,
        instruction.pointer,
        alignment_bytes=instruction.alignment_bytes,
    )
    pointer, value, kind = instruction.pointer, instruction.value, instruction.type

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        state.memory.store(frame[value], kind, address, lanes)

    return step


def _lower_touch(instruction: Touch, block: int, sites: SiteTable) -> Step:
    pointer, kind = instruction.pointer, instruction.type
    site = sites.add(
        instruction,
        block,
        instruction.access,
        instruction.space,
        kind,
        pointer,
        alignment_bytes=instruction.alignment_bytes,
    )

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        state.memory.touch(kind, address, lanes)

    return step


def record_access(site: int, address: Value, lanes: Lanes, state: ExecutionState) -> Value:
    """Report an access to the observer and return the addresses that lanes access."""
    if site in state.redirected_sites and state.redirection is not None:
        address = state.redirection.redirect_address(site, address, lanes, state.memory)
    state.observer.on_access(site, address, lanes, state.memory)
    return address


def _lower_atomic_update(instruction: AtomicUpdate, block: int, sites: SiteTable) -> Step:
    pointer, value, result = instruction.pointer, instruction.value, instruction.result
    kind, operator = instruction.type, instruction.operator
    if operator not in {*atomics.OPERATIONS, "sub", "fsub", "nand"}:
        raise UnsupportedKernelError(
            f"{instruction.place}: the atomic operation {operator!r} is not supported"
        )
    site = sites.add(instruction, block, Access.ATOMIC, instruction.space, kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        old_value = atomics.update(state.memory, operator, kind, address, frame[value], lanes)
        if result >= 0:
            frame[result] = old_value

    return step


def _lower_atomic_exchange(instruction: AtomicExchange, block: int, sites: SiteTable) -> Step:
    pointer, value, result = instruction.pointer, instruction.value, instruction.result
    kind, expected = instruction.type, instruction.expected
    site = sites.add(instruction, block, Access.ATOMIC, instruction.space, kind, pointer)

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        address = record_access(site, frame[pointer], lanes, state)
        expected_value = frame[expected]
        old_value = atomics.compare_exchange(
            state.memory, kind, address, expected_value, frame[value], lanes
        )
        frame[result] = (old_value, old_value == expected_value)

    return step


def _lower_allocate(instruction: Allocate, _: int, sites: SiteTable) -> Step | None:
    if instruction.count == 0:
        return None
    address = sites.allocate(instruction)
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = address

    return step


def _index_reader(kind: Type) -> Callable[[Value], Value] | None:
    """Return a conversion of an index to a signed 64-bit number; None if it is one."""
    if isinstance(kind, IntegerType) and kind.bits == 64:
        return None
    if is_native(kind):
        return lambda value: value.astype(np.int64)
    return lambda value: np.asarray(value).astype(np.int64)


def _lower_offset(instruction: Offset, _: int, __: SiteTable) -> Step:
    pointer, result = instruction.pointer, instruction.result
    constant = np.int64(instruction.constant_bytes)
    terms = [
        (index, np.int64(stride), _index_reader(kind))
        for (index, stride), kind in zip(instruction.terms, instruction.index_types, strict=True)
    ]

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
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


def _lower_extract_element(instruction: ExtractElement, _: int, __: SiteTable) -> Step:
    vector, index, result = instruction.vector, instruction.index, instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        elements, position = frame[vector], frame[index]
        if type(position) is np.ndarray:
            rows = np.stack([np.broadcast_to(element, lanes.count) for element in elements])
            clipped = np.clip(position, 0, len(elements) - 1)
            frame[result] = rows[clipped, np.arange(lanes.count)]
        else:
            frame[result] = elements[min(max(int(position), 0), len(elements) - 1)]

    return step


def _lower_insert_element(instruction: InsertElement, _: int, __: SiteTable) -> Step:
    vector, element, index = instruction.vector, instruction.element, instruction.index
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        elements, position, new = frame[vector], frame[index], frame[element]
        if type(position) is np.ndarray:
            frame[result] = tuple(
                [np.where(position == number, new, old) for number, old in enumerate(elements)]
            )
            return
        at = int(position)
        frame[result] = (*elements[:at], new, *elements[at + 1 :])

    return step


def _lower_shuffle(instruction: Shuffle, _: int, __: SiteTable) -> Step:
    left, right, count = instruction.left, instruction.right, instruction.left_count
    result, positions = instruction.result, instruction.positions

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        first, second = frame[left], frame[right]
        frame[result] = tuple(
            [
                first[max(position, 0)] if position < count else second[position - count]
                for position in positions
            ]
        )

    return step


def _lower_extract_value(instruction: ExtractValue, _: int, __: SiteTable) -> Step:
    aggregate, path, result = instruction.aggregate, instruction.path, instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        value = frame[aggregate]
        for index in path:
            value = value[index]
        frame[result] = value

    return step


def _replace_member(value: Value, path: tuple[int, ...], new: Value) -> Value:
    if not path:
        return new
    at = path[0]
    return (*value[:at], _replace_member(value[at], path[1:], new), *value[at + 1 :])


def _lower_insert_value(instruction: InsertValue, _: int, __: SiteTable) -> Step:
    aggregate, path, element = instruction.aggregate, instruction.path, instruction.element
    result = instruction.result

    def step(frame: Frame, lanes: Lanes, state: ExecutionState, /) -> None:
        frame[result] = _replace_member(frame[aggregate], path, frame[element])

    return step


def _lower_call(instruction: Call, block: int, sites: SiteTable) -> Step | None:
    return lower_call(instruction, block, sites, record_access)


def _lower_unsupported(instruction: Unsupported, _: int, __: SiteTable) -> Step:
    raise UnsupportedKernelError(f"{instruction.place}: {instruction.feature} is not supported")


_LOWERINGS: Final[Mapping[type, Callable[[Any, int, SiteTable], Step | None]]] = {
    Binary: _lower_binary,
    Negate: _lower_negate,
    Compare: _lower_compare,
    Convert: _lower_convert,
    Select: _lower_select,
    Copy: _lower_copy,
    Load: _lower_load,
    Store: _lower_store,
    Touch: _lower_touch,
    Allocate: _lower_allocate,
    Offset: _lower_offset,
    ExtractElement: _lower_extract_element,
    InsertElement: _lower_insert_element,
    Shuffle: _lower_shuffle,
    ExtractValue: _lower_extract_value,
    InsertValue: _lower_insert_value,
    Call: _lower_call,
    AtomicUpdate: _lower_atomic_update,
    AtomicExchange: _lower_atomic_exchange,
    Unsupported: _lower_unsupported,
}
