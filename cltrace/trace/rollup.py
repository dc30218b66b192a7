"""Exact summaries of the commands, made once while their columns are in memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import FAULT_SHIFT, UNUSABLE_STAMPS
from cltrace.trace.commands import ABSENT, FIRST_LAUNCH, Int64s

UNUSABLE: Final = int(UNUSABLE_STAMPS) << FAULT_SHIFT
"""Set in `flags` of a command whose stamps cannot be right."""
_SHORTEST_NS: Final = 0


@dataclass(frozen=True, slots=True)
class Durations:
    """How long each command took, and how long it waited, in ns; with masks of those that are known.

    A duration is END minus START on the device; without stamps it is completion minus entry on the
    host. A wait is START minus QUEUED. A command whose stamps run backwards, or are made up, has neither.
    """

    duration_ns: Int64s
    is_timed: NDArray[np.bool_]
    has_stamps: NDArray[np.bool_]
    wait_ns: Int64s
    is_waited: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rollup:
    """What one group of commands adds up to. `None` where nothing in it has a time."""

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


def durations(commands: Mapping[str, Int64s]) -> Durations:
    """The durations and waits of commands, given as columns."""
    queued, start, end = (commands[f"{stage}_device_ns"] for stage in ("queued", "start", "end"))
    complete, enter = commands["complete_host_ns"], commands["enter_host_ns"]
    with np.errstate(over="ignore"):
        on_device, on_host, waited = end - start, complete - enter, start - queued
    is_sound = commands["flags"] & UNUSABLE == 0
    has_stamps = (start != ABSENT) & (end != ABSENT) & (on_device >= _SHORTEST_NS) & is_sound
    has_completion = (complete != ABSENT) & ~has_stamps & (on_host >= 0)
    is_first = commands["flags"] & FIRST_LAUNCH != 0
    is_waited = has_stamps & (queued != ABSENT) & (waited >= 0) & ~is_first
    duration = np.where(has_stamps, on_device, np.where(has_completion, on_host, 0))
    return Durations(duration, has_stamps | has_completion, has_stamps, waited, is_waited)


def busy_ns(start_ns: Int64s, end_ns: Int64s) -> int:
    """How long at least one of the intervals was open: the length of their union."""
    if not len(start_ns):
        return 0
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
    covered_until = np.concatenate(([start[0]], end[:-1]))
    return int(np.maximum(end - np.maximum(start, covered_until), 0).sum())


def busy_of_devices_ns(device: NDArray[np.integer[Any]], start_ns: Int64s, end_ns: Int64s) -> int:
    """`busy_ns` of each device by itself, added up: there is no clock that they share."""
    return sum(busy_ns(start_ns[device == one], end_ns[device == one]) for one in np.unique(device))


@dataclass(frozen=True, slots=True)
class ApiRollup:
    """What the calls of one entry point add up to."""

    api: int
    calls: int
    failed: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int


def roll_up_apis(tables: Iterable[dict[str, Int64s]]) -> Iterator[ApiRollup]:
    """For each entry point, what its host calls add up to. A table without `status` has no failures."""
    parts = list(tables)
    api = np.concatenate([part["api"] for part in parts])
    took = np.concatenate([part["return_host_ns"] - part["enter_host_ns"] for part in parts])
    failed = np.concatenate(
        [part.get("status", np.zeros(len(part["api"]), np.int64)) != 0 for part in parts]
    )
    for number in np.unique(api).tolist():
        members = api == number
        ns = took[members]
        yield ApiRollup(
            number,
            len(ns),
            int(failed[members].sum()),
            int(ns.sum()),
            int(ns.min()),
            float(np.median(ns)),
            int(ns.max()),
        )
