"""Upper bound of the gain of a change, without a replay."""

import numpy as np

from cltrace.timeline.replay.changes import NO_CHANGE, Change
from cltrace.timeline.replay.edges import changed_commands
from cltrace.timeline.replay.graph import RunGraph
from cltrace.timeline.replay.host_time import changed_host_time


def upper_bound_ns(graph: RunGraph, change: Change) -> int:
    """Return the sum of all times that a change shortens: it saves no more than that.

    A moved or removed wait counts with the whole time of its call, overlapped and freed commands
    with their durations.
    """
    before, after = changed_host_time(graph, NO_CHANGE), changed_host_time(graph, change)
    events = graph.events
    took = events.return_ns - events.enter_ns
    freed = np.where(before.is_waiting & ~after.is_waiting, took, before.own_ns - after.own_ns)
    host = int(freed.sum() + (before.gap_ns - after.gap_ns).sum())
    times = zip(changed_commands(graph, NO_CHANGE), changed_commands(graph, change), strict=True)
    device = sum(int(np.maximum(old - new, 0).sum()) for old, new in times)
    commands = graph.activity.commands
    beside = np.concatenate([change.overlapped, change.freed])
    return host + device + int((commands.end_ns[beside] - commands.start_ns[beside]).sum())
