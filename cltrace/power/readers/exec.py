"""Any program as a meter: it prints readings (`lines`), and cltrace reads them while it runs.

The program is started with `-i MS`, the period in ms; with `-c` it checks whether it can read at all
and exits 0 if so. It is ended with SIGTERM.
"""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, ClassVar, Final, Literal

from cltrace.errors import PowerError
from cltrace.events.power import ProbeState
from cltrace.power.protocol import API, Channel, Probe, Sample
from cltrace.power.readers.lines import LineReader

_CHECK_S: Final = 10.0
_END_S: Final = 1.0
_LONGEST_S: Final = 1.0
"""A pipe holds 64 kB: a meter that prints 1,000 lines a second has to be read so often."""
_AT_ONCE: Final = 1 << 20
_EARLIEST_NS: Final = 10_000_000_000
"""A meter may have readings of so long before it was started."""
_LATEST_NS: Final = 1_000_000_000
_JITTER_NS: Final = 10_000_000
"""Clocks that are held against each other at each read may differ by so much from one to the next."""


class ExecReader:
    """A program that prints readings. Its argument is the command, as a shell splits it."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.1

    def __init__(self, argument: str = "") -> None:
        self._argument = argument

    def probe(self) -> Probe:
        """Ask the program to check itself."""
        words: list[str] = []
        try:
            words = self._words()
            done = subprocess.run([*words, "-c"], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=_CHECK_S, check=False)  # fmt: skip
        except PowerError as error:
            return Probe(ProbeState.ABSENT, str(error))
        except PermissionError as error:
            return Probe(
                ProbeState.DENIED,
                f"{error.filename} may not be executed",
                f"chmod +x {error.filename}",
                "run no program that you do not trust",
            )
        except OSError as error:
            return Probe(ProbeState.ABSENT, f"{self._argument}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return Probe(ProbeState.FROZEN, f"{words[0]} -c took more than {_CHECK_S:.0f} s")
        if done.returncode:
            said = _last_line(done.stderr) or f"it exited {done.returncode}"
            return Probe(ProbeState.UNSUPPORTED, f"{words[0]} -c: {said}")
        return Probe(ProbeState.OK, f"{words[0]} says that it can read")

    def open(self, period_s: float) -> "OpenExec":
        """Start the program. Raises: `OSError`, `PowerError`."""
        return OpenExec([*self._words(), "-i", str(max(round(period_s * 1000), 1))])

    def _words(self) -> list[str]:
        try:
            words = shlex.split(self._argument)
        except ValueError as error:
            raise PowerError(f"{self._argument!r} is no command: {error}") from error
        if not words:
            raise PowerError("name the program: --power exec:'./meter --port 1'")
        if shutil.which(words[0]) is None and not os.path.exists(words[0]):  # noqa: PTH110 - a word
            raise PowerError(f"{words[0]} was not found")
        return words


class OpenExec:
    """The program, running. `channels` grows as its lines name them."""

    longest_interval_s = _LONGEST_S

    def __init__(self, words: Sequence[str]) -> None:
        self._name = words[0]
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        # A session of its own: what a terminal sends to the traced program is not for it.
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._descriptor = self._process.stdout.fileno()
        os.set_blocking(self._descriptor, False)
        self._lines = LineReader(f"exec:{os.path.basename(self._name)}")  # noqa: PTH119 - a word
        self._rest = b""
        self._begin_ns = time.perf_counter_ns()
        self._latest_ns: dict[str, int] = {}

    @property
    def channels(self) -> Sequence[Channel]:
        """What its lines have named."""
        return self._lines.channels

    def read(self) -> Iterator[Sample]:
        """What it printed. Raises: `PowerError` when it ended, or printed what is no reading."""
        text, is_over = self._drained()
        *whole, self._rest = (self._rest + text).split(b"\n")
        now_ns = time.perf_counter_ns()
        offset_ns = now_ns - time.time_ns()
        for sample in self._lines.samples(line.decode("utf-8", "replace") for line in whole):
            time_ns = sample.time_ns + offset_ns
            if not self._begin_ns - _EARLIEST_NS < time_ns < now_ns + _LATEST_NS:
                away_s = (time_ns - now_ns) * 1e-9
                raise PowerError(
                    f"{self._name}: a reading is {away_s:+.1f} s from now: times are µs since 1970"
                )
            if time_ns < self._latest_ns.get(sample.key, time_ns) - _JITTER_NS:
                raise PowerError(f"{self._name}: times of readings go back")
            self._latest_ns[sample.key] = time_ns
            yield sample._replace(time_ns=time_ns)
        if is_over:
            self._errors.seek(0)
            said = _last_line(self._errors.read(_AT_ONCE))
            status = self._process.wait()
            raise PowerError(f"{self._name} ended with {status}" + (f": {said}" if said else ""))

    def close(self) -> None:
        """End the program."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _drained(self) -> tuple[bytes, bool]:
        parts: list[bytes] = []
        while True:
            try:
                part = os.read(self._descriptor, _AT_ONCE)
            except BlockingIOError:
                return b"".join(parts), False
            if not part:
                return b"".join(parts), True
            parts.append(part)


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
