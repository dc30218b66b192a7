"""Noticing children that will not be traced: those that get an environment without us."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler
from cltrace.spool.layout import FILE_MODE, untraced_file

if TYPE_CHECKING:
    import subprocess

SESSION_VARIABLE: Final = "CLTRACE_SESSION"
"""Names the parts directory of the recording that a process belongs to."""

BOOTSTRAP_DIRECTORY: Final = Path(__file__).parent / "bootstrap"
"""Stands first on the `PYTHONPATH` of a traced family."""

_ISOLATING: Final = ("-I", "-E", "-S")


def leave_word(parts: Path, reason: str) -> None:
    """Write why a process is not traced, where the recording's parent looks. Never raises."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = os.open(untraced_file(parts, os.getpid()), flags, FILE_MODE)
        with os.fdopen(descriptor, "w", errors="replace") as file:
            file.write(f"{reason}\n")
    except OSError:
        return


def watch_children(parts: str) -> None:
    """Leave word in `parts` when the program starts a child that cannot join the recording.

    The program has imported `subprocess`.
    """
    popen = sys.modules["subprocess"].Popen
    original = popen.__init__
    said: set[str] = set()

    def hook(process: "subprocess.Popen[Any]", args: Any, *rest: Any, **options: Any) -> None:
        try:
            try:
                reason = _why_untraced(args, rest, options)
            except Exception as fault:
                if is_from_signal_handler(fault):
                    raise
                reason = ""  # what Popen is about to refuse, it refuses in its own words
            if reason and reason not in said:
                said.add(reason)
                leave_word(Path(parts), reason)
            original(process, args, *rest, **options)
        except BaseException as error:
            hide_own_frames(error)
            raise

    for name in ("__name__", "__qualname__", "__doc__", "__wrapped__"):
        setattr(hook, name, original if name == "__wrapped__" else getattr(original, name))
    popen.__init__ = hook


_ENVIRONMENT_POSITION: Final = 9
"""Of `env` among the arguments of `Popen` behind `args`."""


def _why_untraced(args: Any, rest: Sequence[Any], options: dict[str, Any]) -> str:
    """Why the child that these arguments start will not be traced, if it is Python; else nothing."""
    environment = options.get("env")
    if environment is None and len(rest) > _ENVIRONMENT_POSITION:
        environment = rest[_ENVIRONMENT_POSITION]
    words = [os.fsdecode(word) for word in args] if isinstance(args, (list, tuple)) else []
    if not words or "python" not in Path(words[0]).name:
        return ""
    given = os.environ if environment is None else environment
    if SESSION_VARIABLE not in given:
        return f"a Python child has an environment of its own and is not traced: {words[0]}"
    if str(BOOTSTRAP_DIRECTORY) not in str(given.get("PYTHONPATH", "")).split(os.pathsep):
        return f"a Python child has a PYTHONPATH of its own and is not traced: {words[0]}"
    flag = next((word for word in words[1:2] if word in _ISOLATING), None)
    if flag is not None:
        return f"a Python child is started with {flag} and is not traced: {words[0]}"
    return ""
