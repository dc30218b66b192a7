"""Reading verbs in forks of a process that has imported what they need.

A verb's process spends most of its time on imports. The server imports once and forks a child for each
command: the child has the command's own directory, environment and streams, and runs `cltrace.cli.main`.
Recording verbs start as processes of their own, as tests look at their start; the server runs them for
tests that look only at the trace.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cltrace.commands.power import ACTIONS

SERVED: Final = frozenset(
    {
        "accuracy", "baseline", "check", "compare", "completion", "export", "help", "info", "kernel",
        "merge", "predict", "profile", "query", "recover", "summary", "timeline", "view",
    }
)  # fmt: skip
"""Verbs that start no program and ask no device."""
SERVED_PARTS: Final = frozenset(
    {("calibrate", "--from"), ("power", "import"), ("power", "predict")}
)
"""Verbs that start no program and ask no device if this word follows them."""
PRELOADED: Final = (
    "sqlite3",
    "numpy.ma",
    "rich.table",
    "cltrace.cli",
    *(f"cltrace.commands.{verb}" for verb in sorted(SERVED | {"calibrate", "run"})),
    *(f"cltrace.commands.power.{action.module}" for action in ACTIONS.values()),
    "cltrace.commands.shared.predicted_summary",
    "cltrace.predict.traces",
    "cltrace.power.energy",
    "cltrace.timeline.timekeeping",
    "cltrace.trace.parallel_read",
    "matplotlib.backends.backend_svg",
)
_AT_START: Final = ("PYTHON", "LC_", "LANG", "MPL")
"""Prefixes of environment variables that Python or a library reads when it starts."""


def is_served(
    words: Sequence[object], environment: Mapping[str, str], *, for_trace: bool = False
) -> bool:
    """Return whether the server can run a command as a process of its own would.

    `for_trace` is whether only the trace matters of a command that is recorded.
    """
    is_reading = bool(words) and (words[0] in SERVED or tuple(words[:2]) in SERVED_PARTS)
    is_recording = for_trace and bool(words) and words[0] == "run"
    return (is_reading or is_recording) and not any(map(_is_for_start, environment))


def _is_for_start(name: str) -> bool:
    return name.startswith(_AT_START)


class VerbServer:
    """A process that runs verbs. Used by one test at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.verb_server"],
            cwd=Path(__file__).parents[1],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self, words: Sequence[str], cwd: Path, environment: Mapping[str, str]
    ) -> tuple[int, bytes, bytes]:
        """Run a verb. Returns its status, negative for a signal, and what it wrote."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            request = {
                "words": list(words),
                "cwd": str(cwd),
                "environment": dict(environment),
                "streams": [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)],
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            out.seek(0)
            err.seek(0)
            return status, out.read(), err.read()

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()


def serve() -> None:
    """Run the verbs that stdin asks for, one per line, and say their statuses on stdout."""
    for name in PRELOADED:
        __import__(name)
    gc.freeze()  # a child's collections leave the pages alone that it shares with the server
    for line in sys.stdin.buffer:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request)
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(request: Mapping[str, Any]) -> None:
    """Become the verb; never returns."""
    from cltrace.cli import main  # noqa: PLC0415 - loaded by the server

    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, path in ((0, None), (1, request["streams"][0]), (2, request["streams"][1])):
        os.dup2(nothing if path is None else os.open(path, os.O_WRONLY | os.O_APPEND), target)
    status = 0
    try:
        sys.argv = ["cltrace", *request["words"]]
        main(request["words"])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    serve()
