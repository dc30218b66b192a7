"""What a reader of power is.

Other distributions may bring their own: the entry-point group `cltrace.power_readers` names a class,
whose `kind` says which of two protocols it has.

A *live* reader is asked while a program runs, a *log* reader turns a file into samples afterwards. Both
only read: they change no state of a device, and leave unwrapping, integrating and attributing to
cltrace. Values are whole steps of a channel's unit, times are ns on the host's monotonic clock
(`time.perf_counter_ns`, `CLOCK_MONOTONIC`), or for logs on the wall clock.
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
"""The version of these protocols. A reader's `api` says which one it was written for."""


_MOST_UNIT: Final = 1e6
_MOST_REAL: Final = 1e9
_MOST_STEPS: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as its reader declares it. `cltrace.events.power.PowerChannel` says what each means."""

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

    def recorded(self, number: int, host: str, reader: str) -> PowerChannel:
        """As a recording keeps it."""
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


def checked(channel: PowerChannel) -> PowerChannel:
    """A channel whose numbers a trace can hold. Raises: `ValueError` for a unit that cannot be.

    What else is impossible counts as not known.
    """
    if not 0 < channel.unit_per_step < _MOST_UNIT:
        raise ValueError(f"channel {channel.key!r} has steps of {channel.unit_per_step}")
    modulus = channel.modulus_steps
    return replace(
        channel,
        modulus_steps=modulus if modulus is not None and 0 < modulus < _MOST_STEPS else None,
        quantum=_sane(channel.quantum),
        period_s=_sane(channel.period_s),
        window_s=_sane(channel.window_s),
        delay_s=_sane(channel.delay_s),
        lag_s=_sane(channel.lag_s),
        gain_error=_sane(channel.gain_error),
    )


def _sane(value: float | None) -> float | None:
    return value if value is not None and 0 <= value < _MOST_REAL else None


class Sample(NamedTuple):
    """A reading of a channel: `raw` steps at `time_ns`, give or take `within_ns`."""

    key: str
    time_ns: int
    raw: int
    within_ns: int = 0
    flags: SampleFlag = SampleFlag(0)

    @classmethod
    def taken(cls, key: str, read: Callable[[], int]) -> "Sample":
        """What `read` returns now: it was so at some time while it ran. Raises: what `read` does."""
        before_ns = time.perf_counter_ns()
        raw = read()
        after_ns = time.perf_counter_ns()
        middle_ns = (before_ns + after_ns) // 2
        return cls(key, middle_ns, raw, after_ns - middle_ns)


@dataclass(frozen=True, slots=True)
class Probe:
    """What looking for a sensor found.

    `evidence` is what was looked at and what was there, `remedy` what to do about it, `security` what
    that means for the safety of the machine.
    """

    state: ProbeState
    evidence: str
    remedy: str = ""
    security: str = ""
    channels: tuple[Channel, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether the reader can read."""
        return self.state is ProbeState.OK


class OpenReader(Protocol):
    """A live reader that was opened. `longest_interval_s`: asked less often, it loses samples."""

    channels: Sequence[Channel]
    longest_interval_s: float

    def read(self) -> Iterable[Sample]:
        """What is new since the last call. Raises: whatever it likes; it is dropped then."""

    def close(self) -> None:
        """Let the sensor go."""


class LiveReader(Protocol):
    """A reader that is asked while a program runs. Made with the text behind `NAME:`, "" for none."""

    api: ClassVar[int]
    kind: ClassVar[Literal["live"]]
    period_s: ClassVar[float]
    """How often it is asked unless the user says otherwise."""

    def __init__(self, argument: str = "") -> None:
        """Remember what was given; look at nothing yet."""

    def probe(self) -> Probe:
        """Look whether the sensor can be read. Never raises, changes nothing."""

    def open(self, period_s: float) -> OpenReader:
        """Begin to read, about every `period_s`. Raises: whatever it likes; nothing depends on it."""


class LogClock(StrEnum):
    """Which clock the times of a log are on."""

    WALL = "wall"
    """ns since 1970, UTC."""
    HOST = "host"
    """The monotonic clock of the traced host: nothing is to be aligned."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """What a log reader is to read: a file for a trace.

    `time_zone` is the name of the zone of times that tell none. `columns` maps the log's columns to
    scopes, where the user says so.
    """

    path: Path
    trace: Trace
    time_zone: str = "UTC"
    columns: tuple[tuple[str, str], ...] = ()
    warn: Callable[[str], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class Log:
    """What a log holds. Samples of a channel ascend in time."""

    channels: tuple[Channel, ...]
    samples: tuple[Sample, ...]
    clock: LogClock


class LogReader(Protocol):
    """A reader of files. Made with the text behind `NAME:`, "" for none."""

    api: ClassVar[int]
    kind: ClassVar[Literal["log"]]

    def __init__(self, argument: str = "") -> None:
        """Remember what was given; look at nothing yet."""

    def probe(self) -> Probe:
        """Whether it can read logs here, and what they look like. Never raises."""

    def read_log(self, request: LogRequest) -> Log:
        """Read a log. Raises: `PowerError` for what it cannot read."""


Reader: TypeAlias = LiveReader | LogReader
