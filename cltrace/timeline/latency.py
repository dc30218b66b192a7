"""Latency of commands in their queues, by stage."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.commands import FIRST_LAUNCH

_PERCENTILES: Final = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of one queue's commands, in ns: median, 90th and 99th percentile.

    `queued_ns` is QUEUED to SUBMIT, in the host's driver. `submitted_ns` is SUBMIT to START, in line
    behind other commands or on the way to the device. First launches, in which drivers compile, are left
    out.
    """

    queue: int
    commands: int
    queued_ns: tuple[float, float, float]
    submitted_ns: tuple[float, float, float]


def measure_latencies(activity: Activity) -> list[Latency]:
    """Return the latencies of each queue's commands."""
    commands = activity.commands
    counted = commands.is_placed & (commands.flags & FIRST_LAUNCH == 0) & (commands.queue > 0)
    counted &= commands.submit_ns >= commands.queued_ns
    counted &= commands.start_ns >= commands.submit_ns
    latencies = []
    chosen = np.flatnonzero(counted)
    for queue, members in groups(commands.queue[chosen], chosen):
        latencies.append(
            Latency(
                queue,
                len(members),
                _percentiles((commands.submit_ns - commands.queued_ns)[members]),
                _percentiles((commands.start_ns - commands.submit_ns)[members]),
            )
        )
    return latencies


def _percentiles(values: Int64s) -> tuple[float, float, float]:
    low, middle, high = np.percentile(values, _PERCENTILES).tolist()
    return low, middle, high
