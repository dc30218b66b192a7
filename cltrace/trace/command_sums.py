"""What sums over commands are made of, in as few bytes as that takes, and the sums."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltrace.trace.column_blocks import Collected
from cltrace.trace.commands import ABSENT, FIRST_LAUNCH, Int64s
from cltrace.trace.rollup import Durations, Rollup, busy_of_devices_ns, durations

Numbers = NDArray[np.int64] | NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Measured:
    """Columns of commands. Shape (n,) each; `device_id` tells devices apart, whatever its numbers are.

    The last five are those of `Durations`.
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


def measured(commands: Mapping[str, Int64s], device_ids: Numbers) -> Measured:
    """What sums are made of, of commands given as columns with the numbers of their devices."""
    times = durations(commands)
    return Measured(
        device_id=device_ids.astype(np.int32),
        is_first_launch=commands["flags"] & FIRST_LAUNCH != 0,
        size_bytes=commands["size_bytes"],
        start_device_ns=commands["start_device_ns"],
        end_device_ns=commands["end_device_ns"],
        **{one.name: getattr(times, one.name) for one in fields(Durations)},
    )


def columns_of(commands: Measured) -> dict[str, NDArray[Any]]:
    """The columns by name, to be collected."""
    return {one.name: getattr(commands, one.name) for one in fields(Measured)}


def taken_from(collected: Collected) -> Measured:
    """The commands that were collected; they are used up."""
    return Measured(**{one.name: collected.take(one.name) for one in fields(Measured)})


def roll_up(groups: Numbers, commands: Measured) -> Iterator[tuple[int, Rollup]]:
    """For each number in `groups` (one a command), what the commands with it add up to."""
    if not len(groups):
        return
    order = np.argsort(groups, kind="stable")
    numbers, begin = np.unique(groups[order], return_index=True)
    for number, members in zip(numbers.tolist(), np.split(order, begin[1:]), strict=True):
        yield number, _of(members, commands)


def _of(members: Int64s, commands: Measured) -> Rollup:
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
        busy_ns=busy_of_devices_ns(
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
