"""Operands and results of instructions, and their renaming to other slots and blocks."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from cltrace.kernels.ir.instructions import (
    Allocate,
    AtomicExchange,
    AtomicUpdate,
    Binary,
    Branch,
    Call,
    Compare,
    Convert,
    Copy,
    ExtractElement,
    ExtractValue,
    FallThrough,
    InsertElement,
    InsertValue,
    Instruction,
    Jump,
    Load,
    Negate,
    Offset,
    Return,
    Select,
    Shuffle,
    Store,
    Switch,
    Terminator,
    Touch,
    Unreachable,
    Unsupported,
)

_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    Binary: ("left", "right"),
    Negate: ("operand",),
    Compare: ("left", "right"),
    Convert: ("operand",),
    Select: ("condition", "left", "right"),
    Copy: ("operand",),
    Load: ("pointer",),
    Store: ("value", "pointer"),
    Touch: ("pointer",),
    Allocate: (),
    ExtractElement: ("vector", "index"),
    InsertElement: ("vector", "element", "index"),
    Shuffle: ("left", "right"),
    ExtractValue: ("aggregate",),
    InsertValue: ("aggregate", "element"),
    AtomicUpdate: ("pointer", "value"),
    AtomicExchange: ("pointer", "expected", "value"),
    Unsupported: (),
    Jump: (),
    FallThrough: (),
    Branch: ("condition",),
    Switch: ("value",),
    Unreachable: (),
}
"""Per instruction: the fields that hold the slots which it reads."""


def operands_of(instruction: Instruction | Terminator) -> tuple[int, ...]:
    """Return the slots that an instruction reads, in the order of its operands."""
    return _OPERANDS[type(instruction)](instruction)


def _operands_of_offset(instruction: Offset) -> tuple[int, ...]:
    return (instruction.pointer, *[index for index, _ in instruction.terms])


def _operands_of_return(instruction: Return) -> tuple[int, ...]:
    return (instruction.value,) if instruction.value >= 0 else ()


def _reader_of(names: tuple[str, ...]) -> Callable[[Any], tuple[int, ...]]:
    """Return a function that reads fields into a tuple."""
    if not names:
        return lambda _: ()
    read: Callable[[Any], Any] = attrgetter(*names)
    if len(names) > 1:
        return read
    return lambda instruction: (read(instruction),)


_OPERANDS: Final[Mapping[type, Callable[[Any], tuple[int, ...]]]] = {
    **{kind: _reader_of(names) for kind, names in _FIELDS.items()},
    Offset: _operands_of_offset,
    Call: attrgetter("arguments"),
    Return: _operands_of_return,
}
"""Per instruction: the function that returns the slots which it reads."""


def result_of(instruction: Instruction | Terminator) -> int:
    """Return the slot that an instruction defines, or -1."""
    return getattr(instruction, "result", -1)


def rename_slots(instruction: Instruction, slot: Callable[[int], int]) -> Instruction:
    """Return the instruction with each slot replaced by `slot` of it."""
    changes: dict[str, Any] = {}
    match instruction:
        case Offset():
            changes["pointer"] = slot(instruction.pointer)
            changes["terms"] = tuple((slot(index), step) for index, step in instruction.terms)
        case Call():
            changes["arguments"] = tuple(map(slot, instruction.arguments))
        case _:
            for name in _FIELDS[type(instruction)]:
                changes[name] = slot(getattr(instruction, name))
    result = result_of(instruction)
    if result >= 0:
        changes["result"] = slot(result)
    return replace(instruction, **changes) if changes else instruction


def retarget(
    terminator: Terminator, slot: Callable[[int], int], block: Callable[[int], int]
) -> Terminator:
    """Return the terminator with each slot and block replaced by `slot` and `block` of it."""
    match terminator:
        case Jump(target):
            return replace(terminator, target=block(target))
        case FallThrough(target, place):
            return FallThrough(block(target), place)
        case Branch(condition, then, otherwise):
            return replace(
                terminator, condition=slot(condition), then=block(then), otherwise=block(otherwise)
            )
        case Switch(value, kind, default, cases, place):
            targets = tuple((number, block(target)) for number, target in cases)
            return Switch(slot(value), kind, block(default), targets, place)
        case Return(value, place):
            return Return(slot(value) if value >= 0 else -1, place)
        case Unreachable():
            return terminator
