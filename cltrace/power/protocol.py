"""Protocols that power readers implement.

Other distributions may provide readers: the entry-point group `cltrace.power_readers` names a class, and
the `kind` of this class selects one of two protocols.

cltrace calls a *live* reader while a program runs. A *log* reader converts a file to samples afterwards.
Both only read: they do not change the state of a device, and cltrace unwraps counters, integrates power
and attributes energy. Values are whole steps of a channel's unit. Times are in ns on the host's
monotonic clock (`time.perf_counter_ns`, `CLOCK_MONOTONIC`), or for logs on the wall clock.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, Literal, NamedTuple, Protocol, TypeAlias

from cltrace.events.power import PowerChannel, ProbeState, Quantity, SampleFlag, Scope
from cltrace.trace.reader import Trace

API: Final = 1
"""Version of these protocols. A reader's `api` is the version for which it was written."""


_MAX_UNIT: Final = 1e6
_MAX_REAL: Final = 1e9
_MAX_STEPS: Final = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Channel as its reader declares it. `cltrace.events.power.PowerChannel` explains the fields."""

    key: str
    label: str
    quantity: Quantity
    scope: Scope
    unit_per_step: float
    inside: str = ""
    device: str = ""
    modulus_steps: int | None = None
    quantum: float | None = None
    period_s: float | None = None
    window_s: float | None = None
    delay_s: float | None = None
    lag_s: float | None = None
    gain_error: float | None = None
    is_estimated: bool = False
    note: str = ""

    def to_record(self, number: int, host: str, reader: str) -> PowerChannel:
        """Return the record of the channel that a recording stores."""
        return PowerChannel(
            id=number,
            host=host,
            key=self.key,
            reader=reader,
            label=self.label,
            quantity=str(self.quantity),
            scope=str(self.scope),
            inside=self.inside,
            device=self.device,
            unit_per_step=float(self.unit_per_step),
            modulus_steps=self.modulus_steps,
            quantum=self.quantum,
            period_s=self.period_s,
            window_s=self.window_s,
            delay_s=self.delay_s,
            lag_s=self.lag_s,
            gain_error=self.gain_error,
            is_estimated=self.is_estimated,
            note=self.note,
        )


def validate_channel(channel: PowerChannel) -> PowerChannel:
    """Return a channel with the numbers that a trace can store.

    Any other impossible number becomes `None`. Raises: `ValueError` for an impossible unit.
    """
    if not 0 < channel.unit_per_step < _MAX_UNIT:
        raise ValueError(f"channel {channel.key!r} has steps of {channel.unit_per_step}")
    modulus = channel.modulus_steps
    return replace(
        channel,
        modulus_steps=modulus if modulus is not None and 0 < modulus < _MAX_STEPS else None,
        quantum=_valid_or_none(channel.quantum),
        period_s=_valid_or_none(channel.period_s),
        window_s=_valid_or_none(channel.window_s),
        delay_s=_valid_or_none(channel.delay_s),
        lag_s=_valid_or_none(channel.lag_s),
        gain_error=_valid_or_none(channel.gain_error),
    )


def _valid_or_none(value: float | None) -> float | None:
    return value if value is not None and 0 <= value < _MAX_REAL else None


class Sample(NamedTuple):
    """Reading of a channel: `raw` steps at `time_ns` ± `within_ns`."""

    key: str
    time_ns: int
    raw: int
    within_ns: int = 0
    flags: SampleFlag = SampleFlag(0)

    @classmethod
    def taken(cls, key: str, read: Callable[[], int]) -> "Sample":
        """Call `read` and return a sample of its value.

        The time is the middle of the call, and `within_ns` half of its duration. Raises: the errors of
        `read`.
        """
        before_ns = time.perf_counter_ns()
        raw = read()
        after_ns = time.perf_counter_ns()
        middle_ns = (before_ns + after_ns) // 2
        return cls(key, middle_ns, raw, after_ns - middle_ns)


@dataclass(frozen=True, slots=True)
class Probe:
    """Result of looking for a sensor.

    `evidence` states what the reader examined and its content. `remedy` tells the user what to do about
    it, and `security` what this remedy means for the security of the machine.
    """

    state: ProbeState
    evidence: str
    remedy: str = ""
    security: str = ""
    channels: tuple[Channel, ...] = ()

    @property
    def is_ok(self) -> bool:
        """True if the reader can read."""
        return self.state is ProbeState.OK


class OpenReader(Protocol):
    """Open live reader. It loses samples when it is read less often than `longest_interval_s`."""

    channels: Sequence[Channel]
    longest_interval_s: float

    def read(self) -> Iterable[Sample]:
        """Return the samples since the last call. Raises: any exception; the reader is then dropped."""

    def close(self) -> None:
        """Release the sensor."""


class LiveReader(Protocol):
    """Reader that reads while a program runs. Its argument is the text after `NAME:`, "" for none."""

    api: ClassVar[int]
    kind: ClassVar[Literal["live"]]
    period_s: ClassVar[float]
    """Default time between two reads."""

    def __init__(self, argument: str = "") -> None:
        """Store the argument without looking at the sensor yet."""

    def probe(self) -> Probe:
        """Check that the sensor can be read. Never raises, and changes no state."""

    def open(self, period_s: float) -> OpenReader:
        """Start to read, about every `period_s`. Raises: any exception; the recording goes on."""


class LogClock(StrEnum):
    """Clock of the times in a log."""

    WALL = "wall"
    """ns since 1970, UTC."""
    HOST = "host"
    """Monotonic clock of the traced host: the log needs no alignment."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Request to read a log file for a trace.

    `time_zone` names the zone of times that contain no zone. `columns` are the pairs of a column of the
    log and its scope that the user gave.
    """

    path: Path
    trace: Trace
    time_zone: str = "UTC"
    columns: tuple[tuple[str, str], ...] = ()
    warn: Callable[[str], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class Log:
    """Content of a log. The samples of a channel are in ascending order of time."""

    channels: tuple[Channel, ...]
    samples: tuple[Sample, ...]
    clock: LogClock


class LogReader(Protocol):
    """Reader of log files. Its argument is the text after `NAME:`, "" for none."""

    api: ClassVar[int]
    kind: ClassVar[Literal["log"]]

    def __init__(self, argument: str = "") -> None:
        """Store the argument without reading anything yet."""

    def probe(self) -> Probe:
        """Check that it can read logs here, and describe them. Never raises."""

    def read_log(self, request: LogRequest) -> Log:
        """Read a log. Raises: `PowerError` for a log that it cannot read."""


Reader: TypeAlias = LiveReader | LogReader
