"""Times for which none, one or several of a trace's devices worked at once."""

from collections.abc import Mapping

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import overlap, union


def concurrency_ns(activity: Activity, physical: Mapping[int, int]) -> list[int]:
    """Return for how long exactly 0, 1, 2, … devices worked, from the first start to the last end.

    `physical` maps devices to the first one that is the same board: several processes may use a board.
    Empty without placed commands.
    """
    commands = activity.commands
    placed = np.flatnonzero(commands.is_placed & (commands.device > 0))
    if not len(placed):
        return []
    devices = commands.device[placed]
    boards = np.array([physical.get(device, device) for device in devices.tolist()], np.int64)
    unions = [
        union(commands.start_ns[members], commands.end_ns[members])
        for _, members in groups(boards, placed)
    ]
    start = np.concatenate([busy.start_ns for busy in unions])
    end = np.concatenate([busy.end_ns for busy in unions])
    at_least = [int(end.max() - start.min())]
    at_least += [overlap(start, end, depth).total_ns for depth in range(1, len(unions) + 1)]
    return [more - fewer for more, fewer in zip(at_least, [*at_least[1:], 0], strict=True)]
