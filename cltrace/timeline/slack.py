"""Slack of commands: the delay of each one's end that would not make the program longer.

Delays are followed from the end backwards. A delay that reaches a command which had to wait for something
else anyway is absorbed up to that wait; so is a delay that reaches a host call which would have waited
for another command. Times between a release and a start are taken as constant.
"""

from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Int64s
from cltrace.timeline.dependencies import Dependencies
from cltrace.timeline.grouping import groups

UNLIMITED_NS: Final = 2**62


def compute_slack_ns(activity: Activity, dependencies: Dependencies) -> Int64s:
    """Return the slack of each command; `UNLIMITED_NS` for one that is not placed."""
    return _SlackPass(activity, dependencies).run()


class _SlackPass:
    """One pass over the commands and waits from the end of the program to its start."""

    def __init__(self, activity: Activity, dependencies: Dependencies) -> None:
        commands, waits = activity.commands, dependencies.waits
        self._dependencies = dependencies
        self._end = commands.end_ns.tolist()
        self._queued_ns = commands.queued_ns
        self._queued = commands.queued_ns.tolist()
        self._thread = commands.thread.tolist()
        self._release = dependencies.release_ns.tolist()
        self._predecessors = _predecessors(dependencies)
        self._placed = np.flatnonzero(commands.is_placed)
        self._start = commands.start_ns
        self._wait_command = waits.command.tolist()
        self._wait_thread = waits.thread.tolist()
        self._wait_enter = waits.enter_ns.tolist()
        self._awaited: dict[int, list[int]] = {}
        for wait, command in waits.awaited_pairs.tolist():
            self._awaited.setdefault(wait, []).append(command)
        end_ns = _end_ns(activity)
        # A command that ends later than the program makes it longer, whatever waits for the command.
        last = np.where(commands.is_placed, end_ns - commands.end_ns, UNLIMITED_NS)
        self._of_command: list[int] = last.tolist()
        self._of_thread = _slack_at_end(activity, end_ns)

    def run(self) -> Int64s:
        """Return the slack of each command."""
        waits, placed = self._dependencies.waits, self._placed
        times = (self._start[placed], self._queued_ns[placed], waits.return_ns)
        items = (placed, placed, np.arange(len(waits)))
        steps = (self._pass_command, self._pass_enqueueing, self._pass_wait)
        kind = np.repeat(np.arange(len(steps)), [len(column) for column in times])
        # A delay reaches later items only, so these are done first.
        order = np.lexsort((kind, -np.concatenate(times)))
        for number, item in zip(
            kind[order].tolist(), np.concatenate(items)[order].tolist(), strict=True
        ):
            steps[number](item)
        return np.array(self._of_command, np.int64)

    def _pass_command(self, command: int) -> None:
        """Pass the slack of a command to all that it waited for."""
        slack, release = self._of_command[command], self._release[command]
        for predecessor in self._predecessors.get(command, ()):
            self._lower(predecessor, slack + release - self._end[predecessor])

    def _pass_enqueueing(self, command: int) -> None:
        """Pass the slack of a command to the thread that enqueued it."""
        slack, release = self._of_command[command], self._release[command]
        thread = self._thread[command]
        room = slack + max(release - self._queued[command], 0)
        self._of_thread[thread] = min(self._of_thread.get(thread, UNLIMITED_NS), room)

    def _pass_wait(self, wait: int) -> None:
        """Pass a thread's slack after a wait to the awaited commands and to the time before the wait."""
        thread, command = self._wait_thread[wait], self._wait_command[wait]
        slack = self._of_thread.get(thread, UNLIMITED_NS)
        resumed = max(self._wait_enter[wait], self._end[command])
        for awaited in (command, *self._awaited.get(wait, ())):
            self._lower(awaited, slack + resumed - self._end[awaited])
        self._of_thread[thread] = min(slack + resumed - self._wait_enter[wait], UNLIMITED_NS)

    def _lower(self, command: int, slack: int) -> None:
        self._of_command[command] = max(min(self._of_command[command], slack), 0)


def _predecessors(dependencies: Dependencies) -> dict[int, list[int]]:
    """Return the commands that each command waited for."""
    predecessors: dict[int, list[int]] = {}
    for column in (dependencies.queue_predecessor, dependencies.device_predecessor):
        for command, predecessor in enumerate(column.tolist()):
            if predecessor >= 0:
                predecessors.setdefault(command, []).append(predecessor)
    for command, predecessor in dependencies.edges.tolist():
        predecessors.setdefault(command, []).append(predecessor)
    return predecessors


def _end_ns(activity: Activity) -> int:
    """Return the time by which the last call had returned and the last command had ended."""
    commands, calls = activity.commands, activity.calls
    times = (commands.return_ns, calls.return_ns, commands.end_ns[commands.is_placed])
    return max(int(column.max(initial=0)) for column in times)


def _slack_at_end(activity: Activity, end_ns: int) -> dict[int, int]:
    """Return the time from each thread's last return to the end of the program."""
    commands, calls = activity.commands, activity.calls
    times = np.concatenate([commands.return_ns, calls.return_ns])
    threads = np.concatenate([commands.thread, calls.thread])
    return {thread: end_ns - int(times[members].max()) for thread, members in groups(threads)}
