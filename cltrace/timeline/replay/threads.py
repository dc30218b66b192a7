"""Threads that continue because of another thread: those that it starts, and those that wait for it."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.hosts import ChildStart
from cltrace.timeline.replay.host import HostEvents

_MIN_SILENCE_NS: Final = 1_000_000
"""A thread that makes no call for this long may have waited for another thread."""


def find_handovers(events: HostEvents, children: Sequence[ChildStart]) -> Int64s:
    """Return pairs of an event and the event of another thread that it follows. Shape (m, 2).

    The first event of a thread follows the last event of its process before it. An event after a silence
    follows the last event that another thread made in that time. The first event of a child process
    follows the last event of its parent before the child's start.
    """
    pairs: list[Int64s] = [np.empty((0, 2), np.int64)]
    is_first = np.diff(events.thread, prepend=-1) != 0
    for _, members in groups(events.process):
        if len(np.unique(events.thread[members])) > 1:
            pairs.append(_handovers_of_process(events, members, is_first))
    return np.concatenate([*pairs, _starts_of_children(events, children)])


def _starts_of_children(events: HostEvents, children: Sequence[ChildStart]) -> Int64s:
    """Return pairs of the first event of each child process and the event of its parent before it."""
    of_process = dict(groups(events.process))
    rows = []
    for child in children:
        own, before = (
            of_process.get(process, np.empty(0, np.int64))
            for process in (child.process, child.parent)
        )
        if not len(own):
            continue
        first = int(own[np.argmin(events.enter_ns[own])])
        before = before[events.return_ns[before] <= min(child.started_ns, events.enter_ns[first])]
        if len(before):
            rows.append((first, int(before[np.argmax(events.return_ns[before])])))
    return np.array(rows, np.int64).reshape(-1, 2)


def _handovers_of_process(events: HostEvents, members: Int64s, is_first: Bools) -> Int64s:
    by_return = members[np.argsort(events.return_ns[members], kind="stable")]
    returns = events.return_ns[by_return]
    # A wait for a command explains a silence; what follows it does not need another reason.
    late = members[is_first[members] | (events.gap_ns[members] >= _MIN_SILENCE_NS)]
    rows = []
    for event in late.tolist():
        begin = -(2**62) if is_first[event] else int(events.enter_ns[event] - events.gap_ns[event])
        at = int(np.searchsorted(returns, events.enter_ns[event], side="right")) - 1
        while at >= 0 and returns[at] > begin:
            other = int(by_return[at])
            if events.thread[other] != events.thread[event]:
                rows.append((event, other))
                break
            at -= 1
    return np.array(rows, np.int64).reshape(-1, 2)
