"""Compact columns of commands, and the sums over groups of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.column_blocks import ColumnBlocks
from cltrace.trace.commands import ABSENT, FIRST_LAUNCH, Int64s
from cltrace.trace.rollup import CommandTimes, Rollup, command_times, total_busy_ns

Integers = NDArray[np.int64] | NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandColumns:
    """Columns of commands, of shape (n,) each, in as few bytes as the sums need.

    `device_id` distinguishes devices; its numbers may be any. The last five columns are those of
    `CommandTimes`.
    """

    device_id: NDArray[np.int32]
    is_first_launch: Bools
    size_bytes: Int64s
    start_device_ns: Int64s
    end_device_ns: Int64s
    duration_ns: Int64s
    is_timed: Bools
    has_stamps: Bools
    wait_ns: Int64s
    is_waited: Bools


def command_columns(commands: Mapping[str, Int64s], device_ids: Integers) -> CommandColumns:
    """Return the columns for sums over `commands`, which are given as columns of a trace."""
    times = command_times(commands)
    return CommandColumns(
        device_id=device_ids.astype(np.int32),
        is_first_launch=commands["flags"] & FIRST_LAUNCH != 0,
        size_bytes=commands["size_bytes"],
        start_device_ns=commands["start_device_ns"],
        end_device_ns=commands["end_device_ns"],
        **{field.name: getattr(times, field.name) for field in fields(CommandTimes)},
    )


def columns_by_name(commands: CommandColumns) -> dict[str, NDArray[Any]]:
    """Return the columns by name, as `ColumnBlocks.append` takes them."""
    return {field.name: getattr(commands, field.name) for field in fields(CommandColumns)}


def pop_columns(blocks: ColumnBlocks) -> CommandColumns:
    """Remove the command columns from `blocks` and return them."""
    return CommandColumns(
        **{field.name: blocks.pop(field.name) for field in fields(CommandColumns)}
    )


def roll_up(groups: Integers, commands: CommandColumns) -> Iterator[tuple[int, Rollup]]:
    """Yield each number in `groups` with the sums over its commands. `groups` has one per command."""
    if not len(groups):
        return
    order = np.argsort(groups, kind="stable")
    numbers, begin = np.unique(groups[order], return_index=True)
    for number, members in zip(numbers.tolist(), np.split(order, begin[1:]), strict=True):
        yield number, _rollup_of(members, commands)


def _rollup_of(members: Int64s, commands: CommandColumns) -> Rollup:
    duration = commands.duration_ns[members][commands.is_timed[members]]
    waits = commands.wait_ns[members][commands.is_waited[members]]
    sizes = commands.size_bytes[members]
    first = members[commands.is_first_launch[members]]
    first_waits = _nonnegative(commands.wait_ns[first][commands.start_device_ns[first] != ABSENT])
    on_device = members[commands.has_stamps[members]]
    return Rollup(
        calls=len(members),
        timed_calls=len(duration),
        total_ns=int(duration.sum()),
        min_ns=int(duration.min()) if len(duration) else None,
        median_ns=_median(duration),
        max_ns=int(duration.max()) if len(duration) else None,
        busy_ns=total_busy_ns(
            commands.device_id[on_device],
            commands.start_device_ns[on_device],
            commands.end_device_ns[on_device],
        )
        if len(on_device)
        else None,
        size_bytes=int(sizes[sizes != ABSENT].sum()),
        waited_calls=len(waits),
        wait_total_ns=int(waits.sum()),
        wait_median_ns=_median(waits),
        first_calls=len(first),
        first_wait_ns=int(first_waits.sum()),
    )


def _median(values: Int64s) -> float | None:
    return float(np.median(values)) if len(values) else None


def _nonnegative(values: Int64s) -> Int64s:
    return values[values >= 0]
