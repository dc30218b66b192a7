"""Exact sums over commands and host calls, computed while their columns are in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import FAULT_SHIFT, UNUSABLE_STAMPS
from cltrace.trace.commands import ABSENT, FIRST_LAUNCH, Int64s
from cltrace.trace.distinct_values import sort_distinct

UNUSABLE_FLAGS: Final = int(UNUSABLE_STAMPS) << FAULT_SHIFT
"""Bits in the `flags` of commands whose stamps are unusable."""
_MIN_DURATION_NS: Final = 0


@dataclass(frozen=True, slots=True)
class CommandTimes:
    """Durations and waits of commands in ns, with masks of the valid ones.

    A duration is END - START on the device, or completion - entry on the host for a command without
    stamps. A wait is START - QUEUED. A command with unusable stamps has neither.
    """

    duration_ns: Int64s
    is_timed: NDArray[np.bool_]
    has_stamps: NDArray[np.bool_]
    wait_ns: Int64s
    is_waited: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """Sums over a group of commands. `None` where no command of the group has a time."""

    calls: int
    timed_calls: int
    total_ns: int
    min_ns: int | None
    median_ns: float | None
    max_ns: int | None
    busy_ns: int | None
    size_bytes: int
    waited_calls: int
    wait_total_ns: int
    wait_median_ns: float | None
    first_calls: int
    first_wait_ns: int


def command_times(commands: Mapping[str, Int64s]) -> CommandTimes:
    """Return the durations and waits of commands, which are given as columns."""
    queued, start, end = (commands[f"{stage}_device_ns"] for stage in ("queued", "start", "end"))
    complete, enter = commands["complete_host_ns"], commands["enter_host_ns"]
    with np.errstate(over="ignore"):
        on_device, on_host, waited = end - start, complete - enter, start - queued
    is_usable = commands["flags"] & UNUSABLE_FLAGS == 0
    has_stamps = (start != ABSENT) & (end != ABSENT) & (on_device >= _MIN_DURATION_NS) & is_usable
    has_completion = (complete != ABSENT) & ~has_stamps & (on_host >= 0)
    is_first = commands["flags"] & FIRST_LAUNCH != 0
    is_waited = has_stamps & (queued != ABSENT) & (waited >= 0) & ~is_first
    duration = np.where(has_stamps, on_device, np.where(has_completion, on_host, 0))
    return CommandTimes(duration, has_stamps | has_completion, has_stamps, waited, is_waited)


def busy_ns(start_ns: Int64s, end_ns: Int64s) -> int:
    """Return the length of the union of the intervals: the time in which at least one is open."""
    if not len(start_ns):
        return 0
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
    covered_until = np.concatenate(([start[0]], end[:-1]))
    return int(np.maximum(end - np.maximum(start, covered_until), 0).sum())


def total_busy_ns(device: NDArray[np.integer[Any]], start_ns: Int64s, end_ns: Int64s) -> int:
    """Return the sum of `busy_ns` over devices. Their intervals have no common clock."""
    return sum(
        busy_ns(start_ns[device == device_id], end_ns[device == device_id])
        for device_id in sort_distinct(device)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRollup:
    """Sums over the host calls of an entry point."""

    api: int
    calls: int
    failed: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int
