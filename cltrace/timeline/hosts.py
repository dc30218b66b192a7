"""Processes of several machines on one axis of time.

Processes of one machine share its monotonic clock. Between machines only their wall clocks tell, as
well as they were kept: each process read both together, about once a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a trace: ns since it began.

    `origin_host_ns` is what to take from the host times of each process, by its number. `machines` is
    how many there are; with more than one, positions are as good as the agreement of their wall clocks.
    """

    origin_host_ns: Mapping[int, int]
    machines: int


def axis_of(trace: Trace) -> Axis:
    """The axis of a trace. It begins when the first process was started, or the command that did it."""
    processes = trace.rows("SELECT process_id, host, started_host_ns FROM v_process")
    hosts = {int(number): str(host) for number, host, _ in processes}
    started = {int(number): int(begin or 0) for number, _, begin in processes}
    to_wall = wall_offsets(trace)
    if len(set(hosts.values())) <= 1 or not set(hosts) <= set(to_wall):
        origin = trace.meta_int("origin_host_ns")
        first = min(started.values(), default=0) if origin is None else origin
        return Axis(dict.fromkeys(hosts, first), max(len(set(hosts.values())), 1))
    first_wall = min(started[one] + to_wall[one] for one in hosts)
    return Axis({one: first_wall - to_wall[one] for one in hosts}, len(set(hosts.values())))


def wall_offsets(trace: Trace) -> dict[int, int]:
    """Wall clock minus monotonic clock of each process, where it read both."""
    columns = trace.columns(
        {"process": "process_id", "host": "host_ns", "wall": "realtime_ns"},
        "v_host_clock WHERE realtime_ns IS NOT NULL",
    )
    offsets = columns["wall"] - columns["host"]
    return {
        int(one): int(np.median(offsets[columns["process"] == one]))
        for one in np.unique(columns["process"])
    }
