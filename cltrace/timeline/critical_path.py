"""The critical path: the chain of work, from the program's end back to its start, that took the time.

It is followed backwards. A thread that waited went on because a command ended; a command started because
another had ended, because its device came free, or because a thread had enqueued it; a thread enqueued
it because it had got there, from its last wait on. Every moment belongs to exactly one step.
"""

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.dependencies import NONE, Dependencies
from cltrace.timeline.points import Int64s


class StepKind(StrEnum):
    """What a step of the path is."""

    HOST = "host"
    """A thread of the program did something else than wait."""
    DEVICE = "device"
    """A command ran."""
    LAUNCH = "launch"
    """A command could have run, and had not started yet."""
    RETURN = "return"
    """A command had ended, and the call that waited for it had not returned yet."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the path, in ns on the trace's axis.

    `command` is a position among the commands: what ran, was about to, or was waited for; `NONE` for a
    step of the host. `thread` is the thread of a step of the host, else `NONE`.
    """

    kind: StepKind
    begin_ns: int
    end_ns: int
    command: int
    thread: int

    @property
    def duration_ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.begin_ns


def critical_path(activity: Activity, needs: Dependencies) -> list[Step]:
    """The steps of the path, the first first. Empty when nothing was placed."""
    commands = activity.commands
    if not commands.is_placed.any():
        return []
    return _Walk(activity, needs).steps()


class _Walk:
    """One walk back from the end."""

    def __init__(self, activity: Activity, needs: Dependencies) -> None:
        self._commands = activity.commands
        self._needs = needs
        self._begin_ns = min(
            int(self._commands.enter_ns.min()), int(activity.calls.enter_ns.min(initial=2**62))
        )
        self._last_host = _last_return(activity)
        self._waits = _waits_by_thread(needs, self._commands.end_ns)
        self._ends = _ends_by_device(activity)
        self._found: list[Step] = []

    def steps(self) -> list[Step]:
        """The whole path."""
        end_ns, thread = self._last_host
        last = int(np.where(self._commands.is_placed, self._commands.end_ns, -(2**62)).argmax())
        command = last if int(self._commands.end_ns[last]) > end_ns else NONE
        time_ns = max(end_ns, int(self._commands.end_ns[last])) if command >= 0 else end_ns
        for _ in range(4 * len(self._commands) + 4):
            if command >= 0:
                time_ns, command, thread = self._from_command(command, time_ns)
            elif time_ns > self._begin_ns:
                time_ns, command = self._from_host(thread, time_ns)
            else:
                break
        return self._found[::-1]

    def _add(self, kind: StepKind, begin_ns: int, end_ns: int, command: int, thread: int) -> int:
        """Add a step, unless it is empty, and return where the path goes on."""
        begin_ns = max(begin_ns, self._begin_ns)
        if begin_ns >= end_ns:
            return end_ns
        self._found.append(Step(kind, begin_ns, end_ns, command, thread))
        return begin_ns

    def _from_host(self, thread: int, time_ns: int) -> tuple[int, int]:
        """Back along a thread to the wait that let it go on, and to the command that it waited for."""
        returns, waited_for, ends = self._waits.get(thread, ([], [], []))
        at = bisect_right(returns, time_ns) - 1
        if at < 0:
            return self._add(StepKind.HOST, self._begin_ns, time_ns, NONE, thread), NONE
        time_ns = self._add(StepKind.HOST, returns[at], time_ns, NONE, thread)
        return self._add(StepKind.RETURN, ends[at], time_ns, waited_for[at], NONE), waited_for[at]

    def _from_command(self, command: int, time_ns: int) -> tuple[int, int, int]:
        """Back over a command to what let it start."""
        commands = self._commands
        start_ns = int(commands.start_ns[command])
        time_ns = self._add(StepKind.DEVICE, start_ns, time_ns, command, NONE)
        release_ns = int(self._needs.release_ns[command])
        before = int(self._needs.last_before[command])
        other, other_end_ns = self._freed_by(command, release_ns, start_ns)
        if other >= 0:
            before, release_ns = other, other_end_ns
        if before >= 0 and commands.start_ns[before] < start_ns:
            return self._add(StepKind.LAUNCH, release_ns, time_ns, command, NONE), before, NONE
        enter_ns = int(commands.enter_ns[command])
        thread = int(commands.thread[command])
        return self._add(StepKind.LAUNCH, enter_ns, time_ns, command, NONE), NONE, thread

    def _freed_by(self, command: int, release_ns: int, start_ns: int) -> tuple[int, int]:
        """The command, of any queue, that had kept the device busy until this one could start."""
        ends, who = self._ends.get(int(self._commands.device[command]), ([], []))
        at = bisect_right(ends, start_ns) - 1
        if at < 0 or ends[at] <= release_ns or who[at] == command:
            return NONE, 0
        return who[at], ends[at]


def _last_return(activity: Activity) -> tuple[int, int]:
    """When the last call returned, and in which thread."""
    times = np.concatenate([activity.commands.return_ns, activity.calls.return_ns])
    threads = np.concatenate([activity.commands.thread, activity.calls.thread])
    last = int(times.argmax())
    return int(times[last]), int(threads[last])


def _waits_by_thread(
    needs: Dependencies, end_ns: Int64s
) -> dict[int, tuple[list[int], list[int], list[int]]]:
    """For each thread the returns of the calls that really waited, for what, and when that ended."""
    waits = needs.waits
    ends = end_ns[waits.command]
    really = ends > waits.enter_ns
    found = {}
    for thread in np.unique(waits.thread[really]).tolist():
        here = really & (waits.thread == thread)
        found[thread] = (
            waits.return_ns[here].tolist(),
            waits.command[here].tolist(),
            np.minimum(ends, waits.return_ns)[here].tolist(),
        )
    return found


def _ends_by_device(activity: Activity) -> dict[int, tuple[list[int], list[int]]]:
    """For each device when its commands ended, in order, and which they were."""
    commands = activity.commands
    found = {}
    for device in np.unique(commands.device[commands.is_placed]).tolist():
        members = np.flatnonzero(commands.is_placed & (commands.device == device))
        members = members[np.argsort(commands.end_ns[members], kind="stable")]
        found[device] = (commands.end_ns[members].tolist(), members.tolist())
    return found
