"""Completion of commands as the host observes it.

`--timing sync` waits for each command; `--timing callback` registers a callback. Neither may wait for
ever: a command can depend on an event that only the program will set.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import pyopencl as cl
from pyopencl import _cl

from cltrace.events.kinds import Timing
from cltrace.intercept.tallies import Tallies

_PATIENCE_S: Final = 1.0
"""Time without progress after which tracing stops waiting for a command."""

_MAX_SETTLING_S: Final = 60.0
"""Time for which the end of a process waits for callbacks of commands that run or are complete."""

_MAX_PENDING: Final = 256
_COMPLETE: Final = int(cl.command_execution_status.COMPLETE)
_RUNNING: Final = int(cl.command_execution_status.RUNNING)
_STATUS: Final = int(cl.event_info.COMMAND_EXECUTION_STATUS)

ReportCompletion = Callable[[tuple[int, int]], None]
"""Function that takes a mark and the time (host ns) at which the command of that mark was complete."""


class Completions(Protocol):
    """Observer of the completion of commands."""

    def watch(self, event: cl.Event, mark: int) -> None:
        """Report when the command of `event` is complete."""

    def settle(self, patience_s: float) -> None:
        """Wait until no observation is pending, at most for `patience_s`."""

    def abandon(self) -> None:
        """Drop everything without destroying it, in a forked child."""


def make_completions(
    timing: Timing, report: ReportCompletion, tallies: Tallies
) -> Completions | None:
    """Return the observer for a method of timing; `None` where the device's own stamps are used."""
    match timing:
        case Timing.EVENT:
            return None
        case Timing.SYNC:
            return SyncCompletions(report)
        case Timing.CALLBACK:
            return CallbackCompletions(report, tallies)


class SyncCompletions:
    """Observer that waits for each command as soon as it is enqueued.

    While a command does not start, later commands are not waited for.
    """

    def __init__(self, report: ReportCompletion) -> None:
        self._report = report
        self._stuck: cl.Event | None = None
        self._native_status: Callable[..., Any] = _cl.Event.get_info
        self._native_wait: Callable[[cl.Event], None] = _cl.Event.wait
        self._native_flush: Callable[[Any], None] = _cl.CommandQueue.flush

    def watch(self, event: cl.Event, mark: int) -> None:
        """Wait for `event`."""
        with contextlib.suppress(cl.Error):  # a failed command has no completion
            if self._stuck is not None and self._native_status(self._stuck, _STATUS) > _RUNNING:
                return
            self._stuck = None
            self._native_flush(event.command_queue)
            if self._starts(event):
                self._native_wait(event)
                self._report((mark, time.perf_counter_ns()))
            else:
                self._stuck = event

    def settle(self, patience_s: float) -> None:
        """Return at once: nothing is pending."""

    def abandon(self) -> None:
        """Keep the event that was waited for in vain."""
        _immortal.append(self._stuck)

    def _starts(self, event: cl.Event) -> bool:
        deadline = time.monotonic() + _PATIENCE_S
        while self._native_status(event, _STATUS) > _RUNNING:
            if time.monotonic() > deadline:
                return False
            time.sleep(0)
        return True


class CallbackCompletions:
    """Observer that the driver calls when a command is complete.

    pyopencl starts a thread for every callback, which waits for the driver and then for the
    interpreter. So the number of pending callbacks is bounded, and tracing ends only after their threads:
    a thread that takes the interpreter's lock during shutdown would crash the process.
    """

    def __init__(self, report: ReportCompletion, tallies: Tallies) -> None:
        self._report = report
        self._tallies = tallies
        self._max_pending = _MAX_PENDING
        self._pending: dict[int, cl.Event] = {}
        self._thread_ids: deque[int] = deque(maxlen=2 * _MAX_PENDING)
        self._native_set_callback: Callable[..., None] = _cl.Event.set_callback
        self._native_status: Callable[..., Any] = _cl.Event.get_info

    def watch(self, event: cl.Event, mark: int) -> None:
        """Register a callback for `event`, after a wait if too many are pending."""
        if len(self._pending) >= self._max_pending:
            self._wait_for_half()
        clock, report, pending = time.perf_counter_ns, self._report, self._pending

        def callback(status: int) -> None:
            if status == _COMPLETE:
                report((mark, clock()))
            self._thread_ids.append(threading.get_native_id())
            pending.pop(mark, None)

        # A handle of its own: a `NannyEvent` waits for its command when it is dropped.
        pending[mark] = cl.Event.from_int_ptr(event.int_ptr, retain=True)
        try:
            self._native_set_callback(event, _COMPLETE, callback)
        except cl.Error:
            pending.pop(mark, None)

    def settle(self, patience_s: float) -> None:
        """Wait until no callback is pending and all of their threads have ended.

        Callbacks of commands that run or are complete are on their way, however long a busy machine
        takes. A command that does not run may never: `patience_s` is the time to wait for one to run.
        """
        begin = time.monotonic()
        while time.monotonic() < begin + _MAX_SETTLING_S:
            while self._thread_ids and not _is_running(self._thread_ids[0]):
                self._thread_ids.popleft()
            is_due = bool(self._thread_ids) or self._is_any_running()
            if not is_due and (not self._pending or time.monotonic() > begin + patience_s):
                return
            time.sleep(0.001)

    def abandon(self) -> None:
        """Keep the events of pending callbacks, which belong to the parent."""
        _immortal.append(list(self._pending.values()))

    def _is_any_running(self) -> bool:
        """Return whether the command of a pending callback runs, is complete, or failed."""
        return any(map(self._has_started, list(self._pending.values())))

    def _has_started(self, event: cl.Event) -> bool:
        """Return False, too, for an event whose query fails: its context has ended, and calls nobody."""
        with contextlib.suppress(cl.Error):
            return bool(self._native_status(event, _STATUS) <= _RUNNING)
        return False

    def _wait_for_half(self) -> None:
        begin_ns = time.perf_counter_ns()
        while len(self._pending) > self._max_pending // 2:
            if time.perf_counter_ns() - begin_ns > _PATIENCE_S * 1e9:
                self._max_pending *= 2
                break
            time.sleep(0.0002)
        self._tallies.event_waits += 1
        self._tallies.event_wait_ns += time.perf_counter_ns() - begin_ns


_immortal: Final[list[Any]] = []
"""Objects that must not be destroyed as long as this process lives."""


def _is_running(thread_id: int) -> bool:
    return Path(f"/proc/self/task/{thread_id}").exists()
