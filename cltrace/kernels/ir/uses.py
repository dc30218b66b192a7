"""What an instruction reads, and the same instruction on other slots."""

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
    Fall,
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
    Fall: (),
    Branch: ("condition",),
    Switch: ("value",),
    Unreachable: (),
}
"""The fields that are slots which an instruction reads."""


def operands_of(instruction: Instruction | Terminator) -> tuple[int, ...]:
    """The slots that an instruction reads, in its order."""
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
    """The slot that an instruction defines, or -1."""
    return getattr(instruction, "result", -1)


def renamed(instruction: Instruction, slot: Callable[[int], int]) -> Instruction:
    """The instruction with each slot replaced by what `slot` says."""
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


def retargeted(
    terminator: Terminator, slot: Callable[[int], int], block: Callable[[int], int]
) -> Terminator:
    """The terminator with slots and blocks replaced."""
    match terminator:
        case Jump(target, place):
            return Jump(block(target), place)
        case Fall(target, place):
            return Fall(block(target), place)
        case Branch(condition, then, otherwise, place):
            return Branch(slot(condition), block(then), block(otherwise), place)
        case Switch(value, kind, default, cases, place):
            targets = tuple((number, block(target)) for number, target in cases)
            return Switch(slot(value), kind, block(default), targets, place)
        case Return(value, place):
            return Return(slot(value) if value >= 0 else -1, place)
        case Unreachable():
            return terminator
