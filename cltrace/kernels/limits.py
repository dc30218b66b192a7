"""Limits on the CPU time of a task.

A task checks its limit in its loops, so that it ends soon after the limit with an error that names it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from cltrace.errors import KernelLimitError

COUNTING_CPU_S: Final = 10.0
"""CPU time for counting a launch."""
READING_CPU_S: Final = 20.0
"""CPU time for reading a source: its compilation, and reading the compiled code."""
READING_BYTES: Final = 1 << 30
"""Memory for reading a source."""


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """Limit of a task, as a point on the clock of the thread's CPU time.

    `message` says which limit it is.
    """

    end_s: float
    message: str


_LIMIT: Final[ContextVar[CpuLimit | None]] = ContextVar("cpu_limit", default=None)


@contextmanager
def limit_cpu(seconds: float | None, message: str) -> Iterator[None]:
    """Limit the CPU time of a block that calls `check_cpu_limit`; None is no limit.

    A limit inside another one replaces it for its block.
    """
    limit = None if seconds is None else CpuLimit(time.thread_time() + seconds, message)
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def check_cpu_limit() -> None:
    """Raise `KernelLimitError` if the block's CPU time is over."""
    limit = _LIMIT.get()
    if limit is not None and time.thread_time() > limit.end_s:
        raise KernelLimitError(limit.message)
