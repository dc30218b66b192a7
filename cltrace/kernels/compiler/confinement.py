"""Confined runs of a compiler on untrusted source.

Clang sees files through an overlay that holds the program's own headers and nothing else, so that no
`#include` or `#embed` finds any other file, whatever its name. Limits of time, memory and file size
apply to the process and its children. The process runs in a session of its own, which is killed as a
whole.
"""

import json
import os
import posixpath
import re
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.errors import CompilerFailedError
from cltrace.kernels.limits import READING_BYTES, READING_CPU_S

PRELUDE: Final = "/cltrace/prelude.h"
"""The name under which the compiler sees the header with OpenCL C's predefined names."""
_OWN: Final = "/cltrace/"
HEADERS: Final = f"{_OWN}headers"
"""The directory in which the compiler sees a program's headers."""

_NO_MEMORY: Final = re.compile(r"LLVM ERROR: out of memory")
"""Message with which the compiler may exit, rather than abort, at the limit of its memory."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Resource limits of a compilation. `output_bytes` bounds each file that is written.

    `wall_s` ends a compiler that waits. It is far above `cpu_s`, because a loaded machine stretches time.
    """

    wall_s: float = 300.0
    cpu_s: int = int(READING_CPU_S)
    memory_bytes: int = READING_BYTES
    output_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class ConfinedRun:
    """Result of a confined run: exit status, output and diagnostics."""

    status: int
    output: str
    diagnostics: str


def run_confined(
    command: Sequence[str],
    source: str,
    headers: Mapping[str, str],
    prelude: Path,
    limits: ProcessLimits,
) -> ConfinedRun:
    """Run a compiler with `source` as its input. It sees only `prelude` and `headers`, by their names.

    Raises: `CompilerFailedError` when the compiler exceeds a limit or is killed.
    """
    with tempfile.TemporaryDirectory(prefix="cltrace-compile-") as name:
        directory = Path(name)
        overlay = directory / "overlay.json"
        overlay.write_text(
            _write_headers(directory, headers, prelude), encoding="utf-8", errors="replace"
        )
        (directory / "source.cl").write_text(source, encoding="utf-8", errors="replace")
        words = [*_limit(limits), *command, "-ivfsoverlay", str(overlay), "-o", "output", "-"]
        status = _run(words, directory, limits)
        diagnostics = _read_text(directory / "diagnostics", 1 << 20)
        if status < 0 or status > 128 or (status and _NO_MEMORY.match(diagnostics)):
            raise CompilerFailedError(_explain_kill(status, limits, diagnostics))
        output = _read_text(directory / "output", limits.output_bytes) if status == 0 else ""
        return ConfinedRun(status, output, diagnostics)


def _write_headers(directory: Path, headers: Mapping[str, str], prelude: Path) -> str:
    """Write the headers to files, and return the overlay that maps their names for `-ivfsoverlay`.

    A header is in the directory of headers, and one with an absolute name is also at that name: a source
    may include it either way.
    """
    visible = {PRELUDE: prelude}
    for number, (name, text) in enumerate(headers.items()):
        stored = directory / f"header-{number}.h"
        stored.write_text(text, encoding="utf-8", errors="replace")
        inside = posixpath.normpath(posixpath.join(HEADERS, name.lstrip("/")))
        outside = posixpath.normpath(name)
        if inside.startswith(_OWN):
            visible[inside] = stored
        if name.startswith("/") and not outside.startswith((_OWN, "//")):
            visible[outside] = stored
    roots = [
        {"type": "file", "name": name, "external-contents": str(stored)}
        for name, stored in visible.items()
    ]
    overlay = {
        "version": 0,
        "case-sensitive": True,
        "use-external-names": False,
        "redirecting-with": "redirect-only",
        "roots": roots,
    }
    return json.dumps(overlay)


def _limit(limits: ProcessLimits) -> list[str]:
    """Return the words of a shell that sets the limits and then executes the command after them."""
    script = (
        f"ulimit -c 0; ulimit -t {limits.cpu_s}; ulimit -v {limits.memory_bytes >> 10};"
        f" ulimit -f {max(limits.output_bytes >> 9, 1)};"
        ' exec "$@" <source.cl >diagnostics 2>&1'
    )
    return ["/bin/sh", "-c", script, "sh"]


def _run(words: Sequence[str], directory: Path, limits: ProcessLimits) -> int:
    """Run in a session of its own, and return the exit status, which is negative after a signal.

    Raises: `CompilerFailedError` when it takes longer than `wall_s`.
    """
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "TMPDIR": str(directory),
        "HOME": str(directory),
    }
    process = subprocess.Popen(
        words,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return _wait(process, limits.wall_s)
    except subprocess.TimeoutExpired as expired:
        raise CompilerFailedError(
            f"compiling did not end within {limits.wall_s:g} s: the machine may be busy, try again"
        ) from expired
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """Return the exit status of a process. Raises: `subprocess.TimeoutExpired`.

    `Popen.wait` with a timeout polls, in steps of up to 50 ms; a compilation takes less than that.
    """
    with suppress(AttributeError, OSError):
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(int(timeout_s * 1000))
        finally:
            os.close(descriptor)
        timeout_s = 0.0
    return process.wait(timeout_s)


def _read_text(path: Path, max_bytes: int) -> str:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(max_bytes).decode("utf-8", "replace")
    return ""


def _explain_kill(status: int, limits: ProcessLimits, diagnostics: str) -> str:
    """Return the error message for a compiler that was killed by a signal."""
    number = -status if status < 0 else status - 128
    if number in {signal.SIGXCPU, signal.SIGKILL}:
        return f"compiling took more than the limit of {limits.cpu_s} s of CPU time"
    if number == signal.SIGXFSZ:
        return f"compiling wrote more than {limits.output_bytes >> 20} MiB"
    if (
        "out of memory" in diagnostics.lower()
        or "bad_alloc" in diagnostics
        or number == signal.SIGABRT
    ):
        return f"compiling took more than {limits.memory_bytes >> 30} GiB of memory"
    with suppress(ValueError):
        return f"the compiler was killed by {signal.Signals(number).name}"
    return f"the compiler was killed by signal {number}"
