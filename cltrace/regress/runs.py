"""The records of samples: a run of a program, what it ran on, and runs that took turns.

Launches of one process hang together, so a run is one value a kernel: the median of its launches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cltrace.regress.counters import Counters
from cltrace.regress.work import RunWork, WorkKey


@dataclass(frozen=True, slots=True, order=True)
class DeviceIdentity:
    """What has to be the same for times to be compared."""

    name: str
    platform: str
    driver: str
    platform_version: str


@dataclass(frozen=True, slots=True, order=True)
class KernelKey:
    """A kernel with the global size of its launches, as a JSON array, on a device."""

    kernel: str
    global_size: str
    device: str


@dataclass(frozen=True, slots=True)
class KernelTime:
    """How long a kernel took in a run: the median of `counted` of its launches, the sum of all, in ns."""

    launches: int
    counted: int
    median_ns: float
    total_ns: float


@dataclass(frozen=True, slots=True)
class Modelled:
    """What a model says that a launch takes, in ns: about, at least, at most."""

    duration_ns: float
    low_ns: float
    high_ns: float

    @property
    def factor(self) -> float:
        """How far off it may be, by its own interval: a factor from 1 on."""
        return max(self.duration_ns / self.low_ns, self.high_ns / self.duration_ns, 1.0)


@dataclass(frozen=True, slots=True)
class RunSample:
    """A run of a program.

    `work` is None where it was not counted. `modelled` is empty without a profile of the device,
    `energy_j` without sensors; its key without a kernel is the whole run, the others are of a launch.
    """

    devices: tuple[DeviceIdentity, ...]
    kernels: Mapping[KernelKey, KernelTime]
    counters: Counters
    work: RunWork | None = None
    modelled: Mapping[KernelKey, Modelled] = field(default_factory=dict)
    energy_j: Mapping[WorkKey, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Round:
    """Runs of both sides: those at the same place ran one after the other."""

    base: tuple[RunSample, ...]
    head: tuple[RunSample, ...]

    @property
    def pairs(self) -> int:
        """How many there are of both."""
        return min(len(self.base), len(self.head))
