"""What a change concerns, without a replay: an upper bound of its gain, and the part of the run."""

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


def changed_span_ns(graph: RunGraph, change: Change) -> int:
    """Return the time of the part of a run that a change concerns; 0 if it concerns nothing.

    The part goes from the work before the first call that changes, or made a command that does, to the
    last return of such a call or end of such a command.
    """
    events, commands = graph.events, graph.activity.commands
    concerned = np.unique(
        np.concatenate(
            [
                change.scaled,
                change.removed,
                change.merged,
                change.prompt,
                change.direct,
                change.quick,
                change.unblocked,
                change.unawaited,
                change.saved_commands,
                change.overlapped,
                change.freed,
                change.followed.ravel(),
            ]
        )
    )
    calls = np.concatenate([change.removed_calls, change.saved_calls, change.shortened_calls])
    event = np.concatenate([events.event_of_command[concerned], events.event_of_call[calls]])
    if not len(event):
        return 0
    begin_ns = (events.enter_ns - events.gap_ns)[event].min()
    ends_ns = commands.end_ns[concerned][commands.is_placed[concerned]]
    return int(max(events.return_ns[event].max(), ends_ns.max(initial=begin_ns)) - begin_ns)
