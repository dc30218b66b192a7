"""Program as a meter: it prints readings (`lines`), and cltrace reads its output while it runs.

cltrace starts the program with `-i MS`, the period in ms, and ends it with SIGTERM. With `-c` the program
checks that it can read, and exits 0 if so.
"""

import os
import select
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

_CHECK_TIMEOUT_S: Final = 10.0
_END_TIMEOUT_S: Final = 1.0
_MAX_INTERVAL_S: Final = 1.0
"""Maximum time between reads: a pipe holds 64 kB, which a meter with 1,000 lines per second fills."""
_MAX_READ_BYTES: Final = 1 << 20
"""Maximum output between two reads: 25 times what a meter with 1,000 lines per second prints."""
_MAX_LINE_BYTES: Final = 64 << 10
_MAX_ERROR_BYTES: Final = 64 << 10
_MAX_AGE_NS: Final = 10_000_000_000
"""Maximum age of a reading when the meter is started."""
_MAX_AHEAD_NS: Final = 1_000_000_000
_JITTER_NS: Final = 10_000_000
"""Maximum change of the difference between the wall clock and the host's clock from read to read."""


class ExecReader:
    """Reader of a program's output. Its argument is the command, split as by a shell."""

    api: ClassVar[int] = API
    kind: ClassVar[Literal["live"]] = "live"
    period_s: ClassVar[float] = 0.1

    def __init__(self, argument: str = "") -> None:
        self._argument = argument

    def probe(self) -> Probe:
        """Run the program's own check."""
        words: list[str] = []
        try:
            words = self._words()
            status, errors = _run_check([*words, "-c"])
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
            return Probe(
                ProbeState.FROZEN, f"{words[0]} -c took more than {_CHECK_TIMEOUT_S:.0f} s"
            )
        if status:
            reason = _last_line(errors) or f"it exited {status}"
            return Probe(ProbeState.UNSUPPORTED, f"{words[0]} -c: {reason}")
        return Probe(ProbeState.OK, f"{words[0]} reports that it can read")

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
    """Running program. `channels` grows as its lines name further ones."""

    longest_interval_s = _MAX_INTERVAL_S

    def __init__(self, words: Sequence[str]) -> None:
        self._name = words[0]
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        # In its own session, the program does not get the terminal's signals to the traced program.
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._descriptor = self._process.stdout.fileno()
        os.set_blocking(self._descriptor, False)
        self._lines = LineReader(f"exec:{os.path.basename(self._name)}")  # noqa: PTH119 - a word
        self._unfinished_line = b""
        self._begin_ns = time.perf_counter_ns()
        self._latest_ns: dict[str, int] = {}

    @property
    def channels(self) -> Sequence[Channel]:
        """Channels that the lines have named so far."""
        return self._lines.channels

    def read(self) -> Iterator[Sample]:
        """Yield the printed readings. Raises: `PowerError` if it ended, or printed an invalid line."""
        text, has_ended = self._read_output()
        self._check_amount(len(text))
        *lines, self._unfinished_line = (self._unfinished_line + text).split(b"\n")
        now_ns = time.perf_counter_ns()
        offset_ns = now_ns - time.time_ns()
        for sample in self._lines.samples(line.decode("utf-8", "replace") for line in lines):
            time_ns = sample.time_ns + offset_ns
            if not self._begin_ns - _MAX_AGE_NS < time_ns < now_ns + _MAX_AHEAD_NS:
                away_s = (time_ns - now_ns) * 1e-9
                raise PowerError(
                    f"{self._name}: a reading is {away_s:+.1f} s from now: times are µs since 1970"
                )
            if time_ns < self._latest_ns.get(sample.key, time_ns) - _JITTER_NS:
                raise PowerError(f"{self._name}: times of readings go back")
            self._latest_ns[sample.key] = time_ns
            yield sample._replace(time_ns=time_ns)
        if has_ended:
            self._errors.seek(0)
            message = _last_line(self._errors.read(_MAX_READ_BYTES))
            status = self._process.wait()
            reason = f": {message}" if message else ""
            raise PowerError(f"{self._name} ended with {status}{reason}")

    def close(self) -> None:
        """End the program."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _read_output(self) -> tuple[bytes, bool]:
        """Return the available output, and true at its end."""
        output = b""
        while len(output) <= _MAX_READ_BYTES:
            try:
                part = os.read(self._descriptor, _MAX_READ_BYTES)
            except BlockingIOError:
                return output, False
            if not part:
                return output, True
            output += part
        return output, False

    def _check_amount(self, output_bytes: int) -> None:
        """Raise `PowerError` for a program that prints more than readings."""
        has_long_line = len(self._unfinished_line) > _MAX_LINE_BYTES
        if output_bytes > _MAX_READ_BYTES or has_long_line:
            raise PowerError(
                f"{self._name} prints too much: more than {_MAX_READ_BYTES >> 10} kB between two "
                f"reads, or a line of more than {_MAX_LINE_BYTES >> 10} kB; it was ended"
            )
        if os.fstat(self._errors.fileno()).st_size > _MAX_READ_BYTES:
            raise PowerError(
                f"{self._name} prints more than {_MAX_READ_BYTES >> 10} kB of errors; it was ended"
            )


def _run_check(words: Sequence[str]) -> tuple[int, bytes]:
    """Return the exit status of a program and the beginning of its errors.

    A program that prints more is ended. Raises: `OSError`, `subprocess.TimeoutExpired`.
    """
    deadline_s = time.monotonic() + _CHECK_TIMEOUT_S
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        descriptor, errors, part = process.stderr.fileno(), b"", b"-"
        try:
            while part and len(errors) < _MAX_ERROR_BYTES:
                left_s = max(deadline_s - time.monotonic(), 0.0)
                if not select.select([descriptor], [], [], left_s)[0]:
                    raise subprocess.TimeoutExpired(words, _CHECK_TIMEOUT_S)
                part = os.read(descriptor, _MAX_ERROR_BYTES)
                errors += part
            if part:
                return -int(signal.SIGKILL), b"it prints too much"
            return process.wait(max(deadline_s - time.monotonic(), 0.0)), errors
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
