"""Commands that each waiting call waits for, whether or not they had ended before."""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups


def awaited_by_calls(activity: Activity) -> Int64s:
    """Return pairs of a call and a placed command that it waits for. Shape (m, 2).

    `clWaitForEvents` waits for the commands that it names. `clFinish` waits for the last command of an
    in-order queue, even if an earlier call has waited for it: without that call it would have to. Of
    another queue it waits for all commands since the last `clFinish`.
    """
    commands, calls = activity.commands, activity.calls
    named = activity.waits
    is_named = calls.is_api(Api.clWaitForEvents)[named[:, 0]] & commands.is_placed[named[:, 1]]
    parts = [named[is_named & (calls.status[named[:, 0]] == 0)]]
    finishes = np.flatnonzero(calls.is_api(Api.clFinish) & (calls.status == 0))
    placed = np.flatnonzero(commands.is_placed)
    of_queue = dict(groups(commands.queue[placed], placed))
    for queue, queue_calls in groups(calls.queue[finishes], finishes):
        members = of_queue.get(queue, np.empty(0, np.int64))
        # Calls of several threads are not in the order of their times.
        members = members[np.argsort(commands.enter_ns[members], kind="stable")]
        queue_calls = queue_calls[np.argsort(calls.enter_ns[queue_calls], kind="stable")]
        until = np.searchsorted(commands.enter_ns[members], calls.enter_ns[queue_calls])
        if queue in activity.in_order:
            has_command = until > 0
            parts.append(
                np.stack([queue_calls[has_command], members[until[has_command] - 1]], axis=1)
            )
        else:
            counts = np.diff(until, prepend=0)
            parts.append(
                np.stack([np.repeat(queue_calls, counts), members[: counts.sum()]], axis=1)
            )
    return np.concatenate(parts)
