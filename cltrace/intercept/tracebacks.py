"""Tracebacks without our frames: an exception that passes a hook looks as it does untraced.

A frame that leaves with a bare `raise` does not enter itself into the traceback again, so a hook
that takes its own entry out and re-raises leaves no sign:

    except BaseException as error:
        hide_own_frames(error)
        raise
"""

from pathlib import Path
from types import TracebackType
from typing import Final

GENERATED_FILENAME: Final = "<cltrace>"
"""The file name of the code that `launches` generates."""

_OWN_DIRECTORY: Final = str(Path(__file__).parent)


def is_own_file(filename: str) -> bool:
    """Whether code of that file name is a hook's."""
    return filename == GENERATED_FILENAME or filename.startswith(_OWN_DIRECTORY)


def hide_own_frames(error: BaseException) -> None:
    """Take the frames of hooks out of the traceback of `error`, wherever they stand in it."""
    kept = _without_own(error.__traceback__)
    error.__traceback__ = kept
    while kept is not None:
        following = _without_own(kept.tb_next)
        if following is not kept.tb_next:
            kept.tb_next = following
        kept = following


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether a signal handler of the program raised `error` while code of ours was running.

    Python calls a handler between two instructions of whatever runs, with the frame that it
    interrupts as the second argument: that tells it from code of the program that we called.
    """
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        values = [*entry.tb_next.tb_frame.f_locals.values()]
        values += [one for value in values if isinstance(value, tuple) for one in value]
        if any(value is entry.tb_frame for value in values):
            return True
        entry = entry.tb_next
    return False


def _without_own(entry: TracebackType | None) -> TracebackType | None:
    while entry is not None and is_own_file(entry.tb_frame.f_code.co_filename):
        entry = entry.tb_next
    return entry
