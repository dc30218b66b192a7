"""Trace unmodified pyopencl programs: host calls and device events, in one file.

Most programs are traced from outside, with `cltrace run python app.py`. A program that cltrace cannot
start is traced from inside:

    with cltrace.trace("out.cltrace"):
        work()

    trace = cltrace.load("out.cltrace")
    trace["v_command"]

Importing this package imports neither pyopencl nor pandas nor any other heavy library.
"""

from typing import TYPE_CHECKING, Any

# A later first import of the package `cltrace.trace` would replace the function of that name.
import cltrace.trace  # noqa: F401
from cltrace.inside import pause, region, resume, start, stop, trace
from cltrace.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "__version__",
    "load",
    "load_ipython_extension",
    "pause",
    "region",
    "resume",
    "start",
    "stop",
    "trace",
    "unload_ipython_extension",
]


def load(path: "str | Path") -> Any:
    """Open a trace, as a `Trace`, or a file of events inside a kernel, as `EventTables`.

    Both have tables for pandas: `load(path)["v_command"]`.

    Raises: `cltrace.errors.TraceError`, `cltrace.errors.KernelError`.
    """
    from cltrace.spool.layout import EVENTS_SUFFIX  # noqa: PLC0415 - for readers alone

    if str(path).endswith(EVENTS_SUFFIX):
        from cltrace.kernels.events.tables import EventTables  # noqa: PLC0415 - imports numpy

        return EventTables(path)
    from cltrace.trace.reader import load as load_trace  # noqa: PLC0415 - imports sqlite3

    return load_trace(path)


def load_ipython_extension(shell: Any) -> None:
    """Add the magic `%cltrace` and profiling to new queues, for `%load_ext cltrace`."""
    from cltrace.ipython import register  # noqa: PLC0415 - imports IPython

    register(shell)


def unload_ipython_extension(_: Any) -> None:
    """Leave new queues alone again, for `%unload_ext cltrace`."""
    from cltrace.ipython import unregister  # noqa: PLC0415 - imports IPython

    unregister()
