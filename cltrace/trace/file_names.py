"""Names of trace files: expansion of patterns, and default names."""

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
_MAX_NUMBER: Final = 100_000
_MAX_STEM_LENGTH: Final = 60


def expand_pattern(pattern: str, environment: Mapping[str, str]) -> Path:
    """Return the path for a file name pattern.

    `%p` becomes the number of this process, `%h` the host name, `%t` the time in UTC, `%n` the lowest
    number that makes an unused name, `%q{VAR}` an environment variable, `%%` a per cent sign.

    Raises: `UsageError` for any other character after a per cent sign, or for an unset variable.
    """

    def replacement(match: "re.Match[str]") -> str:
        variable, letter = match["variable"], match["letter"]
        if variable is not None:
            if variable not in environment:
                raise UsageError(f"-o {pattern}: the environment has no variable {variable!r}")
            return _UNSAFE.sub("_", environment[variable])
        if letter == "n":
            return "\0"
        values = {"p": str(os.getpid()), "h": _host(), "t": _now(), "%": "%"}
        if letter not in values:
            raise UsageError(
                f"-o {pattern}: unknown placeholder {match[0]!r}; use %p %h %t %n %q{{VAR}} %%"
            )
        return values[letter]

    text = _PATTERN.sub(replacement, pattern)
    return Path(text) if "\0" not in text else _first_unused(text)


def default_name(command: Sequence[str], rank: int | None) -> str:
    """Return the default name of a command's trace: program, time, rank, and number of this process."""
    parts = [_stem(command), _now()]
    if rank is not None:
        parts.append(f"rank{rank}")
    parts.append(str(os.getpid()))
    return "-".join(parts) + TRACE_SUFFIX


def _stem(command: Sequence[str]) -> str:
    """Return the name of the program in a command, or of the script or module that it interprets."""
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
    return _UNSAFE.sub("_", name).strip("._-")[:_MAX_STEM_LENGTH] or "trace"


def _first_unused(text: str) -> Path:
    for number in range(1, _MAX_NUMBER):
        path = Path(text.replace("\0", str(number)))
        if not path.exists() and not path.with_name(path.name + ".parts").exists():
            return path
    raise UsageError(f"-o {text!r}: {_MAX_NUMBER} names are taken")


def _host() -> str:
    return _UNSAFE.sub("_", socket.gethostname())


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
