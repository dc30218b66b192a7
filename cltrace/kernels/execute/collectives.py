"""Work-group and sub-group functions: votes, broadcasts, reductions and scans.

Source: OpenCL C 3.0, sections 6.15.16 and 6.15.19.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.function_kinds import COLLECTIVE_NAME
from cltrace.kernels.builtins.mangling import ParameterKind
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.segments import Segments
from cltrace.kernels.values import Array, Value, broadcast

_WORD_BITS: Final = 32
_BALLOT_WORDS: Final = 4
"""Words of the result of a ballot, a `uint4`."""
_OPERATIONS: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def compute_collective(
    name: str, parameters: tuple[ParameterKind, ...], values: list[Value], lanes: Lanes
) -> Value:
    """Return the result of a collective function for each lane."""
    match = COLLECTIVE_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is not a collective function")
    by_group = match["scope"] == "work_group"
    segments = Segments(lanes.group if by_group else lanes.warp)
    value = broadcast(values[0], lanes.count) if values else np.ones(lanes.count, np.int32)
    match match["what"]:
        case "all" | "any" | "elect":
            return _vote(match["what"], segments, value)
        case (
            "broadcast"
            | "broadcast_first"
            | "shuffle"
            | "shuffle_xor"
            | "shuffle_up"
            | "shuffle_down"
        ):
            return _read_other_lane(match["what"], segments, value, values[1:], lanes, by_group)
        case "ballot":
            return _ballot(segments, value, lanes)
        case function:
            return _reduce_or_scan(function, match["operation"], parameters, segments, value)


def _vote(function: str, segments: Segments, value: Array) -> Array:
    if function == "elect":
        return segments.unsort((segments.rank == 0).astype(np.int32))
    is_true = segments.sort(value) != 0
    run = np.logical_and if function == "all" else np.logical_or
    votes = np.asarray(run.reduceat(is_true, segments.begins), np.int32)
    return segments.unsort(votes[segments.number])


def _ballot(segments: Segments, value: Array, lanes: Lanes) -> tuple[Array, ...]:
    """Return the lanes of each group whose value is true, as the bits of a `uint4`."""
    word, bit = np.divmod(
        lanes.take(lanes.grid.linear_in_group % lanes.grid.warp_width), _WORD_BITS
    )
    own = (np.asarray(value != 0, np.uint32) << bit.astype(np.uint32)).astype(np.uint32)
    words = []
    for number in range(_BALLOT_WORDS):
        votes = segments.sort(np.where(word == number, own, np.uint32(0)))
        whole = np.bitwise_or.reduceat(votes, segments.begins)
        words.append(segments.unsort(whole[segments.number]).view(np.int32))
    return tuple(words)


def _read_other_lane(
    function: str,
    segments: Segments,
    value: Array,
    arguments: list[Value],
    lanes: Lanes,
    by_group: bool,  # noqa: FBT001 - a work-group, not a sub-group
) -> Array:
    """Return the value of another lane of the group."""
    counts = np.diff(np.append(segments.begins, len(segments.order)))
    if by_group:
        position = _linear_position(arguments, lanes)
    elif function == "broadcast_first":
        position = np.zeros(lanes.count, np.int64)
    else:
        position = broadcast(arguments[-1], lanes.count).astype(np.int64)
    operand = segments.sort(position)
    source_rank = {
        "shuffle_xor": segments.rank ^ operand,
        "shuffle_up": segments.rank - operand,
        "shuffle_down": segments.rank + operand,
    }.get(function, operand)
    clipped_rank = np.clip(source_rank, 0, counts[segments.number] - 1)
    entries = segments.sort(value)[segments.begins[segments.number] + clipped_rank]
    return segments.unsort(entries)


def _linear_position(arguments: list[Value], lanes: Lanes) -> Array:
    sizes = lanes.grid.ndrange.local_size
    position: Value = np.int64(0)
    for axis in reversed(range(min(len(arguments), len(sizes)))):
        position = position * sizes[axis] + arguments[axis]
    positions: Array = broadcast(position, lanes.count)
    return positions


def _reduce_or_scan(
    function: str,
    operation: str,
    parameters: tuple[ParameterKind, ...],
    segments: Segments,
    value: Array,
) -> Array:
    dtype = value.dtype
    if parameters and parameters[0].is_unsigned:
        value = value.view(f"u{value.dtype.itemsize}")
    run = _OPERATIONS[operation]
    scanned = segments.scan(run, segments.sort(value))
    if function == "reduce":
        scanned = scanned[segments.ends][segments.number]
    elif function == "scan_exclusive":
        scanned = segments.shift(scanned, _identity(operation, value.dtype))
    return segments.unsort(scanned).view(dtype)


def _identity(operation: str, dtype: np.dtype[Any]) -> Value:
    """Return the identity element of an operation, with which an exclusive scan begins."""
    if operation in {"add", "or", "xor"}:
        return dtype.type(0)
    if operation == "mul":
        return dtype.type(1)
    if dtype.kind == "f":
        return dtype.type(np.inf if operation == "min" else -np.inf)
    limits = np.iinfo(dtype)
    if operation == "and":
        return dtype.type(-1) if dtype.kind == "i" else dtype.type(limits.max)
    return dtype.type(limits.max if operation == "min" else limits.min)
