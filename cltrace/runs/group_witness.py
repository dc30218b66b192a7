"""Witness of signals that are sent to a process group: a process beside the command that does nothing.

A terminal, and a supervisor that ends a group, send a signal to cltrace and to the command. `kill` may
send one to cltrace alone. Nothing in a signal tells these apart, but the witness gets the first only. It
blocks all signals in question, so the kernel shows them as pending, however busy the machine is.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

_DELIVERY_S: Final = 0.005
"""Time in which the kernel goes on from one process of a group to the others."""

_MAX_ANSWER_S: Final = 5.0


class GroupWitness:
    """Witness of `signals` in the process group of this process, until `close`."""

    def __init__(self, signals: Collection[int]) -> None:
        own_question, self._question = os.pipe()
        self._answer, own_answer = os.pipe()
        # No handler of this process may run in the new one.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._question)
            _answer_questions(own_question, own_answer, signals)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(own_question)
        os.close(own_answer)

    def has_seen(self, number: int) -> bool | None:
        """Return whether a signal was sent to the group; `None` if the witness is gone.

        A signal is seen once.
        """
        time.sleep(_DELIVERY_S)
        pending = _pending_signals(self._pid)
        if pending is None:
            return None
        if not pending >> (number - 1) & 1:
            return False
        with contextlib.suppress(OSError):
            os.write(self._question, b"?")
            if select.select([self._answer], [], [], _MAX_ANSWER_S)[0]:
                os.read(self._answer, 1)
        return True

    def close(self) -> None:
        """End the witness."""
        os.close(self._question)
        os.close(self._answer)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _answer_questions(question: int, answer: int, signals: Collection[int]) -> None:
    """Drop pending signals at each question. Exit when the asking process closes its end, or dies."""
    try:
        while os.read(question, 1):
            while signal.sigtimedwait(signals, 0) is not None:
                pass
            os.write(answer, b"!")
    finally:
        os._exit(0)


def _pending_signals(pid: int) -> int | None:
    """Return the pending signals of a process as bits; `None` if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    words = [line.split() for line in lines]
    if any(word[:2] == ["State:", "Z"] for word in words):
        return None
    return next(int(word[1], 16) for word in words if word[0] == "ShdPnd:")
