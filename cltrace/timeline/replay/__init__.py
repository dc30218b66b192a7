"""Replay of a recorded run with changes: the time that the program would have taken.

A run is a graph of events in time. `build_run_graph` makes it from an activity and its dependencies,
`Replay.run` computes every time in it anew, with a `Change` applied, and `Replayed.end_ns` is the end
of the program. Without a change the recorded times result, to the nanosecond.

**Nodes.** A node is the end of a command, or the return of a host call that waited. Times between two
waits of a thread are the thread's own: work of the program, and calls that do not wait. They stay as long
as they were, unless a change removes them.

**Dependencies.** A command starts after the call that enqueued it was entered, after the command before
it in an in-order queue (or the barrier before it in another one), after the commands of its wait list,
and after the command that kept its device busy. The one that ended last in the recording was followed
by the start after some time: the launch latency, which includes a compilation at the first launch. The
others get the usual latency of the device, or the recorded time where that was shorter. A wait returns
after its call was entered and after each awaited command has ended.

**Left out.** Durations of commands do not depend on what else runs. A thread that was silent for a
millisecond while another one made calls is taken to have waited for that one, as in the critical path.
A process is taken to have been started after the last call of its parent before; whether a parent waited
for it is not known.
"""

from cltrace.timeline.replay.changes import NO_CHANGE, Change, MovedWaits, combine
from cltrace.timeline.replay.graph import RunGraph, build_run_graph
from cltrace.timeline.replay.host import HostEvents, find_host_events
from cltrace.timeline.replay.replaying import Replay, Replayed

__all__ = [
    "NO_CHANGE",
    "Change",
    "HostEvents",
    "MovedWaits",
    "Replay",
    "Replayed",
    "RunGraph",
    "build_run_graph",
    "combine",
    "find_host_events",
]
