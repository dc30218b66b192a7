"""Causes of idle devices: nothing was enqueued yet, or an enqueued command could not start.

A gap between two commands ends with the start of a command. Until the call that enqueued it was entered,
the device was idle because the program did something else. During the call it was idle because of the
call. After the call it was idle because of the driver, or because the command depended on another one.
"""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.intervals import gaps, union


@dataclass(frozen=True, slots=True)
class Starvation:
    """Idle time of one device between its first and its last command, in ns, by cause.

    `program_ns`: no command was enqueued. `call_ns`: the call that enqueues was under way. The device is
    launch-bound in both. `latency_ns`: the command was queued and did not start. `gaps` is the number of
    gaps.
    """

    device: int
    gaps: int
    program_ns: int
    call_ns: int
    latency_ns: int

    @property
    def launch_bound_ns(self) -> int:
        """The time in which the device waited for the host."""
        return self.program_ns + self.call_ns


def measure_starvation(activity: Activity) -> list[Starvation]:
    """Return the idle time of each device by cause."""
    commands = activity.commands
    placed = commands.is_placed & (commands.device > 0)
    starvations = []
    for device in np.unique(commands.device[placed]).tolist():
        members = np.flatnonzero(placed & (commands.device == device))
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        start = commands.start_ns[members]
        idle = gaps(union(start, commands.end_ns[members]))
        following = members[np.searchsorted(start, idle.end_ns, side="left")]
        entered = np.clip(commands.enter_ns[following], idle.start_ns, idle.end_ns)
        queued = np.clip(commands.queued_ns[following], entered, idle.end_ns)
        starvations.append(
            Starvation(
                device=device,
                gaps=len(following),
                program_ns=int((entered - idle.start_ns).sum()),
                call_ns=int((queued - entered).sum()),
                latency_ns=int((idle.end_ns - queued).sum()),
            )
        )
    return starvations
