"""How busy devices and queues were: unions of intervals, not sums."""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import KINDS, Activity
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import at_least, common, gaps, lanes, union

TRANSFERS = ("write", "read", "copy", "map", "unmap", "migrate")
"""What moves data."""
_TRANSFER_KINDS = tuple(KINDS.index(kind) for kind in TRANSFERS)


@dataclass(frozen=True, slots=True)
class Busy:
    """How busy a device or a queue was, in ns.

    `span_ns` is from its first start to its last end. `overlapped_ns` is the time with two commands or
    more. `transfer_ns` and `compute_ns` are the times in which a transfer, a kernel ran; `both_ns` in
    which both did. `lanes` is how many commands ran at once at most.
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
    lanes: int

    @property
    def idle_ns(self) -> int:
        """The time between its first start and its last end in which nothing ran."""
        return self.span_ns - self.busy_ns


def busy_devices(activity: Activity) -> list[Busy]:
    """How busy each device was."""
    return _each(activity, activity.commands.device)


def busy_queues(activity: Activity) -> list[Busy]:
    """How busy each queue was."""
    return _each(activity, activity.commands.queue)


def _each(activity: Activity, numbers: Int64s) -> list[Busy]:
    placed = np.flatnonzero(activity.commands.is_placed & (numbers > 0))
    return [_busy(activity, members, one) for one, members in groups(numbers[placed], placed)]


def _busy(activity: Activity, members: Int64s, number: int) -> Busy:
    commands = activity.commands
    start, end, kind = commands.start_ns[members], commands.end_ns[members], commands.kind[members]
    busy = union(start, end)
    is_transfer, is_kernel = np.isin(kind, _TRANSFER_KINDS), kind == KINDS.index("kernel")
    transfer, compute = (union(start[which], end[which]) for which in (is_transfer, is_kernel))
    between = gaps(busy)
    return Busy(
        number=number,
        commands=len(start),
        span_ns=int(end.max() - start.min()),
        busy_ns=busy.total_ns,
        overlapped_ns=at_least(start, end, 2).total_ns,
        transfer_ns=transfer.total_ns,
        compute_ns=compute.total_ns,
        both_ns=common(transfer, compute).total_ns,
        longest_gap_ns=int((between.end_ns - between.start_ns).max(initial=0)),
        lanes=int(lanes(start, end).max()) + 1,
    )
