"""Start of tracing in a child process: called by the bootstrap once the program has imported pyopencl."""

import os
from pathlib import Path
from typing import Final

from cltrace.events.kinds import LayerUse
from cltrace.intercept import session
from cltrace.intercept.children import report_untraced
from cltrace.spool.layout import NOT_STARTED, ProcessIdentity, create_process_directory
from cltrace.spool.settings import read_session

RECORDER_VARIABLE: Final = "CLTRACE_RECORDER"
"""The process number of the recording's parent: its direct child is the command itself."""

FIRST_ONLY_VARIABLE: Final = "CLTRACE_FIRST_ONLY"
"""Set when only the first process is to be traced."""


def begin(parts: str, directory: str) -> None:
    """Trace this process in the recording in `parts`.

    `directory` is the one that the interpreter created for itself when it started. A fork of that
    process needs a directory of its own. Raises: `OSError`, `CltraceError`.
    """
    parts_path, own = Path(parts), Path(directory)
    facts = read_session(parts_path)
    identity = ProcessIdentity.of(os.getpid())
    if not own.name.startswith(f"{identity.pid}-"):
        if not facts.settings.follow_children:
            return
        own = create_process_directory(parts_path, identity)
    from cltrace.intercept.native.library import find_recording_library  # noqa: PLC0415 - imports pyopencl

    session.join(parts_path, facts.settings, facts.origin_host_ns, own)
    library = find_recording_library(parts_path)
    try:
        session.start(library)
        if library is None and facts.settings.layer is not LayerUse.OFF:
            session.note_hooks()
    except Exception as fault:
        report_untraced(parts_path, f"{NOT_STARTED}: {type(fault).__name__}: {fault}")
