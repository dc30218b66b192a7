"""Running a compiler on a stranger's source: what it may see, and how much it may use.

clang sees files through an overlay that holds the program's own headers and nothing else, so that no
`#include` or `#embed` finds any other file, whatever its name. Limits of time, memory and file size
hold for the process and what it starts; it runs in a session of its own, which is killed as a whole.
"""

import json
import os
import posixpath
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.errors import CompilerFailedError

PRELUDE: Final = "/cltrace/prelude.h"
"""The name under which the compiler sees what OpenCL C predefines."""
HEADERS: Final = "/cltrace/headers"
"""The directory in which the compiler sees a program's headers."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What compiling may use. `output_bytes` bounds each file that is written."""

    wall_s: float = 30.0
    cpu_s: int = 20
    memory_bytes: int = 4 << 30
    output_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a compilation ended: its exit status, its output and what it said."""

    status: int
    output: str
    said: str


def run_confined(
    command: Sequence[str], source: str, headers: Mapping[str, str], prelude: Path, limits: Limits
) -> Outcome:
    """Run a compiler with `source` as its input. It sees `prelude` and `headers`, by their names.

    Raises: `CompilerFailedError` when it goes over a limit or is killed.
    """
    with tempfile.TemporaryDirectory(prefix="cltrace-compile-") as name:
        room = Path(name)
        overlay = room / "overlay.json"
        overlay.write_text(_overlay(room, headers, prelude), encoding="utf-8", errors="replace")
        (room / "source.cl").write_text(source, encoding="utf-8", errors="replace")
        words = [*_limited(limits), *command, "-ivfsoverlay", str(overlay), "-o", "output", "-"]
        status = _wait(words, room, limits)
        said = _text(room / "said", 1 << 20)
        if status < 0 or status > 128:
            raise CompilerFailedError(_death(status, limits, said))
        output = _text(room / "output", limits.output_bytes) if status == 0 else ""
        return Outcome(status, output, said)


def _overlay(room: Path, headers: Mapping[str, str], prelude: Path) -> str:
    """The files that the compiler sees, for clang's `-ivfsoverlay`."""
    seen = {PRELUDE: prelude}
    for number, (name, text) in enumerate(headers.items()):
        stored = room / f"header-{number}.h"
        stored.write_text(text, encoding="utf-8", errors="replace")
        seen[posixpath.normpath(posixpath.join(HEADERS, name.lstrip("/")))] = stored
    roots = [
        {"type": "file", "name": name, "external-contents": str(stored)}
        for name, stored in seen.items()
        if name.startswith("/cltrace/")
    ]
    form = {
        "version": 0,
        "case-sensitive": True,
        "use-external-names": False,
        "redirecting-with": "redirect-only",
        "roots": roots,
    }
    return json.dumps(form)


def _limited(limits: Limits) -> list[str]:
    """A shell that sets the limits and becomes the command."""
    script = (
        f"ulimit -c 0; ulimit -t {limits.cpu_s}; ulimit -v {limits.memory_bytes >> 10};"
        f" ulimit -f {max(limits.output_bytes >> 9, 1)};"
        ' exec "$@" <source.cl >said 2>&1'
    )
    return ["/bin/sh", "-c", script, "sh"]


def _wait(words: Sequence[str], room: Path, limits: Limits) -> int:
    """Run to the end, in a session of its own. What is killed by a signal has a negative status."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TMPDIR": str(room), "HOME": str(room)}
    process = subprocess.Popen(
        words,
        cwd=room,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limits.wall_s)
    except subprocess.TimeoutExpired:
        return -int(signal.SIGXCPU)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _text(path: Path, most_bytes: int) -> str:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(most_bytes).decode("utf-8", "replace")
    return ""


def _death(status: int, limits: Limits, said: str) -> str:
    number = -status if status < 0 else status - 128
    if number in {signal.SIGXCPU, signal.SIGKILL}:
        return f"compiling took more than {limits.cpu_s} s: the source is not one to be compiled"
    if number == signal.SIGXFSZ:
        return f"compiling wrote more than {limits.output_bytes >> 20} MiB"
    if "out of memory" in said.lower() or "bad_alloc" in said or number == signal.SIGABRT:
        return f"compiling took more than {limits.memory_bytes >> 30} GiB of memory"
    with suppress(ValueError):
        return f"the compiler was killed by {signal.Signals(number).name}"
    return f"the compiler was killed by signal {number}"
