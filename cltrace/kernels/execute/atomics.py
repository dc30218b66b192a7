"""Atomic operations. Lanes that access the same address take turns in lane order."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.memory import Memory
from cltrace.kernels.execute.segments import Segments
from cltrace.kernels.ir.types import Type
from cltrace.kernels.values import Array, Value, broadcast

_Operation = Callable[[Value, Value], Value]


def _on_unsigned(operation: _Operation) -> _Operation:
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
    "umax": _on_unsigned(np.maximum),
    "umin": _on_unsigned(np.minimum),
    "xchg": lambda _, new: new,
}
"""New values of atomic operations, from the old value and the operand. All are associative."""

_NAME: Final = re.compile(
    r"(?:atomic|atom)_(?:fetch_)?(?P<operation>add|sub|xchg|exchange|inc|dec|min|max|and|or|xor)"
    r"(?:_explicit)?"
)


def is_atomic(name: str) -> bool:
    """Return True if the OpenCL function `name` is atomic."""
    return name.startswith(("atomic_", "atom_"))


def operation_of(name: str) -> str | None:
    """Return the operation of an atomic function (`add` for `atomic_fetch_add_explicit`), or None."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    operation: str = match["operation"]
    return "xchg" if operation == "exchange" else operation


def update(
    memory: Memory, operation: str, kind: Type, address: Value, operand: Value, lanes: Lanes
) -> Value:
    """Run an atomic operation. Return the old value that each lane reads."""
    if operation in {"sub", "nand", "fsub"}:
        if operation == "nand":
            return _update_in_turns(
                memory, lambda old, new: ~(old & new), kind, address, operand, lanes
            )
        return update(memory, "add", kind, address, -operand, lanes)
    addresses = broadcast(address, lanes.count)
    segments = Segments(memory.location_keys(addresses, lanes))
    operands = segments.sort(operand)
    old = memory.load(kind, addresses, lanes)
    first = segments.sort(old)
    run = OPERATIONS[operation]
    scanned = segments.scan(run, operands)
    after = run(first, scanned)
    old_values = segments.shift(after, first[segments.begins])
    _write_last(memory, kind, addresses, segments, after, lanes)
    return segments.unsort(old_values)


def _write_last(
    memory: Memory, kind: Type, addresses: Array, segments: Segments, after: Array, lanes: Lanes
) -> None:
    """Store the value that the last lane at each address leaves."""
    last = np.zeros(lanes.count, np.bool_)
    ends = segments.order[segments.ends]
    last[ends] = True
    values = np.empty_like(after)
    values[segments.order] = after
    memory.store(values[last], kind, addresses[last], lanes.where(last))


def _update_in_turns(
    memory: Memory, run: _Operation, kind: Type, address: Value, operand: Value, lanes: Lanes
) -> Value:
    """Run an operation that is not associative: lanes at the same address run one after the other."""
    addresses = broadcast(address, lanes.count)
    segments = Segments(memory.location_keys(addresses, lanes))
    rank = segments.unsort(segments.rank)
    operands = broadcast(operand, lanes.count)
    old_values = np.empty(lanes.count, operands.dtype)
    for turn in range(int(rank.max(initial=-1)) + 1):
        turn_lanes = rank == turn
        subset = lanes.where(turn_lanes)
        old = memory.load(kind, addresses[turn_lanes], subset)
        old_values[turn_lanes] = old
        memory.store(
            run(broadcast(old, subset.count), operands[turn_lanes]),
            kind,
            addresses[turn_lanes],
            subset,
        )
    return old_values


def compare_exchange(
    memory: Memory, kind: Type, address: Value, expected: Value, desired: Value, lanes: Lanes
) -> Value:
    """Compare and exchange. Return the old value that each lane reads.

    Lanes at the same address take turns. When no remaining lane can succeed, all of them read the
    same value.
    """
    addresses = broadcast(address, lanes.count)
    expected_values = broadcast(expected, lanes.count)
    desired_values = broadcast(desired, lanes.count)
    segments = Segments(memory.location_keys(addresses, lanes))
    rank = segments.unsort(segments.rank)
    old_values = np.empty(lanes.count, expected_values.dtype)
    is_pending = np.ones(lanes.count, np.bool_)
    for turn in range(int(rank.max(initial=-1)) + 1):
        index = np.flatnonzero(is_pending)
        current = broadcast(
            memory.load(kind, addresses[index], Lanes(lanes.grid, lanes.index[index])), len(index)
        )
        old_values[index] = current
        succeeds = current == expected_values[index]
        if turn and not succeeds.any():
            return old_values
        turn_lanes = index[rank[index] == turn]
        if not len(turn_lanes):
            continue
        winners = turn_lanes[old_values[turn_lanes] == expected_values[turn_lanes]]
        if len(winners):
            memory.store(
                desired_values[winners],
                kind,
                addresses[winners],
                Lanes(lanes.grid, lanes.index[winners]),
            )
        is_pending[turn_lanes] = False
    return old_values
