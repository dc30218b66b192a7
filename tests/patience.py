"""Waiting in tests: for a condition, never for a time, so that a loaded machine changes no result."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

HANG_S: Final = 900.0
"""Limit of what must end at all: a guard against hanging, out of reach of a loaded machine."""
PACES: Final = (1.0, 4.0, 16.0)
"""Factors by which a test that needs real time is stretched until it holds."""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return once `condition` holds. Raises: `AssertionError` naming `what` if it never does."""
    end_s = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < end_s, f"waited in vain for {what}"
        time.sleep(0.01)


def holds_at_some_pace(check: Callable[[float], None]) -> None:
    """Run `check(pace)` at growing paces until it passes; its last failure is the test's.

    For behaviour in real time (a delay, a sampling period) that a machine under load distorts by a
    constant: what holds at no pace is a defect.
    """
    for pace in PACES[:-1]:
        try:
            check(pace)
        except AssertionError:
            continue
        return
    check(PACES[-1])


class Lateness:
    """The longest time by which a thread that sleeps was woken too late, in seconds."""

    def __init__(self) -> None:
        self.max_s = 0.0


@contextmanager
def watched_lateness(period_s: float = 0.005) -> Iterator[Lateness]:
    """Measure how late this machine wakes threads within the block."""
    lateness, ended = Lateness(), threading.Event()

    def watch() -> None:
        while not ended.is_set():
            due_s = time.monotonic() + period_s
            time.sleep(period_s)
            lateness.max_s = max(lateness.max_s, time.monotonic() - due_s)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lateness
    finally:
        ended.set()
        thread.join()
