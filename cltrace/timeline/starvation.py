"""Why devices were idle: the program had not asked yet, or what it had asked for could not start.

A gap between two commands ends with the start of a command. Until the call that enqueued it was
entered, the device was idle because the program did something else; then because of the call itself;
then because of the driver, or because the command depended on something that was not done.
"""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.intervals import gaps, union


@dataclass(frozen=True, slots=True)
class Starvation:
    """The idle time of one device between its first command and its last, in ns, by why.

    `program_ns`: nothing had been asked for. `call_ns`: the call that asks was under way. The device is
    launch-bound in both. `latency_ns`: the command was queued and did not start. `gaps` is how many there
    were.
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


def starvation(activity: Activity) -> list[Starvation]:
    """Why each device was idle."""
    commands = activity.commands
    placed = commands.is_placed & (commands.device > 0)
    found = []
    for device in np.unique(commands.device[placed]).tolist():
        members = np.flatnonzero(placed & (commands.device == device))
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        start = commands.start_ns[members]
        between = gaps(union(start, commands.end_ns[members]))
        following = members[np.searchsorted(start, between.end_ns, side="left")]
        called = np.clip(commands.enter_ns[following], between.start_ns, between.end_ns)
        asked = np.clip(commands.queued_ns[following], called, between.end_ns)
        found.append(
            Starvation(
                device=device,
                gaps=len(following),
                program_ns=int((called - between.start_ns).sum()),
                call_ns=int((asked - called).sum()),
                latency_ns=int((between.end_ns - asked).sum()),
            )
        )
    return found
