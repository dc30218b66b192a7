"""Removal of cltrace's frames from tracebacks: an exception that passes a hook looks as if untraced.

A frame that re-raises with a bare `raise` does not enter itself into the traceback again. So a hook that
removes its own entry and re-raises leaves no sign:

    except BaseException as error:
        hide_own_frames(error)
        raise
"""

from pathlib import Path
from types import TracebackType
from typing import Final

GENERATED_FILENAME: Final = "<cltrace>"
"""File name of the code that `hooks.launches` generates."""

_OWN_DIRECTORY: Final = str(Path(__file__).parent)


def is_own_file(filename: str) -> bool:
    """Return whether code of that file name is cltrace's."""
    return filename == GENERATED_FILENAME or filename.startswith(_OWN_DIRECTORY)


def hide_own_frames(error: BaseException) -> None:
    """Remove the frames of hooks from the traceback of `error`, at any depth."""
    kept = _skip_own(error.__traceback__)
    error.__traceback__ = kept
    while kept is not None:
        following = _skip_own(kept.tb_next)
        if following is not kept.tb_next:
            kept.tb_next = following
        kept = following


def is_from_signal_handler(error: BaseException) -> bool:
    """Return whether a signal handler of the program raised `error` while cltrace's code was running.

    Python calls a handler between two instructions and passes the interrupted frame as the second
    argument. This tells a handler from other code of the program that cltrace called.
    """
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        values = [*entry.tb_next.tb_frame.f_locals.values()]
        values += [item for value in values if isinstance(value, tuple) for item in value]
        if any(value is entry.tb_frame for value in values):
            return True
        entry = entry.tb_next
    return False


def _skip_own(entry: TracebackType | None) -> TracebackType | None:
    while entry is not None and is_own_file(entry.tb_frame.f_code.co_filename):
        entry = entry.tb_next
    return entry
