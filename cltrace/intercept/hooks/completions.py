"""Completion as the host sees it: `--timing sync` waits for each command, `--timing callback` is called.

Neither may wait for ever: a command can depend on an event that only the program will set.
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
"""How long a command may do nothing before tracing stops waiting for it."""

_MOST_PENDING: Final = 256
_COMPLETE: Final = int(cl.command_execution_status.COMPLETE)
_RUNNING: Final = int(cl.command_execution_status.RUNNING)
_STATUS: Final = int(cl.event_info.COMMAND_EXECUTION_STATUS)

Completed = Callable[[tuple[int, int]], None]
"""Takes a mark and the time (host ns) at which the command of that mark was complete."""


class Completions(Protocol):
    """Sees commands become complete."""

    def watch(self, event: cl.Event, mark: int) -> None:
        """See when the command of `event` is complete."""

    def settle(self, patience_s: float) -> None:
        """See what is under way come to its end, but wait no longer than that."""


def completions_for(timing: Timing, completed: Completed, tallies: Tallies) -> Completions | None:
    """What sees completion by a method of timing; `None` where the device's own stamps do."""
    match timing:
        case Timing.EVENT:
            return None
        case Timing.SYNC:
            return SyncCompletions(completed)
        case Timing.CALLBACK:
            return CallbackCompletions(completed, tallies)


class SyncCompletions:
    """Waits for each command as soon as it is enqueued.

    One that does not start keeps those behind it from being waited for, until it does.
    """

    def __init__(self, completed: Completed) -> None:
        self._completed = completed
        self._stuck: cl.Event | None = None
        self._native_status: Callable[..., Any] = _cl.Event.get_info
        self._native_wait: Callable[[cl.Event], None] = _cl.Event.wait
        self._native_flush: Callable[[Any], None] = _cl.CommandQueue.flush

    def watch(self, event: cl.Event, mark: int) -> None:
        """Wait for `event`."""
        if self._stuck is not None and self._native_status(self._stuck, _STATUS) > _RUNNING:
            return
        self._stuck = None
        with contextlib.suppress(cl.Error):  # the command failed: it has no completion
            self._native_flush(event.command_queue)
            if self._starts(event):
                self._native_wait(event)
                self._completed((mark, time.perf_counter_ns()))
            else:
                self._stuck = event

    def settle(self, patience_s: float) -> None:
        """Nothing is under way."""

    def _starts(self, event: cl.Event) -> bool:
        deadline = time.monotonic() + _PATIENCE_S
        while self._native_status(event, _STATUS) > _RUNNING:
            if time.monotonic() > deadline:
                return False
            time.sleep(0)
        return True


class CallbackCompletions:
    """Has the driver call when a command is complete.

    pyopencl gives every callback a thread of its own, which waits for the driver and then for the
    interpreter. So only a bounded number is pending at a time, and tracing does not end before their
    threads have: one that wants the interpreter while it shuts down brings the process down.
    """

    def __init__(self, completed: Completed, tallies: Tallies) -> None:
        self._completed = completed
        self._tallies = tallies
        self._most_pending = _MOST_PENDING
        self._pending: set[int] = set()
        self._thread_ids: deque[int] = deque(maxlen=2 * _MOST_PENDING)
        self._native_set_callback: Callable[..., None] = _cl.Event.set_callback

    def watch(self, event: cl.Event, mark: int) -> None:
        """Have the driver call for `event`; first wait when it has too many to call for."""
        if len(self._pending) >= self._most_pending:
            self._wait_for_some()
        clock, completed, pending = time.perf_counter_ns, self._completed, self._pending

        def callback(status: int) -> None:
            if status == _COMPLETE:
                completed((mark, clock()))
            self._thread_ids.append(threading.get_native_id())
            pending.discard(mark)

        pending.add(mark)
        try:
            self._native_set_callback(event, _COMPLETE, callback)
        except cl.Error:
            pending.discard(mark)

    def settle(self, patience_s: float) -> None:
        """Wait until no call is pending and the threads of all are gone."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            while self._thread_ids and not _is_running(self._thread_ids[0]):
                self._thread_ids.popleft()
            if not self._pending and not self._thread_ids:
                return
            time.sleep(0.001)

    def _wait_for_some(self) -> None:
        begin_ns = time.perf_counter_ns()
        while len(self._pending) > self._most_pending // 2:
            if time.perf_counter_ns() - begin_ns > _PATIENCE_S * 1e9:
                self._most_pending *= 2
                break
            time.sleep(0.0002)
        self._tallies.event_waits += 1
        self._tallies.event_wait_ns += time.perf_counter_ns() - begin_ns


def _is_running(thread_id: int) -> bool:
    return Path(f"/proc/self/task/{thread_id}").exists()
