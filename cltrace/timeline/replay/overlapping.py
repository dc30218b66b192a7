"""Order of commands in an in-order queue whose transfers and kernels run beside each other."""

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups


def overlapped_pairs(activity: Activity, chosen: Int64s) -> Int64s:
    """Return pairs of a command and one that it follows, among the chosen ones. Shape (m, 2).

    Transfers follow each other, and so do other commands, as in a queue each. A kernel waits for the last
    write before it, and a read for the last kernel before it. With two buffers in turn, a write waits for
    the kernels before the write that precedes it, and a kernel for the read before the last one.
    """
    commands = activity.commands
    is_write, is_read = commands.is_kind("write"), commands.is_kind("read")
    pairs = [np.empty((0, 2), np.int64)]
    for _, members in groups(commands.queue[chosen], np.sort(chosen)):
        write, read = is_write[members], is_read[members]
        kernel = ~(write | read)
        pairs += [
            *(np.stack([members[own][1:], members[own][:-1]], axis=1) for own in (kernel, ~kernel)),
            _following(members, kernel, write, 0),
            _following(members, read, kernel, 0),
            _following(members, kernel, read, 1),
            _before_last(members, write, kernel),
        ]
    return np.concatenate(pairs)


def _following(members: Int64s, later: Bools, earlier: Bools, skipped: int) -> Int64s:
    """Return each later command with the last earlier one before it, or one `skipped` before that."""
    count = np.cumsum(earlier)
    at = count[later] - 1 - skipped
    has_one = at >= 0
    return np.stack([members[later][has_one], members[earlier][at[has_one]]], axis=1)


def _before_last(members: Int64s, write: Bools, kernel: Bools) -> Int64s:
    """Return each write with the last kernel before the write that precedes it."""
    places = np.flatnonzero(write)
    at = np.cumsum(kernel)[places[:-1]] - 1
    has_one = at >= 0
    return np.stack([members[places[1:]][has_one], members[kernel][at[has_one]]], axis=1)
