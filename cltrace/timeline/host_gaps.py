"""Times in which devices were idle because a thread was outside of OpenCL, and the calls around them."""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import Intervals, gaps, union
from cltrace.timeline.replay import HostEvents


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGaps:
    """Work of threads between two calls while no device of their process worked. Shape (n,) each.

    `event` is the event of the host that each one precedes, in the order of threads and times. `work_ns`
    is the time between the calls, `idle_ns` the part of it in which the devices were idle. `before_site`
    and `after_site` are the sites of the two calls, 0 where none is recorded.
    """

    event: Int64s
    work_ns: Int64s
    idle_ns: Int64s
    before_site: Int64s
    after_site: Int64s

    def __len__(self) -> int:
        return len(self.event)


def find_host_gaps(activity: Activity, events: HostEvents) -> HostGaps:
    """Return the gaps in which the thread that enqueued the next command was outside of OpenCL.

    A gap between two commands of a process belongs to the thread that enqueued the command which ended
    it, until the call was entered. Before its first and after its last command a process has none.
    """
    idle_ns = np.zeros(len(events), np.int64)
    idle = _idle_by_thread(activity)
    for thread, members in groups(events.thread):
        if thread in idle:
            enter_ns = events.enter_ns[members]
            begin_ns = enter_ns - events.gap_ns[members]
            idle_ns[members] = idle[thread].until(enter_ns) - idle[thread].until(begin_ns)
    chosen = np.flatnonzero(idle_ns > 0)
    sites = _sites(activity, events)
    return HostGaps(
        event=chosen,
        work_ns=events.gap_ns[chosen],
        idle_ns=idle_ns[chosen],
        before_site=sites[chosen - 1],
        after_site=sites[chosen],
    )


def _idle_by_thread(activity: Activity) -> dict[int, Intervals]:
    """Return the times in which devices waited for a thread to enter a call that enqueues."""
    commands = activity.commands
    placed = np.flatnonzero(commands.is_placed & (commands.device > 0))
    waiting: dict[int, list[Intervals]] = {}
    for _, members in groups(commands.process[placed], placed):
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        start_ns = commands.start_ns[members]
        idle = gaps(union(start_ns, commands.end_ns[members]))
        following = members[np.searchsorted(start_ns, idle.end_ns)]
        until_ns = np.clip(commands.enter_ns[following], idle.start_ns, idle.end_ns)
        for thread, own in groups(commands.thread[following]):
            waiting.setdefault(thread, []).append(Intervals(idle.start_ns[own], until_ns[own]))
    return {
        thread: union(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        for thread, parts in waiting.items()
    }


def _sites(activity: Activity, events: HostEvents) -> Int64s:
    """Return the site of each event. A wait of the driver has that of the command which it delays."""
    sites = np.zeros(len(events), np.int64)
    for column, numbers in (
        (events.command, activity.commands.site),
        (events.call, activity.calls.site),
        (events.dropped, activity.commands.site),
    ):
        is_there = column >= 0
        sites[is_there] = numbers[column[is_there]]
    is_driver = (events.command < 0) & (events.call < 0) & (events.dropped < 0)
    return np.where(is_driver, np.append(sites[1:], 0)[: len(sites)], sites)
