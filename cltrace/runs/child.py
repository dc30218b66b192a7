"""Running the traced command as a child: its environment, its signals, its end."""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

from cltrace.errors import CommandNotExecutableError, CommandNotFoundError, RefusedError
from cltrace.intercept.autostart import FIRST_ONLY_VARIABLE, RECORDER_VARIABLE
from cltrace.intercept.children import BOOTSTRAP_DIRECTORY, SESSION_VARIABLE
from cltrace.runs.group_witness import GroupWitness

_FORWARDED: Final = (
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU),
    *(
        signal.SIGALRM,
        signal.SIGVTALRM,
        signal.SIGPROF,
        signal.SIGIO,
        signal.SIGPWR,
        signal.SIGSTKFLT,
    ),
    *range(signal.SIGRTMIN, signal.SIGRTMAX + 1),
    *(signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT),
)
"""Signals that are forwarded to the command if cltrace alone receives them. If the whole process group
does, as from a terminal, the command has them already. They are all that would end cltrace, but for those
of its own faults and `SIGKILL`."""

_SENT_TO_GROUPS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT)
"""Signals that terminals and shells send, always to the group."""

_MAX_NAME_BYTES: Final = 255
"""Limit of Linux's file systems for the name of a file."""

_MAX_INTERPRETER_BYTES: Final = 256
"""Limit of Linux for the line of a script that names its interpreter."""

_PYTHON_SWITCH: Final = re.compile(r"-[ObBdEiIPqsSuvx]+|-[WX].+")
"""Options of Python after which the script may follow."""

_PYTHON_VALUED: Final = frozenset(("-W", "-X"))
"""Options of Python whose value is the next word."""

MISSING_SCRIPT_STATUS: Final = 2
"""Exit status of a Python that cannot open its script."""


def _check_names(first: str) -> None:
    """Raise `CommandNotFoundError` for a path with a name that is longer than any name of a file."""
    if any(len(os.fsencode(part)) > _MAX_NAME_BYTES for part in Path(first).parts):
        raise CommandNotFoundError(f"{first[:40]}… is longer than any name of a file")


def resolve_command(words: Sequence[str]) -> list[str]:
    """Return the command to execute for the words after `run`.

    A Python file that is not executable, `-m` and `-c` run in this interpreter; anything else is looked
    up as a shell would.

    Raises: `RefusedError`, which `CommandNotFoundError` and `CommandNotExecutableError` are.
    """
    if not words:
        raise RefusedError("say what to run: `cltrace run python app.py`")
    first = words[0]
    if first in {"-m", "-c"}:
        if len(words) == 1:
            raise RefusedError(f"{first} needs a {'module' if first == '-m' else 'program'}")
        return [sys.executable, *words]
    _check_names(first)
    path = Path(first)
    if (
        path.suffix == ".py"
        and path.is_file()
        and not (os.sep in first and os.access(path, os.X_OK))
    ):
        return [sys.executable, *words]
    if path.is_dir():
        raise CommandNotExecutableError(f"{first} is a directory")
    executable = shutil.which(first)
    if executable is not None:
        return [executable, *words[1:]]
    if path.exists() and (os.sep in first or path.suffix == ".py"):
        raise CommandNotExecutableError(f"{first} cannot be executed")
    raise CommandNotFoundError(f"{first} was not found")


def find_missing_script(words: Sequence[str]) -> str:
    """Return the script that a command gives to a Python and that does not exist; empty otherwise.

    Such a Python ends with status `MISSING_SCRIPT_STATUS` before it runs anything.
    """
    if not words or not re.fullmatch(r"python[0-9.]*", Path(words[0]).name):
        return ""
    rest = iter(words[1:])
    for word in rest:
        if word in _PYTHON_VALUED:
            next(rest, None)
        elif not _PYTHON_SWITCH.fullmatch(word):
            # `Path.exists` raises for a name that is too long.
            return "" if word.startswith("-") or os.path.exists(word) else word  # noqa: PTH110
    return ""


def traced_environment(
    environment: Mapping[str, str], parts: Path, *, follow_children: bool
) -> dict[str, str]:
    """Return the environment in which every Python interpreter joins the recording in `parts`.

    Without `follow_children` only the first interpreter joins it.
    """
    given = environment.get("PYTHONPATH", "")
    return {
        **environment,
        "PYTHONPATH": f"{BOOTSTRAP_DIRECTORY}{os.pathsep}{given}"
        if given
        else str(BOOTSTRAP_DIRECTORY),
        SESSION_VARIABLE: str(parts),
        RECORDER_VARIABLE: str(os.getpid()),
        **({} if follow_children else {FIRST_ONLY_VARIABLE: "1"}),
    }


def _missing_interpreter(script: str) -> str:
    """Return why a script has no interpreter; empty if it names one that exists, or none."""
    try:
        with Path(script).open("rb") as file:
            first = file.readline(_MAX_INTERPRETER_BYTES)
    except OSError:
        return ""
    words = os.fsdecode(first.removeprefix(b"#!")).split()
    if not first.startswith(b"#!") or not words or Path(words[0]).exists():
        return ""
    return f"its interpreter {words[0]} was not found"


def run_to_end(
    command: Sequence[str], environment: Mapping[str, str], meanwhile: Callable[[], None]
) -> int:
    """Run a command in the foreground and return its status, negative for the signal that killed it.

    `meanwhile` is called once it runs. The command gets our streams, our open files, our process
    group; signals as `_FORWARDED` says.

    Raises: `CommandNotExecutableError` when the system does not execute it.
    """
    forwarder = _SignalForwarder()
    with forwarder.installed():
        try:
            # argv[0] is the word that the user gave: programs look at it. With a working directory
            # Python does not use `posix_spawn`, which makes the command ignore glibc's own signals.
            process = subprocess.Popen(command, env=environment, close_fds=False, cwd=".")
        except OSError as error:
            reason = _missing_interpreter(command[0]) or error.strerror
            message = f"{command[0]} cannot be executed: {reason}"
            raise CommandNotExecutableError(message) from error
        forwarder.forward_to(process)
        meanwhile()
        return process.wait()


def die_of_signal(signal_number: int) -> None:
    """End this process by a signal, as the command ended, without a core file of our own."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError, ValueError):
        signal.signal(signal_number, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal_number})
        os.kill(os.getpid(), signal_number)


class _SignalForwarder:
    """Forwarder of signals to a process, including those that arrived before it existed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._witness: GroupWitness | None = None
        self._early: list[int] = []
        self._previous: dict[int, Any] = {}

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Forward within the block. A signal that we were started to ignore is forwarded later.

        The command inherits that such a signal is ignored, as under `nohup` and in background jobs of
        shells. It may handle the signal nevertheless.
        """
        for number in _FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._take(number)
        with contextlib.suppress(
            OSError
        ):  # no process more is allowed: `_is_for_command` does without
            self._witness = GroupWitness(_FORWARDED)
        try:
            yield
        finally:
            for changed, earlier in self._previous.items():
                signal.signal(changed, earlier)
            if self._witness is not None:
                self._witness.close()

    def forward_to(self, process: "subprocess.Popen[bytes]") -> None:
        """Forward to `process` from now on, which has inherited what we ignore."""
        self._process = process
        for number in _FORWARDED:
            if number not in self._previous:
                self._take(number)
        for early in self._early:
            process.send_signal(early)

    def _take(self, number: int) -> None:
        self._previous[number] = signal.signal(number, self._forward)

    def _forward(self, number: int, _: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif self._is_for_command(number):
            self._process.send_signal(number)
        if number == signal.SIGTSTP and self._previous[number] is not signal.SIG_IGN:
            self._stop_as_by_default()

    def _stop_as_by_default(self) -> None:
        """Stop this process, as the shell that waits for it expects, until a signal continues it."""
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._forward)

    def _is_for_command(self, number: int) -> bool:
        """Return whether the command does not have a signal already that this process received."""
        is_seen = None if self._witness is None else self._witness.has_seen(number)
        return number not in _SENT_TO_GROUPS if is_seen is None else not is_seen
