"""Start of tracing in a child process: called by the bootstrap once the program has imported pyopencl.

Where the layer records, nothing reads the session or defines its classes: the program's addresses may be
limited.
"""

import os
from pathlib import Path
from typing import Final

from cltrace.intercept import session
from cltrace.intercept.children import report_untraced
from cltrace.spool.layout import NOT_STARTED, ProcessIdentity, create_process_directory

RECORDER_VARIABLE: Final = "CLTRACE_RECORDER"
"""The process number of the recording's parent: its direct child is the command itself."""

FIRST_ONLY_VARIABLE: Final = "CLTRACE_FIRST_ONLY"
"""Set when only the first process is to be traced."""


def begin(parts: str, directory: str) -> None:
    """Trace this process in the recording in `parts`.

    `directory` is the one that the interpreter created for itself when it started. A fork of that
    process needs a directory of its own. Raises: `OSError`, `CltraceError`.
    """
    from cltrace.intercept.native.library import find_recording_library  # noqa: PLC0415 - imports pyopencl

    parts_path, own = Path(parts), Path(directory)
    library = find_recording_library(parts_path)
    is_fork = not own.name.startswith(f"{os.getpid()}-")
    if library is None or is_fork:
        _join_with_settings(parts_path, None if is_fork else own)
    else:
        session.join(parts_path, None, directory=own)
    try:
        session.start(library)
        if library is None:
            session.note_hooks()
    except Exception as fault:
        report_untraced(parts_path, f"{NOT_STARTED}: {type(fault).__name__}: {fault}")


def _join_with_settings(parts: Path, own: Path | None) -> None:
    """Join the recording in `parts` with its settings, which decide whether forks are traced.

    `own` is the directory of this process; `None` for a fork, which has none.
    """
    from cltrace.spool.settings import read_session  # noqa: PLC0415 - takes addresses

    facts = read_session(parts)
    if own is None:
        if not facts.settings.follow_children:
            return
        own = create_process_directory(parts, ProcessIdentity.of(os.getpid()))
    session.join(parts, facts.settings, facts.origin_host_ns, own)
