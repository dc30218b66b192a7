"""Runs of a command as samples: each run is traced, read and discarded."""

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
from cltrace.regress.run_records import Round, RunSample
from cltrace.regress.samples import DEFAULT_DROP, SampleDetail
from cltrace.runs.child import resolve_command, traced_environment
from cltrace.runs.command_power import PowerRecording
from cltrace.runs.predicted_sample import read_modelled_sample
from cltrace.spool.layout import untraced_reasons
from cltrace.spool.settings import Settings
from cltrace.timeline.timekeeping import finalise
from cltrace.trace import recording
from cltrace.trace.reader import Trace

_MAX_OUTPUT_LINES: Final = 5
_MAX_OUTPUT_BYTES: Final = 64 << 10
_END_TIMEOUT_S: Final = 5.0
_NO_KERNEL: Final = "it launched no kernel that was timed"
_POWER_TAIL_S: Final = 0.2
"""Time for which power is read after a run: sensors lag."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command, as the words after `run`, and its working directory."""

    words: tuple[str, ...]
    directory: Path


@dataclass(frozen=True, slots=True)
class RunSampler:
    """Sampler of a command's runs.

    Attributes:
        drop: the number of a kernel's first launches that do not count.
        report: called with the progress.
        warn: called with messages about power readers that did not read.
        readers: readers of power during each run.
        num_detailed: the number of runs per side of which the kernels' work is counted. The others do
            the same work.
    """

    drop: int = DEFAULT_DROP
    report: Callable[[str], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    readers: Sequence[ChosenReader] = ()
    num_detailed: int = 2

    def run_pairs(self, base: Invocation, head: Invocation, count: int) -> Round:
        """Run `count` pairs in turns: base, head, head, base, and so on, so that drift affects both.

        Raises: `BenchmarkFailedError`.
        """
        bases: list[RunSample] = []
        heads: list[RunSample] = []
        for number in range(count):
            pair = [(base, bases), (head, heads)]
            for invocation, samples in pair if number % 2 == 0 else reversed(pair):
                side = "base" if samples is bases else "head"
                self.report(f"pair {number + 1} of {count}: {side}")
                samples.append(self.run_once(invocation, self._detail(number)))
        return Round(tuple(bases), tuple(heads))

    def run_repeatedly(self, invocation: Invocation, count: int) -> tuple[RunSample, ...]:
        """Run a command `count` times. Raises: `BenchmarkFailedError`."""
        samples = []
        for number in range(count):
            self.report(f"run {number + 1} of {count}")
            samples.append(self.run_once(invocation, self._detail(number)))
        return tuple(samples)

    def run_once(
        self, invocation: Invocation, detail: SampleDetail = SampleDetail.TIMES
    ) -> RunSample:
        """Run a command once. Its output is kept for the message if it fails.

        Raises: `BenchmarkFailedError` when the command fails, does no OpenCL or cannot be started.
        """
        directory = Path(tempfile.mkdtemp(prefix="cltrace-bench-"))
        try:
            return self._run_in(directory, invocation, detail)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _detail(self, number: int) -> SampleDetail:
        return SampleDetail.WORK if number < self.num_detailed else SampleDetail.TIMES

    def _run_in(self, directory: Path, invocation: Invocation, detail: SampleDetail) -> RunSample:
        command = _resolve(invocation)
        begun = recording.begin(
            directory / "run.cltrace",
            invocation.words,
            Settings(),
            recorder_pid=os.getpid(),
            overwrite=False,
        )
        environment = traced_environment(os.environ, begun.parts, follow_children=True)
        output = directory / "output"
        power = PowerRecording(begun.parts, self.readers, environment)
        try:
            status = _run_to_end(command, environment, invocation.directory, output, power.start)
        except OSError as error:
            raise BenchmarkFailedError(
                f"{_command_text(invocation)} cannot be run: {error.strerror}"
            ) from error
        finally:
            messages = power.stop(_POWER_TAIL_S)
        if status:
            raise BenchmarkFailedError(
                f"{_command_text(invocation)} {_status_text(status)}{_output_text(output)}"
            )
        reasons = untraced_reasons(begun.parts)
        recording.end(begun, status, None)
        stops = finalise(begun.parts, begun.path).missing.stops
        with Trace(begun.path) as trace:
            sample = read_modelled_sample(trace, self.drop, detail)
        for message in messages:
            self.warn(message)
        if stops or not sample.kernels:
            why = "; ".join(stops or next(iter(reasons.values()), [_NO_KERNEL]))
            raise BenchmarkFailedError(f"{_command_text(invocation)} gives no sample: {why}")
        return sample


def _resolve(invocation: Invocation) -> list[str]:
    """Return the command as looked up from its directory. Raises: `BenchmarkFailedError`."""
    try:
        with chdir(invocation.directory):
            return resolve_command(invocation.words)
    except RefusedError as error:
        raise BenchmarkFailedError(str(error)) from error


def _run_to_end(
    command: Sequence[str],
    environment: dict[str, str],
    directory: Path,
    output: Path,
    on_start: Callable[[], None],
) -> int:
    """Run a command without a terminal and return its status; call `on_start` once it runs.

    An interrupt ends the command and all that it started.
    """
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            on_start()
            return process.wait()
        except BaseException:  # an interrupt, which is raised again when the command has ended
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_TIMEOUT_S)
                    break
            raise


def _command_text(invocation: Invocation) -> str:
    return " ".join(invocation.words)[:100]


def _status_text(status: int) -> str:
    if status > 0:
        return f"exited with {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def _output_text(output: Path) -> str:
    """Return the last lines of a command's output, for a message."""
    with output.open("rb") as stream:
        stream.seek(max(output.stat().st_size - _MAX_OUTPUT_BYTES, 0))
        text = stream.read().decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return ": " + " / ".join(lines[-_MAX_OUTPUT_LINES:])[-1000:] if lines else ", and said nothing"
