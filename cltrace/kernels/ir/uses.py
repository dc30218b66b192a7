"""Operands and results of instructions, and their renaming to other slots and blocks."""

from collections.abc import Callable, Mapping
from dataclasses import replace
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
    match instruction:
        case Offset():
            return (instruction.pointer, *(index for index, _ in instruction.terms))
        case Call():
            return instruction.arguments
        case Return():
            return (instruction.value,) if instruction.value >= 0 else ()
        case _:
            return tuple(getattr(instruction, name) for name in _FIELDS[type(instruction)])


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
        case Jump(target, place):
            return Jump(block(target), place)
        case FallThrough(target, place):
            return FallThrough(block(target), place)
        case Branch(condition, then, otherwise, place):
            return Branch(slot(condition), block(then), block(otherwise), place)
        case Switch(value, kind, default, cases, place):
            targets = tuple((number, block(target)) for number, target in cases)
            return Switch(slot(value), kind, block(default), targets, place)
        case Return(value, place):
            return Return(slot(value) if value >= 0 else -1, place)
        case Unreachable():
            return terminator
