"""Queries in a process of their own, which ends whatever SQLite is doing.

SQLite looks at its time limit between the steps of a statement. One step can take minutes: a function on
a long text, a pattern with many wildcards. So the process that asks waits, and kills the one that
computes.
"""

import ctypes
import marshal
import math
import os
import resource
import select
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from cltrace import errors
from cltrace.errors import CltraceError, QueryError
from cltrace.trace.guard import open_trace
from cltrace.trace.query import MAX_HEAP_BYTES, QueryResult, query, too_long

_MAX_MEMORY_BYTES: Final = 1 << 30
_MIN_MEMORY_BYTES: Final = 3 << 28
"""Memory of a query whose process inherited much from the one that asks."""
_GRACE_S: Final = 0.5
"""Time in which SQLite itself ends a statement that is between two steps."""
_PART_BYTES: Final = 1 << 20
_SPARE_CPU_S: Final = 2
_PR_SET_PDEATHSIG: Final = 1
"""The request of Linux's `prctl` for a signal when the parent ends."""


def run_guarded_query(
    path: Path,
    sql: str,
    *,
    max_rows: int,
    max_seconds: float,
    open_file: Callable[[Path], sqlite3.Connection] = open_trace,
    opening_s: float = 0.0,
) -> QueryResult:
    """Run a statement as `query` does, with limits of time and memory that hold in every case.

    `opening_s` is added to the limit of time for a file that takes long to open.

    The calling process has one thread. Raises: `TraceError`, `QueryError`.
    """
    run = partial(query, path, sql, max_rows=max_rows, max_seconds=max_seconds, open_file=open_file)
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with suppress(BaseException):  # the parent says what happened
            _tie_to_parent(parent, math.ceil(max_seconds + opening_s) + _SPARE_CPU_S)
            _answer(writing, run)
        os._exit(0)
    os.close(writing)
    try:
        answer = _read_answer(reading, time.monotonic() + max_seconds + opening_s + _GRACE_S)
        if answer is None:
            raise too_long(max_seconds)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    if not answer:
        raise too_long(max_seconds) if _ran_out_of_cpu_time(status) else _too_much()
    return _result(answer)


def _result(answer: bytes) -> QueryResult:
    """Return the child's result. Raises: the child's error."""
    kind, *values = marshal.loads(answer)
    if kind != "rows":
        raise _error_of(kind, *values)
    names, rows, is_cut = values
    return QueryResult(tuple(names), rows, is_cut)


def _ran_out_of_cpu_time(status: int) -> bool:
    """Return True for a child that ended itself, which it does if its parent gets no time to end it."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU


def _too_much() -> QueryError:
    return QueryError(
        f"the query needs more than {_MAX_MEMORY_BYTES >> 30} GiB of memory: select less at once"
    )


def _error_of(name: str, text: str) -> CltraceError:
    error = getattr(errors, name)(text)
    assert isinstance(error, CltraceError)
    return error


def _answer(writing: int, run: Callable[[], QueryResult]) -> None:
    """Compute in the child and write the answer. Without memory there is no answer."""
    # Private memory alone: the code of libraries does not count.
    limit_bytes = max(_MAX_MEMORY_BYTES, _private_bytes() + _MIN_MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA hard_heap_limit = {MAX_HEAP_BYTES}")  # of the whole process
    try:
        result = run()
        answer = marshal.dumps(("rows", result.column_names, result.rows, result.is_cut))
    except CltraceError as error:
        answer = marshal.dumps((type(error).__name__, str(error)))
    view = memoryview(answer)
    while view:
        view = view[os.write(writing, view[:_PART_BYTES]) :]


def _private_bytes() -> int:
    """Return the memory of this process that counts towards `RLIMIT_DATA`."""
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def _tie_to_parent(parent: int, cpu_s: int) -> None:
    """End with the parent, or after some CPU time, and hold none of its streams."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)


def _read_answer(reading: int, deadline_s: float) -> bytes | None:
    """Return what the child writes, empty if it cannot; None if it begins after the deadline."""
    left_s = max(deadline_s - time.monotonic(), 0.0)
    if not select.select([reading], [], [], left_s)[0]:
        return None
    parts = []
    while part := os.read(reading, _PART_BYTES):
        parts.append(part)
    return b"".join(parts)
