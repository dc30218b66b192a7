"""One axis of time for the processes of several machines.

Processes of one machine share its monotonic clock. Between machines only the wall clocks can be
compared, so the axis is as exact as they agree. Each process reads both clocks together about once per
second.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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
