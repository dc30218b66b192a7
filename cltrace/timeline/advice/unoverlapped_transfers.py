"""Rule about transfers and kernels that take turns on a device that could do both at once."""

from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Proposal,
    Remedy,
    metric_ns,
)
from cltrace.timeline.busy import BusyTime, device_busy_times
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay import Change

_MIN_SHARE: Final = 0.1
_MAX_OVERLAP_SHARE: Final = 0.1
_MIN_BUSY_SHARE: Final = 0.5


def unoverlapped_transfers(evidence: Evidence) -> list[Proposal]:
    """Find transfers that alternate with kernels although they could run at the same time."""
    commands = evidence.activity.commands
    proposals = []
    for busy in device_busy_times(evidence.activity):
        device = evidence.devices.get(busy.number)
        if device is None or device.kind == "CPU" or busy.busy_ns < _MIN_BUSY_SHARE * busy.span_ns:
            continue  # copies of a CPU use the cores that kernels use; an idle device has time
        of_device = commands.is_placed & (commands.device == busy.number)
        transfers = np.flatnonzero(of_device & commands.is_kind("read", "write"))
        if not _alternates(busy) or len(transfers) < MIN_OCCURRENCES:
            continue
        durations = commands.duration_ns
        places = list(evidence.by_place(commands.site[transfers], transfers))
        place = max(places, key=lambda each: int(durations[each[1]].sum()))[0]
        proposals.append(
            Proposal(
                rule="unoverlapped-transfers",
                title="Transfers and kernels take turns",
                place=place,
                times=len(transfers),
                metrics=(
                    metric_ns("transfers", busy.transfer_ns),
                    metric_ns("kernels", busy.compute_ns),
                    metric_ns("both at once", busy.both_ns),
                ),
                remedy=Remedy(
                    "Use a second queue for transfers, two buffers in turn, and wait_for= between them.",
                    "cl.enqueue_copy(queue, x, a); kernel(queue, size, None, x)",
                    "copied = cl.enqueue_copy(copies, x[i % 2], a, is_blocking=False)",
                ),
                change=_overlapped(evidence, np.flatnonzero(of_device)),
                least=Change(),
            )
        )
    return proposals


def _alternates(busy: BusyTime) -> bool:
    """Return whether transfers and kernels both take much time, and little of it at once."""
    min_ns = _MIN_SHARE * busy.busy_ns
    return (
        busy.transfer_ns >= min_ns
        and busy.compute_ns >= min_ns
        and busy.both_ns <= _MAX_OVERLAP_SHARE * busy.transfer_ns
    )


def _overlapped(evidence: Evidence, of_device: Int64s) -> Change:
    """Return the change that overlaps the commands of the device's in-order queues.

    Writes do not block then. Reads still do: the host may need their results.
    """
    activity = evidence.activity
    commands = activity.commands
    chosen = [
        members
        for queue, members in groups(commands.queue[of_device], of_device)
        if queue in activity.in_order
    ]
    overlapped = np.concatenate([np.empty(0, np.int64), *chosen])
    writes = overlapped[commands.is_kind("write")[overlapped]]
    return Change(overlapped=overlapped, unblocked=writes, unawaited=writes)
