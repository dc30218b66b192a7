"""The vocabulary of power: channels that sensors have, what probing for them found, their samples.

Values are kept as the sensor gave them, as whole steps: `raw * unit_per_step` is W or J. What a reader
gets wrong can be put right from a trace.
"""

from dataclasses import dataclass
from enum import IntFlag, StrEnum

from cltrace.events.tables import RowTable


class Quantity(StrEnum):
    """What a channel tells."""

    ENERGY = "energy"
    """Joules since some time in the past: only differences mean something."""
    POWER = "power"
    """Watts, of a moment or the mean of a window."""


class Scope(StrEnum):
    """What a channel measures. What contains what is told by `PowerChannel.inside`."""

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
    """What looking for a sensor found. Nothing found is never a reading of zero."""

    OK = "ok"
    ABSENT = "absent"
    """There is none."""
    MASKED = "masked"
    """The system has it, and this container or machine is kept from seeing it."""
    DENIED = "denied"
    """It is there, and this user may not read it."""
    FROZEN = "frozen"
    """It can be read, and does not move."""
    UNSUPPORTED = "unsupported"
    """It is there, in a form that this reader does not know."""


class SampleFlag(IntFlag):
    """What is to be known of a sample."""

    RESTARTED = 1
    """The sensor began anew: nothing is known of the time between the sample before and this one."""
    LOST = 2
    """The sensor had more samples before this one, which were not read in time."""
    DOUBTFUL = 4
    """The reader's source said that the value is worth less."""


@dataclass(frozen=True, slots=True)
class PowerChannel:
    """A sensor's channel.

    `key` names it on its host, the same in every run. `inside` is the key of the channel whose value
    contains this one's. `device` is the PCI address or UUID of the OpenCL device it belongs to, "" for
    none. `modulus_steps` is where a counter begins anew at 0; None if it cannot, or that is not known.
    `quantum` is the smallest step in W or J, `period_s` the time between updates, `window_s` that over
    which a value is the mean, `delay_s` how late it is, `lag_s` the time constant with which it follows
    a change; None where not known. `gain_error` is the
    relative error of its scale that its maker or a study states, one standard deviation.
    """

    TABLE = "power_channel"
    id: int
    host: str
    key: str
    reader: str
    label: str
    quantity: str
    scope: str
    inside: str
    device: str
    unit_per_step: float
    modulus_steps: int | None
    quantum: float | None
    period_s: float | None
    window_s: float | None
    delay_s: float | None
    lag_s: float | None
    gain_error: float | None
    is_estimated: bool
    note: str


@dataclass(frozen=True, slots=True)
class PowerProbe:
    """What a reader found when it was asked, and what came of it.

    `evidence` is what was looked at, `remedy` what to do, `security` what that would mean for the
    safety of the machine. `ended` says why the reader was dropped while it read, "" if it was not.
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
"""What channels read. `host_ns` is when the value was so, `within_ns` how far that may be off."""

POWER_READS = RowTable("power_reads", ("reader", "due_host_ns", "begin_host_ns", "end_host_ns"))
"""When each reader was read, by its position among the probes, and when it should have been."""
