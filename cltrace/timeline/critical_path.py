"""Critical path: the chain of work that determined the program's time, from its end back to its start.

The chain is followed backwards. A thread that waited went on because a command ended. A command started
because another command had ended, because its device became free, or because a thread had enqueued it.
A thread enqueued a command because it had arrived there since its last wait. Every moment belongs to
exactly one step.
"""

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.blocked_enqueues import BlockedEnqueues, find_blocked_enqueues
from cltrace.timeline.dependencies import NONE, Dependencies
from cltrace.timeline.grouping import groups

_MIN_SILENCE_NS: Final = 1_000_000
"""A thread that makes no call for this long may have been waiting for another thread."""


class StepKind(StrEnum):
    """Kind of a step of the critical path."""

    HOST = "host"
    """A thread of the program did something else than wait."""
    DEVICE = "device"
    """A command ran."""
    LAUNCH = "launch"
    """A command could have run and had not started yet."""
    RETURN = "return"
    """A command had ended, and the call that waited for it had not returned yet."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of the critical path, in ns on the trace's axis.

    `command` is the position of the command that ran, was about to run, or was waited for; `NONE` for a
    step of the host. `thread` is the thread of a step of the host, else `NONE`.
    """

    kind: StepKind
    begin_ns: int
    end_ns: int
    command: int
    thread: int

    @property
    def duration_ns(self) -> int:
        """The duration of the step."""
        return self.end_ns - self.begin_ns


def find_critical_path(activity: Activity, dependencies: Dependencies) -> list[PathStep]:
    """Return the steps of the critical path, the first first. Empty when no command is placed."""
    commands = activity.commands
    if not commands.is_placed.any():
        return []
    return _BackwardWalk(activity, dependencies).run()


class _BackwardWalk:
    """One walk from the end of the program back to its start."""

    def __init__(self, activity: Activity, dependencies: Dependencies) -> None:
        self._commands = activity.commands
        self._dependencies = dependencies
        self._threads = _threads(activity)
        blocked = find_blocked_enqueues(activity, dependencies)
        self._blocked = frozenset(blocked.command.tolist())
        self._waits = _waits_by_thread(activity, dependencies, blocked)
        self._steps: list[PathStep] = []
        self._begin_ns = 0

    def run(self) -> list[PathStep]:
        """Return the whole path."""
        time_ns, thread = max(
            (calls.returns[-1], number) for number, calls in self._threads.items()
        )
        ends = np.where(self._commands.is_placed, self._commands.end_ns, -(2**62))
        command = NONE
        if int(ends.max()) > time_ns:
            command = int(ends.argmax())
            time_ns, thread = int(ends[command]), int(self._commands.thread[command])
        process = self._threads[thread].process
        self._begin_ns = min(
            calls.begin_ns for calls in self._threads.values() if calls.process == process
        )
        for _ in range(4 * len(self._commands) + 4 * len(self._threads) + 4):
            if command >= 0:
                time_ns, command, thread = self._from_command(command, time_ns)
            elif time_ns > self._begin_ns:
                time_ns, command, thread = self._from_host(thread, time_ns)
            else:
                break
        return self._steps[::-1]

    def _add(self, kind: StepKind, begin_ns: int, end_ns: int, command: int, thread: int) -> int:
        """Add a step, unless it is empty, and return the time from which the path goes on."""
        begin_ns = max(begin_ns, self._begin_ns)
        if begin_ns >= end_ns:
            return end_ns
        self._steps.append(PathStep(kind, begin_ns, end_ns, command, thread))
        return begin_ns

    def _from_host(self, thread: int, time_ns: int) -> tuple[int, int, int]:
        """Step back along a thread to its last wait, and return time, awaited command and thread there.

        A thread that was silent while another thread made a call went on because of that call.
        """
        returns, waited_for, ends = self._waits.get(thread, ([], [], []))
        at = bisect_right(returns, time_ns) - 1
        waited_ns = returns[at] if at >= 0 else self._begin_ns
        silent = self._threads[thread].last_silence(waited_ns, time_ns)
        if silent is not None:
            other, other_ns = self._last_other(thread, *silent)
            if other != NONE:
                return self._add(StepKind.HOST, other_ns, time_ns, NONE, thread), NONE, other
        time_ns = self._add(StepKind.HOST, waited_ns, time_ns, NONE, thread)
        if at < 0:
            return time_ns, NONE, thread
        time_ns = self._add(StepKind.RETURN, ends[at], time_ns, waited_for[at], NONE)
        return time_ns, waited_for[at], thread

    def _last_other(self, thread: int, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the other thread of the process whose call returned last between two times, and when."""
        process = self._threads[thread].process
        best = (begin_ns, NONE)
        for number, calls in self._threads.items():
            if number != thread and calls.process == process:
                at = bisect_right(calls.returns, end_ns) - 1
                if at >= 0:
                    best = max(best, (calls.returns[at], number))
        return best[1], best[0]

    def _from_command(self, command: int, time_ns: int) -> tuple[int, int, int]:
        """PathStep back over a command, and return time, command and thread that let it start."""
        commands = self._commands
        start_ns = int(commands.start_ns[command])
        time_ns = self._add(StepKind.DEVICE, start_ns, time_ns, command, NONE)
        before = int(self._dependencies.last_predecessor[command])
        thread = int(commands.thread[command])
        if before >= 0 and commands.start_ns[before] < start_ns:
            release_ns = int(self._dependencies.release_ns[command])
            return self._add(StepKind.LAUNCH, release_ns, time_ns, command, NONE), before, thread
        is_blocked = command in self._blocked
        from_ns = int((commands.queued_ns if is_blocked else commands.enter_ns)[command])
        return self._add(StepKind.LAUNCH, from_ns, time_ns, command, NONE), NONE, thread


@dataclass(frozen=True, slots=True)
class _ThreadCalls:
    """Entries and returns of a thread's calls, in the order of the returns."""

    process: int
    begin_ns: int
    enters: list[int]
    returns: list[int]

    def last_silence(self, begin_ns: int, end_ns: int) -> tuple[int, int] | None:
        """Return the last long stretch between two times without a call; `None` if there is none."""
        at = bisect_right(self.returns, end_ns) - 1
        later_ns = end_ns
        while later_ns > begin_ns:
            earlier_ns = max(self.returns[at] if at >= 0 else begin_ns, begin_ns)
            if later_ns - earlier_ns >= _MIN_SILENCE_NS:
                return earlier_ns, later_ns
            if at < 0 or earlier_ns == begin_ns:
                return None
            later_ns, at = self.enters[at], at - 1
        return None


def _threads(activity: Activity) -> dict[int, _ThreadCalls]:
    """Return the calls of each thread."""
    commands, calls = activity.commands, activity.calls
    enters = np.concatenate([commands.enter_ns, calls.enter_ns])
    returns = np.concatenate([commands.return_ns, calls.return_ns])
    processes = np.concatenate([commands.process, calls.process])
    threads = {}
    for thread, members in groups(np.concatenate([commands.thread, calls.thread])):
        members = members[np.argsort(returns[members], kind="stable")]
        threads[thread] = _ThreadCalls(
            int(processes[members[0]]),
            int(enters[members].min()),
            enters[members].tolist(),
            returns[members].tolist(),
        )
    return threads


def _waits_by_thread(
    activity: Activity, dependencies: Dependencies, blocked: BlockedEnqueues
) -> dict[int, tuple[list[int], list[int], list[int]]]:
    """Return the calls of each thread that had to wait: their returns, the commands, and those' ends.

    A call that waited before it queued its command went on when the awaited command had ended.
    """
    waits, commands = dependencies.waits, activity.commands
    waited = np.flatnonzero(commands.end_ns[waits.command] > waits.enter_ns)
    thread = np.concatenate([waits.thread[waited], commands.thread[blocked.command]])
    command = np.concatenate([waits.command[waited], blocked.awaited])
    ends = commands.end_ns[command]
    returns = np.concatenate([waits.return_ns[waited], commands.end_ns[blocked.awaited]])
    order = np.argsort(returns, kind="stable")
    return {
        number: (
            returns[members].tolist(),
            command[members].tolist(),
            np.minimum(ends, returns)[members].tolist(),
        )
        for number, members in groups(thread[order], order)
    }
