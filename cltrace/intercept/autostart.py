"""Tracing that starts by itself: called by the bootstrap's `sitecustomize` in every interpreter."""

import os
from pathlib import Path
from typing import Final

from cltrace.intercept import session
from cltrace.intercept.children import (
    BOOTSTRAP_DIRECTORY,
    SESSION_VARIABLE,
    leave_word,
    watch_children,
)
from cltrace.intercept.import_watch import ImportWatch
from cltrace.intercept.workers import watch_workers
from cltrace.trace.spool.settings import read_session

RECORDER_VARIABLE: Final = "CLTRACE_RECORDER"
"""The process number of the recording's parent: its direct child is the command itself."""


def begin(parts: Path) -> None:
    """Join the recording in `parts`, and trace once the program imports pyopencl.

    Raises: `OSError`, `CltraceError`.
    """
    facts = read_session(parts)
    settings = facts.settings
    if not settings.follow_children:
        _forget_in_children()
    session.join(parts, settings, facts.origin_host_ns)
    if settings.follow_children:
        watch_children(parts)
        watch_workers(session.flush)

    def start() -> None:
        try:
            session.start()
        except Exception as fault:
            leave_word(parts, f"tracing did not start: {type(fault).__name__}: {fault}")

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
