"""Limits on the CPU time of a task.

A task checks its limit in its loops, so that it ends soon after the limit with an error that names it.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from cltrace.errors import KernelError, KernelLimitError

COUNTING_CPU_S: Final = 20.0
"""CPU time for counting a launch: twice what the longest of known programs take on an idle machine."""
READING_CPU_S: Final = 20.0
"""CPU time for reading a source: its compilation, and reading the compiled code."""
READING_BYTES: Final = 1 << 30
"""Memory for reading a source."""
MAX_CODE_BYTES: Final = 8 << 20
"""Size of compiled code. Reading code takes up to 100 times its size."""
DEPTH_MESSAGE: Final = "its expressions or types are nested too deeply"


@dataclass(slots=True)
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

    A limit inside another one replaces it for its block, whose time is not that of the outer one.

    Raises: `KernelError` for a block that exceeds the interpreter's limit of recursion.
    """
    outer, begin_s = _LIMIT.get(), time.thread_time()
    token = _LIMIT.set(None if seconds is None else CpuLimit(begin_s + seconds, message))
    try:
        yield
    except RecursionError as error:
        raise KernelError(DEPTH_MESSAGE) from error
    finally:
        _LIMIT.reset(token)
        if outer is not None:
            outer.end_s += time.thread_time() - begin_s


def limit_counting(seconds: float | None) -> AbstractContextManager[None]:
    """Limit the CPU time of a block that counts a launch; None is no limit."""
    limit = "" if seconds is None else f"{seconds:g} s of CPU time"
    return limit_cpu(
        seconds, f"counting takes more than the limit of {limit}: --cpu-limit 0 lifts it"
    )


def limit_reading() -> AbstractContextManager[None]:
    """Limit the CPU time of a block that reads a source."""
    return limit_cpu(
        READING_CPU_S,
        f"reading its source takes more than the limit of {READING_CPU_S:g} s of CPU time",
    )


def check_code_size(compiled: str) -> None:
    """Raise `KernelLimitError` for compiled code whose reading would exceed `READING_BYTES`."""
    if len(compiled) > MAX_CODE_BYTES:
        raise KernelLimitError(
            f"its compiled code has {len(compiled) >> 20} MiB, more than the limit of "
            f"{MAX_CODE_BYTES >> 20} MiB: reading it would take more than {READING_BYTES >> 30} GiB"
        )


def check_cpu_limit() -> None:
    """Raise `KernelLimitError` if the block's CPU time is over."""
    limit = _LIMIT.get()
    if limit is not None and time.thread_time() > limit.end_s:
        raise KernelLimitError(limit.message)
