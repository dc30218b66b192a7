"""Detection of Python children that will not be traced because their environment lacks cltrace."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cltrace.intercept.native.environment import LAYERS_VARIABLE, library_that_records_python
from cltrace.intercept.shell_scripts import is_shell_command, script_fault
from cltrace.intercept.tracebacks import hide_own_frames, is_from_signal_handler
from cltrace.spool.layout import FILE_MODE, untraced_file

if TYPE_CHECKING:
    import subprocess

SESSION_VARIABLE: Final = "CLTRACE_SESSION"
"""Path of the parts directory of the recording that a process belongs to."""

BOOTSTRAP_DIRECTORY: Final = Path(__file__).parent / "bootstrap"
"""First entry on the `PYTHONPATH` of a traced family of processes."""

_ISOLATING_FLAGS: Final = ("-I", "-E", "-S")


def report_untraced(parts: Path, reason: str) -> None:
    """Write the reason why a process is not traced to the file that the parent reads. Never raises."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = os.open(untraced_file(parts, os.getpid()), flags, FILE_MODE)
        with os.fdopen(descriptor, "w", errors="replace") as file:
            file.write(f"{reason}\n")
    except OSError:
        return


def watch_children(parts: str) -> None:
    """Report in `parts` each kind of child of the program that cannot join the recording.

    The program has imported `subprocess`.
    """
    popen = sys.modules["subprocess"].Popen
    original = popen.__init__
    reported: set[str] = set()
    recording_library = library_that_records_python(Path(parts))
    library = None if recording_library is None else str(recording_library)

    def hook(process: "subprocess.Popen[Any]", args: Any, *rest: Any, **options: Any) -> None:
        try:
            try:
                reason = _untraced_reason(args, rest, options, library)
            except Exception as fault:
                if is_from_signal_handler(fault):
                    raise
                reason = ""  # Popen refuses these arguments and says why
            if reason and reason not in reported:
                reported.add(reason)
                report_untraced(Path(parts), reason)
            original(process, args, *rest, **options)
        except BaseException as error:
            hide_own_frames(error)
            raise

    for name in ("__name__", "__qualname__", "__doc__", "__wrapped__"):
        setattr(hook, name, original if name == "__wrapped__" else getattr(original, name))
    popen.__init__ = hook


_SHELL_POSITION: Final = 7
"""Position of `shell` among the arguments of `Popen` after `args`."""

_ENVIRONMENT_POSITION: Final = 9
"""Position of `env` among the arguments of `Popen` after `args`."""


def _untraced_reason(
    args: Any, rest: Sequence[Any], options: dict[str, Any], library: str | None
) -> str:
    """Return why the Python child that these arguments start is not traced; empty if it is traced.

    `library` is the layer that records Python processes, `None` if there is none.
    """
    environment = _argument("env", _ENVIRONMENT_POSITION, rest, options)
    variables = os.environ if environment is None else environment
    words = list(map(os.fsdecode, args if isinstance(args, (list, tuple)) else [args]))
    fault = _environment_fault(variables, library)
    if _argument("shell", _SHELL_POSITION, rest, options) or is_shell_command(words):
        fault = fault or script_fault(" ".join(words), _uses_layer(variables, library))
        return f"a shell {fault}: what it starts then is not traced" if fault else ""
    if not words or "python" not in Path(words[0]).name:
        return ""
    if fault:
        return f"a Python child {fault} and is not traced: {words[0]}"
    flag = next((word for word in words[1:2] if word in _ISOLATING_FLAGS), None)
    if flag is not None and not _uses_layer(variables, library):
        return f"a Python child is started with {flag} and is not traced: {words[0]}"
    return ""


def _argument(name: str, position: int, rest: Sequence[Any], options: dict[str, Any]) -> Any:
    """Return an argument of `Popen`, `None` if it was not given."""
    return options.get(name, rest[position] if len(rest) > position else None)


def _uses_layer(variables: Mapping[Any, Any], library: str | None) -> bool:
    return library is not None and library in str(variables.get(LAYERS_VARIABLE, "")).split(":")


def _environment_fault(variables: Mapping[Any, Any], library: str | None) -> str:
    """Return why Python programs with these variables are not traced; empty if they are."""
    if SESSION_VARIABLE not in variables:
        return "has an environment of its own"
    own_path = str(variables.get("PYTHONPATH", "")).split(os.pathsep)
    if _uses_layer(variables, library) or str(BOOTSTRAP_DIRECTORY) in own_path:
        return ""
    return "has a PYTHONPATH of its own"
