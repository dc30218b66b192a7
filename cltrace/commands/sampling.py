"""Runs of a command as samples: each is traced, read and forgotten."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cltrace.commands.child import resolved, traced_environment
from cltrace.errors import BenchmarkFailedError
from cltrace.regress.comparison import Round
from cltrace.regress.samples import DROPPED, RunSample, sample_of
from cltrace.report.text import plain
from cltrace.timeline.timekeeping import finalise
from cltrace.trace import recording
from cltrace.trace.reader import Trace
from cltrace.trace.spool.layout import untraced_reasons
from cltrace.trace.spool.settings import Settings

_SAID_LINES: Final = 5
_MOST_SAID: Final = 64 << 10
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """A command, as words behind `run`, and the directory that it runs in."""

    words: tuple[str, ...]
    directory: Path


@dataclass(frozen=True, slots=True)
class Sampling:
    """How samples are made: `drop` first launches of each kernel do not count, `tell` hears of runs."""

    drop: int = DROPPED
    tell: Callable[[str], None] = lambda _: None

    def pairs(self, base: Place, head: Place, count: int) -> Round:
        """So many pairs of runs, in turns: base, head, head, base, and so on; what drifts hits both.

        Raises: `BenchmarkFailedError`, `RefusedError`.
        """
        bases: list[RunSample] = []
        heads: list[RunSample] = []
        for number in range(count):
            turn = [(base, bases), (head, heads)]
            for place, runs in turn if number % 2 == 0 else reversed(turn):
                side = "base" if runs is bases else "head"
                self.tell(f"pair {number + 1} of {count}: {side}")
                runs.append(self.run(place))
        return Round(tuple(bases), tuple(heads))

    def runs(self, place: Place, count: int) -> tuple[RunSample, ...]:
        """So many runs. Raises: `BenchmarkFailedError`, `RefusedError`."""
        found = []
        for number in range(count):
            self.tell(f"run {number + 1} of {count}")
            found.append(self.run(place))
        return tuple(found)

    def run(self, place: Place) -> RunSample:
        """One run. Its output is kept for the case that it fails.

        Raises: `BenchmarkFailedError` when the command fails or does no OpenCL, `RefusedError` when it
        cannot be started.
        """
        directory = Path(tempfile.mkdtemp(prefix="cltrace-bench-"))
        try:
            return self._run(place, directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _run(self, place: Place, directory: Path) -> RunSample:
        command = _command(place)
        begun = recording.begin(
            directory / "run.cltrace",
            place.words,
            Settings(),
            recorder_pid=os.getpid(),
            overwrite=False,
        )
        environment = traced_environment(os.environ, begun.parts, follow_children=True)
        output = directory / "output"
        status = _run_to_end(command, environment, place.directory, output)
        if status:
            raise BenchmarkFailedError(f"{_named(place)} {_ended(status)}{_said(output)}")
        reasons = untraced_reasons(begun.parts)
        recording.end(begun, status, None)
        finalise(begun.parts, begun.path)
        with Trace(begun.path) as trace:
            found = sample_of(trace, self.drop)
        if not found.kernels:
            why = (
                "; ".join(next(iter(reasons.values()), []))
                or "it launched no kernel that was timed"
            )
            raise BenchmarkFailedError(f"{_named(place)} gives no sample: {why}")
        return found


def _command(place: Place) -> list[str]:
    """The command as it is found from its directory. Raises: `RefusedError`."""
    with chdir(place.directory):
        return resolved(place.words)


def _run_to_end(
    command: Sequence[str], environment: dict[str, str], directory: Path, output: Path
) -> int:
    """Run without a terminal, and end all that it started when we are interrupted."""
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait()
        except BaseException:  # an interrupt, which goes on when the command has ended
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
                    break
            raise


def _named(place: Place) -> str:
    return plain(" ".join(place.words)[:100])


def _ended(status: int) -> str:
    if status > 0:
        return f"exited with {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def _said(output: Path) -> str:
    """The last lines of what a command said."""
    with output.open("rb") as stream:
        stream.seek(max(output.stat().st_size - _MOST_SAID, 0))
        text = stream.read().decode("utf-8", "replace")
    lines = [plain(one) for one in text.splitlines() if one.strip()]
    return ": " + " / ".join(lines[-_SAID_LINES:])[-1000:] if lines else ", and said nothing"
