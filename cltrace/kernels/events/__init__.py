"""Events inside a launch: the branches, memory accesses and barriers of every work-item.

    launch = KernelLaunch(program, "reduce", (1024,), (64,), arguments)
    events = record_events(launch)
    write_events(events, Path("reduce.events"))

`record_events` executes whole work-groups. The analyses of this package read `LaunchEvents` and do not
depend on what recorded them.
"""

from cltrace.kernels.events.capture import EventLimits, record_events
from cltrace.kernels.events.files import read_events, write_events
from cltrace.kernels.events.recording_request import EventSelection, KernelLaunch
from cltrace.kernels.events.records import LaunchEvents

__all__ = [
    "EventLimits",
    "EventSelection",
    "KernelLaunch",
    "LaunchEvents",
    "read_events",
    "record_events",
    "write_events",
]
