"""Small numbers for the host threads that make calls."""

import threading
from collections.abc import Callable
from itertools import count

from cltrace.events.records import Thread
from cltrace.intercept.objects.weak_users import Forgetful, WeakUsers
from cltrace.intercept.sink import Sink


class ThreadNumbers(threading.local):
    """`number` is the calling thread's own, given when the thread first asks.

    The interpreter runs `__init__` once in each thread. A thread that got the operating system's
    identifier of an earlier one is thereby still another thread.
    """

    def __init__(self, register: Callable[[], int]) -> None:
        self.number = register()
        self._end = _ThreadEnd()

    def used_by(self, user: Forgetful) -> None:
        """Have `user` forget when this thread ends: its identifier may mean another from then on."""
        self._end.users.add(user)


class _ThreadEnd:
    """Destroyed with its thread."""

    def __init__(self) -> None:
        self.users = WeakUsers()

    def __del__(self) -> None:
        for user in self.users:
            user.forget()


def thread_numbers(sink: Sink) -> ThreadNumbers:
    """Numbers whose threads are recorded in `sink`."""
    next_number = count(1).__next__

    def register() -> int:
        number = next_number()
        ident = threading.get_ident()
        # Not `current_thread()`: it would enter a thread that Python did not start into the
        # program's own list of threads.
        name = next((one.name for one in threading.enumerate() if one.ident == ident), "")
        sink.records.append(Thread(number, threading.get_native_id(), name))
        return number

    return ThreadNumbers(register)
