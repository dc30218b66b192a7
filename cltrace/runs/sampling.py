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

from cltrace.errors import BenchmarkFailedError, RefusedError
from cltrace.power.sampler import ChosenReader
from cltrace.regress.runs import Round, RunSample
from cltrace.regress.samples import DROPPED, Depth
from cltrace.runs.child import resolved, traced_environment
from cltrace.runs.modelled_sample import sampled
from cltrace.runs.power_recording import PowerBeside
from cltrace.spool.layout import untraced_reasons
from cltrace.spool.settings import Settings
from cltrace.timeline.timekeeping import finalise
from cltrace.trace import recording
from cltrace.trace.reader import Trace

_SAID_LINES: Final = 5
_MOST_SAID: Final = 64 << 10
_END_S: Final = 5.0
_TAIL_S: Final = 0.2
"""Power is read so long after a run: sensors are late."""


@dataclass(frozen=True, slots=True)
class Place:
    """A command, as words behind `run`, and the directory that it runs in."""

    words: tuple[str, ...]
    directory: Path


@dataclass(frozen=True, slots=True)
class Sampling:
    """How samples are made: `drop` first launches of each kernel do not count.

    `tell` hears of runs, `warn` of readers that did not read; `readers` read power beside each run. Of
    the first `deep` runs of a side it is counted what kernels had to do: the others do the same.
    """

    drop: int = DROPPED
    tell: Callable[[str], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    readers: Sequence[ChosenReader] = ()
    deep: int = 2

    def pairs(self, base: Place, head: Place, count: int) -> Round:
        """So many pairs of runs, in turns: base, head, head, base, and so on; what drifts hits both.

        Raises: `BenchmarkFailedError`.
        """
        bases: list[RunSample] = []
        heads: list[RunSample] = []
        for number in range(count):
            turn = [(base, bases), (head, heads)]
            for place, runs in turn if number % 2 == 0 else reversed(turn):
                side = "base" if runs is bases else "head"
                self.tell(f"pair {number + 1} of {count}: {side}")
                runs.append(self.run(place, self._depth(number)))
        return Round(tuple(bases), tuple(heads))

    def runs(self, place: Place, count: int) -> tuple[RunSample, ...]:
        """So many runs. Raises: `BenchmarkFailedError`."""
        found = []
        for number in range(count):
            self.tell(f"run {number + 1} of {count}")
            found.append(self.run(place, self._depth(number)))
        return tuple(found)

    def run(self, place: Place, depth: Depth = Depth.TIMES) -> RunSample:
        """One run. Its output is kept for the case that it fails.

        Raises: `BenchmarkFailedError` when the command fails, does no OpenCL or cannot be started.
        """
        directory = Path(tempfile.mkdtemp(prefix="cltrace-bench-"))
        try:
            return self._run(place, directory, depth)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _depth(self, number: int) -> Depth:
        return Depth.WORK if number < self.deep else Depth.TIMES

    def _run(self, place: Place, directory: Path, depth: Depth) -> RunSample:
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
        power = PowerBeside(begun.parts, self.readers, environment)
        try:
            status = _run_to_end(command, environment, place.directory, output, power.start)
        except OSError as error:
            raise BenchmarkFailedError(
                f"{_named(place)} cannot be run: {error.strerror}"
            ) from error
        finally:
            said = power.stop(_TAIL_S)
        if status:
            raise BenchmarkFailedError(f"{_named(place)} {_ended(status)}{_said(output)}")
        reasons = untraced_reasons(begun.parts)
        recording.end(begun, status, None)
        finalise(begun.parts, begun.path)
        with Trace(begun.path) as trace:
            found = sampled(trace, self.drop, depth)
        for text in said:
            self.warn(text)
        if not found.kernels:
            why = (
                "; ".join(next(iter(reasons.values()), []))
                or "it launched no kernel that was timed"
            )
            raise BenchmarkFailedError(f"{_named(place)} gives no sample: {why}")
        return found


def _command(place: Place) -> list[str]:
    """The command as it is found from its directory. Raises: `BenchmarkFailedError`."""
    try:
        with chdir(place.directory):
            return resolved(place.words)
    except RefusedError as error:
        raise BenchmarkFailedError(str(error)) from error


def _run_to_end(
    command: Sequence[str], environment: dict[str, str], directory: Path, output: Path,
    begun: Callable[[], None],
) -> int:  # fmt: skip
    """Run without a terminal, and end all that it started when we are interrupted.

    `begun` is called when it runs.
    """
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            begun()
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
    return " ".join(place.words)[:100]


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
    lines = [line for line in text.splitlines() if line.strip()]
    return ": " + " / ".join(lines[-_SAID_LINES:])[-1000:] if lines else ", and said nothing"
