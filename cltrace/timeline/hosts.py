"""One axis of time for the processes of several machines.

Processes of one machine share its monotonic clock. Between machines only the wall clocks can be
compared, so the axis is as exact as they agree. Each process reads both clocks together about once per
second.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a trace: ns since it began.

    `origin_host_ns` is the value to subtract from the host times of each process, by process number.
    `machines` is the number of machines. With more than one, positions are as exact as the agreement of
    their wall clocks.
    """

    origin_host_ns: Mapping[int, int]
    machines: int


class ChildStart(NamedTuple):
    """Start of tracing in a process whose parent is traced too, by their numbers; ns on the axis."""

    process: int
    parent: int
    started_ns: int


def read_child_starts(trace: Trace, axis: Axis) -> tuple[ChildStart, ...]:
    """Return the starts of the processes whose parents are in the trace.

    A parent is of the same machine and was started before. Systems give process numbers again: of
    several, the last one is the parent.
    """
    rows = trace.rows(
        "SELECT process_id, host, pid, parent_pid, started_host_ns FROM v_process"
        " WHERE started_host_ns IS NOT NULL ORDER BY started_host_ns"
    )
    starts = []
    latest: dict[tuple[object, object], int] = {}
    for number, host, pid, parent_pid, started_host_ns in rows:
        parent = latest.get((host, parent_pid))
        if parent is not None:
            started_ns = int(started_host_ns) - axis.origin_host_ns[int(number)]
            starts.append(ChildStart(int(number), parent, started_ns))
        latest[host, pid] = int(number)
    return tuple(starts)


def read_axis(trace: Trace) -> Axis:
    """Return the axis of a trace.

    It begins when the first process, or the command that started it, was started.
    """
    processes = trace.rows("SELECT process_id, host, started_host_ns FROM v_process")
    hosts = {int(process): str(host) for process, host, _ in processes}
    started = {int(process): int(begin or 0) for process, _, begin in processes}
    to_wall = read_wall_offsets(trace)
    if len(set(hosts.values())) <= 1 or not set(hosts) <= set(to_wall):
        origin = trace.meta_int("origin_host_ns")
        first = min(started.values(), default=0) if origin is None else origin
        return Axis(dict.fromkeys(hosts, first), max(len(set(hosts.values())), 1))
    first_wall = min(started[process] + to_wall[process] for process in hosts)
    origins = {process: first_wall - to_wall[process] for process in hosts}
    return Axis(origins, len(set(hosts.values())))


def read_wall_offsets(trace: Trace) -> dict[int, int]:
    """Return wall clock minus monotonic clock of each process that read both, in ns."""
    columns = trace.columns(
        {"process": "process_id", "host": "host_ns", "wall": "realtime_ns"},
        "v_host_clock WHERE realtime_ns IS NOT NULL",
    )
    offsets = columns["wall"] - columns["host"]
    return {
        int(process): int(np.median(offsets[columns["process"] == process]))
        for process in np.unique(columns["process"])
    }
