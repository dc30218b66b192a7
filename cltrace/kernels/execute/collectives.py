"""Functions of work-groups and sub-groups: votes, broadcasts, reductions and scans.

(OpenCL C 3.0, sections 6.15.16 and 6.15.19.)
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from cltrace.kernels.builtins.function_kinds import COLLECTIVE_NAME
from cltrace.kernels.builtins.mangling import ParameterKind
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.segments import Segments
from cltrace.kernels.values import Array, Value, spread

_OPERATIONS: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def collective(
    name: str, parameters: tuple[ParameterKind, ...], values: list[Value], lanes: Lanes
) -> Value:
    """What a collective function returns to each lane."""
    found = COLLECTIVE_NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name} is no collective function")
    by_group = found["scope"] == "work_group"
    segments = Segments(lanes.group if by_group else lanes.warp)
    value = spread(values[0], lanes.count) if values else np.ones(lanes.count, np.int32)
    match found["what"]:
        case "all" | "any" | "elect":
            return _vote(found["what"], segments, value)
        case (
            "broadcast"
            | "broadcast_first"
            | "shuffle"
            | "shuffle_xor"
            | "shuffle_up"
            | "shuffle_down"
        ):
            return _from_other(found["what"], segments, value, values[1:], lanes, by_group)
        case "ballot":
            raise NotImplementedError(name)
        case what:
            return _reduced(what, found["operation"], parameters, segments, value)


def _vote(what: str, segments: Segments, value: Array) -> Array:
    if what == "elect":
        return segments.restored((segments.rank == 0).astype(np.int32))
    ordered = segments.ordered(value) != 0
    run = np.logical_and if what == "all" else np.logical_or
    votes = np.asarray(run.reduceat(ordered, segments.begins), np.int32)
    return segments.restored(votes[segments.number])


def _from_other(
    what: str,
    segments: Segments,
    value: Array,
    arguments: list[Value],
    lanes: Lanes,
    by_group: bool,  # noqa: FBT001 - of a work-group or of a sub-group
) -> Array:
    """The value that another lane of the group has."""
    counts = np.diff(np.append(segments.begins, len(segments.order)))
    if by_group:
        position = _linear_position(arguments, lanes)
    elif what == "broadcast_first":
        position = np.zeros(lanes.count, np.int64)
    else:
        position = spread(arguments[-1], lanes.count).astype(np.int64)
    ordered = segments.ordered(position)
    relative = {"shuffle_xor": segments.rank ^ ordered, "shuffle_up": segments.rank - ordered,
                "shuffle_down": segments.rank + ordered}.get(what, ordered)  # fmt: skip
    within = np.clip(relative, 0, counts[segments.number] - 1)
    entries = segments.ordered(value)[segments.begins[segments.number] + within]
    return segments.restored(entries)


def _linear_position(arguments: list[Value], lanes: Lanes) -> Array:
    sizes = lanes.grid.space.local_size
    found: Value = np.int64(0)
    for axis in reversed(range(min(len(arguments), len(sizes)))):
        found = found * sizes[axis] + arguments[axis]
    where: Array = spread(found, lanes.count)
    return where


def _reduced(
    what: str,
    operation: str,
    parameters: tuple[ParameterKind, ...],
    segments: Segments,
    value: Array,
) -> Array:
    kept = value.dtype
    if parameters and parameters[0].is_unsigned:
        value = value.view(f"u{value.dtype.itemsize}")
    run = _OPERATIONS[operation]
    scanned = segments.scanned(run, segments.ordered(value))
    if what == "reduce":
        scanned = scanned[segments.ends][segments.number]
    elif what == "scan_exclusive":
        scanned = segments.shifted(scanned, _identity(operation, value.dtype))
    return segments.restored(scanned).view(kept)


def _identity(operation: str, dtype: np.dtype[Any]) -> Value:
    """What changes nothing: where an exclusive scan begins."""
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
