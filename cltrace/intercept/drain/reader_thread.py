"""Thread that empties the sink, invisible to the program.

It is started below `threading`. So a program that counts or joins all threads of
`threading.enumerate()` does not see it, and a fork does not try to clean it up.
"""

import _thread
import signal
import threading
from collections.abc import Callable
from typing import Final

from cltrace.intercept.drain.heap_addresses import no_new_heaps

_FATAL: Final = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
"""Signals of the thread's own faults, which no other thread would get."""


_STACK_BYTES: Final = 1 << 20
"""Size of the thread's stack. The default takes 8 MiB of the addresses that a program may have."""

_MAX_START_S: Final = 1.0
_LARGER_THAN_POOLS_BYTES: Final = 4096
"""Size of an allocation that Python takes from the C library."""


class ReaderThread:
    """Thread that calls `work` every `period_s` seconds, and at once again while it returns true."""

    def __init__(self, work: Callable[[], bool], period_s: float) -> None:
        self._work = work
        self._period_s = period_s
        self._stopping: Final = threading.Event()
        self._running: Final = _thread.allocate_lock()
        self._starting: Final = _thread.allocate_lock()
        self._ident = 0

    def start(self) -> None:
        """Start the thread."""
        self._running.acquire()
        self._starting.acquire()
        # The thread inherits the mask: it must not get signals that the program blocks and waits for.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _FATAL)
        stack_bytes = _thread.stack_size(_STACK_BYTES)
        try:
            with no_new_heaps():
                self._ident = _thread.start_new_thread(self._run, ())
                self._starting.acquire(timeout=_MAX_START_S)
        finally:
            _thread.stack_size(stack_bytes)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self, timeout_s: float) -> None:
        """Stop the thread, and wait until it has ended, unless it is the caller."""
        self._stopping.set()
        if self._ident and self._ident != _thread.get_ident():
            self._running.acquire(timeout=timeout_s)

    def _run(self) -> None:
        bytearray(_LARGER_THAN_POOLS_BYTES)  # the thread gets its heap
        self._starting.release()
        try:
            has_more = False
            while not self._stopping.wait(0 if has_more else self._period_s):
                try:
                    has_more = self._work()
                except Exception:
                    # `_work` tells its own faults. A program that replaced builtins with functions
                    # which raise gets none of them in its output.
                    has_more = False
        finally:
            self._running.release()
