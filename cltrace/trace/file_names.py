"""Names of trace files: patterns, and what a trace is called when nobody says."""

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from cltrace.errors import UsageError
from cltrace.spool.layout import TRACE_SUFFIX

_PATTERN: Final = re.compile(r"%(?:q\{(?P<variable>[^}]*)\}|(?P<letter>.)|$)", re.DOTALL)
_UNSAFE: Final = re.compile(r"[^\w.+-]+", re.ASCII)
_MOST_NUMBERS: Final = 100_000
_LONGEST_STEM: Final = 60


def expanded(pattern: str, environment: Mapping[str, str]) -> Path:
    """The path that a pattern stands for.

    `%p` is this process's number, `%h` the host, `%t` the time in UTC, `%n` the first number that
    makes a name not taken yet, `%q{VAR}` a variable of the environment, `%%` a per cent sign.

    Raises: `UsageError` for anything else behind a per cent sign, or a variable that is not set.
    """

    def replaced(found: "re.Match[str]") -> str:
        variable, letter = found["variable"], found["letter"]
        if variable is not None:
            if variable not in environment:
                raise UsageError(f"-o {pattern}: the environment has no variable {variable!r}")
            return _UNSAFE.sub("_", environment[variable])
        if letter == "n":
            return "\0"
        values = {"p": str(os.getpid()), "h": _host(), "t": _now(), "%": "%"}
        if letter not in values:
            raise UsageError(
                f"-o {pattern}: {found[0]!r} means nothing; use %p %h %t %n %q{{VAR}} %%"
            )
        return values[letter]

    text = _PATTERN.sub(replaced, pattern)
    return Path(text) if "\0" not in text else _first_free(text)


def default_name(command: Sequence[str], rank: int | None) -> str:
    """What the trace of a command is called: its program, the time, and which process recorded it."""
    parts = [_stem(command), _now()]
    if rank is not None:
        parts.append(f"rank{rank}")
    parts.append(str(os.getpid()))
    return "-".join(parts) + TRACE_SUFFIX


def _stem(command: Sequence[str]) -> str:
    """The name of the program in a command: of the script or module that an interpreter runs."""
    words = ["python", *command] if command[0] in {"-m", "-c"} else list(command)
    name = Path(words[0]).name
    for position, word in enumerate(words[1:], start=1):
        if word == "-c":
            break
        if word == "-m" and position + 1 < len(words):
            name = words[position + 1]
            break
        if not word.startswith("-"):
            if Path(word).suffix in {".py", ".pyw", ".sh"}:
                name = Path(word).stem
            break
    name = name.removesuffix(".py")
    return _UNSAFE.sub("_", name).strip("._-")[:_LONGEST_STEM] or "trace"


def _first_free(text: str) -> Path:
    for number in range(1, _MOST_NUMBERS):
        path = Path(text.replace("\0", str(number)))
        if not path.exists() and not path.with_name(path.name + ".parts").exists():
            return path
    raise UsageError(f"-o {text!r}: {_MOST_NUMBERS} names are taken")


def _host() -> str:
    return _UNSAFE.sub("_", socket.gethostname())


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
