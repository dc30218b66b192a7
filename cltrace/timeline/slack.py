"""How much later each command could have ended without making the program longer.

Delays are followed from the end backwards. One that reaches a command which had to wait for something
else anyway is absorbed as far as that wait goes; so is one that reaches a host call which would have
waited for another command. Times between a release and a start are taken as given.
"""

from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.dependencies import Dependencies
from cltrace.timeline.grouping import groups

UNLIMITED_NS: Final = 2**62


def slack_ns(activity: Activity, needs: Dependencies) -> Int64s:
    """The slack of each command; `UNLIMITED_NS` for one that is not placed."""
    return _Slack(activity, needs).of_commands()


class _Slack:
    """One pass from the end to the start."""

    def __init__(self, activity: Activity, needs: Dependencies) -> None:
        commands, waits = activity.commands, needs.waits
        self._needs = needs
        self._end = commands.end_ns.tolist()
        self._queued_ns = commands.queued_ns
        self._queued = commands.queued_ns.tolist()
        self._thread = commands.thread.tolist()
        self._release = needs.release_ns.tolist()
        self._before = _befores(needs)
        self._placed = np.flatnonzero(commands.is_placed)
        self._start = commands.start_ns
        self._wait_command = waits.command.tolist()
        self._wait_thread = waits.thread.tolist()
        self._wait_enter = waits.enter_ns.tolist()
        self._also: dict[int, list[int]] = {}
        for wait, command in waits.also.tolist():
            self._also.setdefault(wait, []).append(command)
        end_ns = _end_ns(activity)
        # Whatever waits for it, a command that ends later than the program makes it longer.
        last = np.where(commands.is_placed, end_ns - commands.end_ns, UNLIMITED_NS)
        self._of_command: list[int] = last.tolist()
        self._of_thread = _at_the_end(activity, end_ns)

    def of_commands(self) -> Int64s:
        """The slack of each command."""
        waits, placed = self._needs.waits, self._placed
        times = (self._start[placed], self._queued_ns[placed], waits.return_ns)
        which = (placed, placed, np.arange(len(waits)))
        steps = (self._pass_command, self._pass_enqueueing, self._pass_wait)
        kind = np.repeat(np.arange(len(steps)), [len(one) for one in times])
        # What a delay reaches comes later: it is done first.
        order = np.lexsort((kind, -np.concatenate(times)))
        for number, item in zip(
            kind[order].tolist(), np.concatenate(which)[order].tolist(), strict=True
        ):
            steps[number](item)
        return np.array(self._of_command, np.int64)

    def _pass_command(self, command: int) -> None:
        """Hand the slack of a command to all that it waited for."""
        slack, release = self._of_command[command], self._release[command]
        for before in self._before.get(command, ()):
            self._lower(before, slack + release - self._end[before])

    def _pass_enqueueing(self, command: int) -> None:
        """Hand the slack of a command to the thread that enqueued it."""
        slack, release = self._of_command[command], self._release[command]
        thread = self._thread[command]
        room = slack + max(release - self._queued[command], 0)
        self._of_thread[thread] = min(self._of_thread.get(thread, UNLIMITED_NS), room)

    def _pass_wait(self, wait: int) -> None:
        """Hand the slack that its thread has from a wait on to the command and the thread before it."""
        thread, command = self._wait_thread[wait], self._wait_command[wait]
        slack = self._of_thread.get(thread, UNLIMITED_NS)
        went_on = max(self._wait_enter[wait], self._end[command])
        for one in (command, *self._also.get(wait, ())):
            self._lower(one, slack + went_on - self._end[one])
        self._of_thread[thread] = min(slack + went_on - self._wait_enter[wait], UNLIMITED_NS)

    def _lower(self, command: int, slack: int) -> None:
        self._of_command[command] = max(min(self._of_command[command], slack), 0)


def _befores(needs: Dependencies) -> dict[int, list[int]]:
    """What each command waited for."""
    found: dict[int, list[int]] = {}
    for column in (needs.queue_before, needs.freed_by):
        for command, before in enumerate(column.tolist()):
            if before >= 0:
                found.setdefault(command, []).append(before)
    for command, before in needs.edges.tolist():
        found.setdefault(command, []).append(before)
    return found


def _end_ns(activity: Activity) -> int:
    """When the last call returned, and the last command had ended."""
    commands, calls = activity.commands, activity.calls
    times = (commands.return_ns, calls.return_ns, commands.end_ns[commands.is_placed])
    return max(int(one.max(initial=0)) for one in times)


def _at_the_end(activity: Activity, end_ns: int) -> dict[int, int]:
    """How much longer each thread could have gone on without being the last."""
    commands, calls = activity.commands, activity.calls
    times = np.concatenate([commands.return_ns, calls.return_ns])
    threads = np.concatenate([commands.thread, calls.thread])
    return {one: end_ns - int(times[members].max()) for one, members in groups(threads)}
