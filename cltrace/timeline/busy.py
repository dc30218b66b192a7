"""Busy time of devices and queues: unions of intervals, not sums."""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import KINDS, Activity, Commands
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import (
    assign_rows,
    covered_ns,
    gaps,
    intersection,
    overlap,
    union,
)

TRANSFERS = ("write", "read", "copy", "map", "unmap", "migrate")
"""Kinds of commands that move data."""
_TRANSFER_KINDS = tuple(KINDS.index(kind) for kind in TRANSFERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyTime:
    """Busy time of a device or a queue, in ns.

    `number` is the device's or the queue's. `span_ns` is from its first start to its last end.
    `overlapped_ns` is the time with two commands or more. `transfer_ns` and `compute_ns` are the times in
    which a transfer or a kernel ran, `both_ns` the time in which both did. `max_concurrent` is the
    largest number of commands that ran at once.
    """

    number: int
    commands: int
    span_ns: int
    busy_ns: int
    overlapped_ns: int
    transfer_ns: int
    compute_ns: int
    both_ns: int
    longest_gap_ns: int
    max_concurrent: int

    @property
    def idle_ns(self) -> int:
        """The time between the first start and the last end in which nothing ran."""
        return self.span_ns - self.busy_ns


def device_busy_times(activity: Activity) -> list[BusyTime]:
    """Return the busy time of each device."""
    return _busy_times(activity, activity.commands.device)


def queue_busy_times(activity: Activity) -> list[BusyTime]:
    """Return the busy time of each queue."""
    return _busy_times(activity, activity.commands.queue)


def _busy_times(activity: Activity, numbers: Int64s) -> list[BusyTime]:
    placed = np.flatnonzero(activity.commands.is_placed & (numbers > 0))
    return [
        _busy_time(activity, members, number) for number, members in groups(numbers[placed], placed)
    ]


def _busy_time(activity: Activity, members: Int64s, number: int) -> BusyTime:
    commands = activity.commands
    start, end, kind = commands.start_ns[members], commands.end_ns[members], commands.kind[members]
    busy = union(start, end)
    is_transfer, is_kernel = np.isin(kind, _TRANSFER_KINDS), kind == KINDS.index("kernel")
    transfer, compute = (union(start[mask], end[mask]) for mask in (is_transfer, is_kernel))
    idle = gaps(busy)
    return BusyTime(
        number=number,
        commands=len(start),
        span_ns=int(end.max() - start.min()),
        busy_ns=busy.total_ns,
        overlapped_ns=overlap(start, end, 2).total_ns,
        transfer_ns=transfer.total_ns,
        compute_ns=compute.total_ns,
        both_ns=intersection(transfer, compute).total_ns,
        longest_gap_ns=int((idle.end_ns - idle.start_ns).max(initial=0)),
        max_concurrent=int(assign_rows(start, end).max()) + 1,
    )


def run_beside_others(commands: Commands) -> Bools:
    """Return a mask of the commands that run beside others on their device for half of their time."""
    mask = np.zeros(len(commands), np.bool_)
    placed = np.flatnonzero(commands.is_placed)
    for _, members in groups(commands.device[placed], placed):
        start, end = commands.start_ns[members], commands.end_ns[members]
        beside_ns = covered_ns(overlap(start, end, 2), start, end)
        mask[members] = 2 * beside_ns > end - start
    return mask
