"""Small numbers of the host threads that make calls."""

import threading
from collections.abc import Callable
from itertools import count

from cltrace.events.records import Thread
from cltrace.intercept.sink import Sink


class ThreadNumbers(threading.local):
    """Numbers of threads: `number` is the calling thread's, assigned at its first use.

    The interpreter runs `__init__` once in each thread. So a thread that reuses the operating system's
    identifier of an earlier thread has a number of its own.
    """

    def __init__(self, register: Callable[[], int]) -> None:
        self.number = register()


def thread_numbers(sink: Sink) -> ThreadNumbers:
    """Return numbers whose threads are recorded in `sink`."""
    next_number = count(1).__next__

    def register() -> int:
        number = next_number()
        ident = threading.get_ident()
        # `current_thread()` would enter a thread that Python did not start into the program's list of
        # threads.
        threads = threading.enumerate()
        name = next((thread.name for thread in threads if thread.ident == ident), "")
        sink.records.append(Thread(number, threading.get_native_id(), name))
        return number

    return ThreadNumbers(register)
