"""Atomic operations: lanes that meet at an address take turns, in the order of their numbers."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import Memory
from cltrace.kernels.execute.segments import Segments
from cltrace.kernels.ir.types import Type
from cltrace.kernels.values import Array, Value, spread

_Operation = Callable[[Value, Value], Value]


def _unsigned(operation: _Operation) -> _Operation:
    def run(left: Value, right: Value) -> Value:
        width = f"u{left.dtype.itemsize}"
        return operation(left.view(width), right.view(width)).view(left.dtype)

    return run


OPERATIONS: Final[Mapping[str, _Operation]] = {
    "add": np.add,
    "fadd": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "umax": _unsigned(np.maximum),
    "umin": _unsigned(np.minimum),
    "xchg": lambda _, new: new,
}
"""What an atomic operation makes of the old value and the operand. All are associative."""

_NAME: Final = re.compile(
    r"(?:atomic|atom)_(?:fetch_)?(?P<operation>add|sub|xchg|exchange|inc|dec|min|max|and|or|xor)"
    r"(?:_explicit)?"
)


def is_atomic(name: str) -> bool:
    """Whether a function of OpenCL's is an atomic one."""
    return name.startswith(("atomic_", "atom_"))


def operation_of(name: str) -> str | None:
    """The operation of OpenCL's function `name`: `add` for `atomic_fetch_add_explicit`, or None."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    operation: str = found["operation"]
    return "xchg" if operation == "exchange" else operation


def update(
    memory: Memory, operation: str, kind: Type, address: Value, operand: Value, lanes: Lanes
) -> Value:
    """Do an atomic operation. Returns what each lane found."""
    if operation in {"sub", "nand", "fsub"}:
        if operation == "nand":
            return _in_turn(memory, lambda old, new: ~(old & new), kind, address, operand, lanes)
        return update(memory, "add", kind, address, -operand, lanes)
    places = spread(address, lanes.count)
    segments = Segments(memory.identity(places, lanes))
    ordered = segments.ordered(operand)
    old = memory.load(kind, places, lanes)
    first = segments.ordered(old)
    run = OPERATIONS[operation]
    scanned = segments.scanned(run, ordered)
    after = run(first, scanned)
    found = segments.shifted(after, first[segments.begins])
    _write_last(memory, kind, places, segments, after, lanes)
    return segments.restored(found)


def _write_last(
    memory: Memory, kind: Type, places: Array, segments: Segments, after: Array, lanes: Lanes
) -> None:
    """Write what the last lane at each address leaves."""
    last = np.zeros(lanes.count, np.bool_)
    ends = segments.order[segments.ends]
    last[ends] = True
    values = np.empty_like(after)
    values[segments.order] = after
    memory.store(values[last], kind, places[last], lanes.where(last))


def _in_turn(
    memory: Memory, run: _Operation, kind: Type, address: Value, operand: Value, lanes: Lanes
) -> Value:
    """An operation that is not associative: lanes at an address one after the other."""
    places = spread(address, lanes.count)
    segments = Segments(memory.identity(places, lanes))
    rank = segments.restored(segments.rank)
    operands = spread(operand, lanes.count)
    found = np.empty(lanes.count, operands.dtype)
    for turn in range(int(rank.max(initial=-1)) + 1):
        mine = rank == turn
        some = lanes.where(mine)
        old = memory.load(kind, places[mine], some)
        found[mine] = old
        memory.store(run(spread(old, some.count), operands[mine]), kind, places[mine], some)
    return found


def compare_exchange(
    memory: Memory, kind: Type, address: Value, expected: Value, desired: Value, lanes: Lanes
) -> Value:
    """Compare and exchange. Returns what each lane found.

    Lanes go in turns by address. Where no lane that is left can succeed, the rest find the same.
    """
    places = spread(address, lanes.count)
    wanted = spread(expected, lanes.count)
    new = spread(desired, lanes.count)
    segments = Segments(memory.identity(places, lanes))
    rank = segments.restored(segments.rank)
    found = np.empty(lanes.count, wanted.dtype)
    left = np.ones(lanes.count, np.bool_)
    for turn in range(int(rank.max(initial=-1)) + 1):
        index = np.flatnonzero(left)
        now = spread(
            memory.load(kind, places[index], Lanes(lanes.grid, lanes.index[index])), len(index)
        )
        found[index] = now
        succeeds = now == wanted[index]
        if turn and not succeeds.any():
            return found
        mine = index[rank[index] == turn]
        if not len(mine):
            continue
        wins = mine[found[mine] == wanted[mine]]
        if len(wins):
            memory.store(new[wins], kind, places[wins], Lanes(lanes.grid, lanes.index[wins]))
        left[mine] = False
    return found
