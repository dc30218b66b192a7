"""Limits of tracing: all OpenCL activity of pyopencl programs that traces lack, and the traces concerned.

`docs/limits.md` explains each limit. `cltrace info` prints the limits that apply to a trace.
"""

from dataclasses import dataclass
from typing import Final

from cltrace.events.kinds import INTERRUPTED_CALL, RECORDED_BY_LAYER
from cltrace.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Limit:
    """Activity that is not traced. The first value of `applies_sql` is true if it concerns a trace."""

    code: str
    text: str
    applies_sql: str


LIMITS: Final = (
    Limit(
        "dropped-map",
        "a mapped array that is dropped without release() is unmapped by pyopencl's destructor: "
        "that unmap is not in the trace",
        "SELECT sum(kind = 'map') > sum(kind = 'unmap') FROM v_command",
    ),
    Limit(
        "dropped-svm",
        "shared virtual memory that is dropped, or freed by a pool, is freed by pyopencl's "
        "destructor, and moving it to another queue enqueues markers: these are not in the trace",
        "SELECT count(*) FROM v_buffer WHERE kind = 'svm'",
    ),
    Limit(
        "immediate-allocator",
        "an ImmediateAllocator makes the driver allocate memory at once, with a migration or a write "
        "of its own: that command is not in the trace",
        "SELECT count(*) FROM v_diagnostic WHERE code = 'immediate-allocator'",
    ),
    Limit(
        "destructor-wait",
        "dropping the event of a transfer from or to host memory waits for it inside pyopencl: "
        "that wait is not in the trace",
        "SELECT count(*) FROM v_command WHERE kind IN ('read', 'write')",
    ),
    Limit(
        "other-library",
        "a library that calls OpenCL by itself is in this program: its calls are not in the trace",
        "SELECT count(*) FROM v_diagnostic WHERE code = 'other-library'",
    ),
    Limit(
        INTERRUPTED_CALL,
        "an exception of a signal handler, as of Ctrl-C, ended a call after it had enqueued: that "
        "command may not be in the trace",
        f"SELECT count(*) FROM v_diagnostic WHERE code = '{INTERRUPTED_CALL}'",
    ),
    Limit(
        "made-before",
        "objects created before tracing started are recorded only when they are used: kernel "
        "arguments that were set before are not in the trace",
        "SELECT count(*) FROM v_launch WHERE NOT arguments_known AND NOT EXISTS "
        "(SELECT 1 FROM v_redaction WHERE what = 'arguments')",
    ),
)
"""All limits. Everything else that a program enqueues through pyopencl is traced."""

_HAS_HOOKS_SQL: Final = (
    "SELECT count(*) FROM v_process WHERE pyopencl_version != '' AND process_id NOT IN "
    f"(SELECT process_id FROM v_diagnostic WHERE code = '{RECORDED_BY_LAYER}')"
)


def applicable_limits(trace: Trace) -> list[Limit]:
    """Return the limits that apply to a trace. The layer, which is below pyopencl, has none of them."""
    limits: list[Limit] = []
    if not trace.rows(_HAS_HOOKS_SQL)[0][0]:
        return limits
    for limit in LIMITS:
        rows = trace.rows(limit.applies_sql)
        if rows and rows[0][0]:
            limits.append(limit)
    return limits
