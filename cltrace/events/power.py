"""Vocabulary of power recordings: channels of sensors, results of probing for sensors, and samples.

Values are stored as the sensor gave them, in whole steps: `raw * unit_per_step` is W or J. So a reader's
mistake in the unit can be corrected later, from the trace.
"""

from dataclasses import dataclass
from enum import IntFlag, StrEnum

from cltrace.events.tables import RowTable


class Quantity(StrEnum):
    """Physical quantity of a channel."""

    ENERGY = "energy"
    """Joules since an arbitrary time: only differences are meaningful."""
    POWER = "power"
    """Watts, instantaneous or averaged over a window."""


class Scope(StrEnum):
    """Part of the machine that a channel measures. `PowerChannel.inside` nests the channels."""

    WALL = "wall"
    PSU = "psu"
    RAIL = "rail"
    PLATFORM = "platform"
    CPU = "cpu"
    CORES = "cores"
    UNCORE = "uncore"
    DRAM = "dram"
    GPU = "gpu"
    GPU_MEMORY = "gpu-memory"
    OTHER = "other"


class ProbeState(StrEnum):
    """Result of probing for a sensor. A missing sensor never reads as zero."""

    OK = "ok"
    ABSENT = "absent"
    """There is no such sensor."""
    MASKED = "masked"
    """The system has the sensor, but hides it from this container or virtual machine."""
    DENIED = "denied"
    """The sensor exists, but this user may not read it."""
    FROZEN = "frozen"
    """The sensor can be read, but its value does not change."""
    UNSUPPORTED = "unsupported"
    """The sensor exists, but in a form that this reader does not support."""


class SampleFlag(IntFlag):
    """Caveats of a sample."""

    RESTARTED = 1
    """The sensor was restarted: the time since the previous sample is unknown."""
    LOST = 2
    """Earlier samples of the sensor were lost, because they were not read in time."""
    DOUBTFUL = 4
    """The sensor itself marked the value as unreliable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerChannel:
    """A channel of a sensor.

    `key` identifies the channel on its host and is the same in every run. `inside` is the key of the
    channel whose value contains this channel's. `device` is the PCI address or UUID of the OpenCL device
    that it belongs to, "" for none. `modulus_steps` is the value at which a counter wraps to 0; None if
    it does not wrap or the value is not known. `quantum` is the smallest step in W or J, `period_s` the
    time between updates, `window_s` the averaging window, `delay_s` the delay of a value, `lag_s` the
    time constant with which the channel follows a change; each is None if not known. `gain_error` is the
    relative error of the scale that the vendor or a study states, one standard deviation.
    """

    TABLE = "power_channel"
    id: int
    host: str
    key: str
    reader: str
    label: str
    quantity: str
    scope: str
    inside: str = ""
    device: str = ""
    unit_per_step: float
    modulus_steps: int | None = None
    quantum: float | None = None
    period_s: float | None = None
    window_s: float | None = None
    delay_s: float | None = None
    lag_s: float | None = None
    gain_error: float | None = None
    is_estimated: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerProbe:
    """The result of probing for a reader's sensor, and the end of its reading.

    `evidence` is the observation behind `state`, `remedy` the advice to the user, `security` the effect
    of that remedy on the machine's security. `ended` is the reason if the reader was dropped during the
    recording, else "".
    """

    TABLE = "power_probe"
    host: str
    reader: str
    state: str
    evidence: str
    remedy: str
    security: str
    ended: str


POWER_SAMPLES = RowTable("power_samples", ("channel_id", "host_ns", "within_ns", "raw", "flags"))
"""Samples of channels. `host_ns` is the time of the value, `within_ns` the uncertainty of that time."""

POWER_READS = RowTable("power_reads", ("reader", "due_host_ns", "begin_host_ns", "end_host_ns"))
"""Scheduled and actual times of each reading. `reader` is the reader's position among the probes."""
