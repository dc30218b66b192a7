"""Tracing that starts by itself: called by the bootstrap's `sitecustomize` in every interpreter."""

import os
from pathlib import Path
from typing import Final

from cltrace.intercept import session
from cltrace.intercept.import_watch import ImportWatch
from cltrace.trace.spool.layout import FILE_MODE, refusal_file
from cltrace.trace.spool.settings import read_session

SESSION_VARIABLE: Final = "CLTRACE_SESSION"
"""Names the parts directory of the recording that a process belongs to."""

RECORDER_VARIABLE: Final = "CLTRACE_RECORDER"
"""The process number of the recording's parent: its direct child is the command itself."""

DISABLE_VARIABLE: Final = "CLTRACE_DISABLE"
"""Any value but the empty one keeps a process from being traced."""

BOOTSTRAP_DIRECTORY: Final = Path(__file__).parent / "bootstrap"


def begin(parts: Path) -> None:
    """Join the recording in `parts`, and trace once the program imports pyopencl.

    Raises: `OSError`, `CltraceError`.
    """
    settings = read_session(parts).settings
    if not settings.follow_children:
        _forget_in_children()
    session.join(parts, settings)

    def start() -> None:
        try:
            session.start()
        except Exception as fault:
            _tell(parts, f"tracing did not start: {type(fault).__name__}: {fault}")

    ImportWatch("pyopencl", start)


def _forget_in_children() -> None:
    """Start later interpreters as if there were no recording."""
    os.environ.pop(SESSION_VARIABLE, None)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [path for path in paths if Path(path) != BOOTSTRAP_DIRECTORY]
    if any(kept):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)


def _tell(parts: Path, reason: str) -> None:
    """Leave word for the recording's parent that this process is not traced, and why."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(refusal_file(parts, os.getpid()), flags, FILE_MODE)
        with os.fdopen(descriptor, "w", errors="replace") as file:
            file.write(f"{reason}\n")
    except OSError:
        return
