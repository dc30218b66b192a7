"""Tracing that starts by itself: called by the bootstrap once the program has imported pyopencl."""

import os
from pathlib import Path
from typing import Final

from cltrace.intercept import session
from cltrace.intercept.children import leave_word
from cltrace.spool.layout import ProcessIdentity, create_process_directory
from cltrace.spool.settings import read_session

RECORDER_VARIABLE: Final = "CLTRACE_RECORDER"
"""The process number of the recording's parent: its direct child is the command itself."""

FIRST_ONLY_VARIABLE: Final = "CLTRACE_FIRST_ONLY"
"""Set when only the first process is to be traced."""


def begin(parts: str, directory: str) -> None:
    """Trace this process in the recording in `parts`.

    `directory` is what the interpreter made for itself when it started; a copy of it, made by a fork
    since, needs one of its own. Raises: `OSError`, `CltraceError`.
    """
    place, own = Path(parts), Path(directory)
    facts = read_session(place)
    identity = ProcessIdentity.of(os.getpid())
    if not own.name.startswith(f"{identity.pid}-"):
        if not facts.settings.follow_children:
            return
        own = create_process_directory(place, identity)
    session.join(place, facts.settings, facts.origin_host_ns, own)
    try:
        session.start()
    except Exception as fault:
        leave_word(place, f"tracing did not start: {type(fault).__name__}: {fault}")
