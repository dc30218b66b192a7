"""Records of samples: a run of a program, the devices that it used, and runs of two sides in pairs.

Launches of one process depend on each other, so a run yields one value per kernel: the median of its
launches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cltrace.regress.counters import Counters
from cltrace.regress.work import RunWork, SizedKernel


@dataclass(frozen=True, slots=True, order=True)
class DeviceIdentity:
    """Identity of a device with its driver. Times of different identities are not comparable."""

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
    """Time of a kernel in a run, in ns: the median of `counted` launches, and the sum of all."""

    launches: int
    counted: int
    median_ns: float
    total_ns: float


@dataclass(frozen=True, slots=True)
class PredictedTime:
    """Predicted time of a launch, with its interval, in ns."""

    duration_ns: float
    low_ns: float
    high_ns: float

    @property
    def factor(self) -> float:
        """The largest factor by which the interval's bounds are off the prediction, ≥ 1."""
        return max(self.duration_ns / self.low_ns, self.high_ns / self.duration_ns, 1.0)


@dataclass(frozen=True, slots=True)
class RunSample:
    """A run of a program.

    Attributes:
        devices: the devices that the run used.
        kernels: the time of each kernel.
        counters: the counters that are not 0.
        work: the counted work, None where it was not counted.
        modelled: the predicted time of each kernel; empty without a profile of the device.
        energy_j: the energy of a launch of each kernel, and under a key without a kernel that of the
            whole run; empty without sensors.
    """

    devices: tuple[DeviceIdentity, ...]
    kernels: Mapping[KernelKey, KernelTime]
    counters: Counters
    work: RunWork | None = None
    modelled: Mapping[KernelKey, PredictedTime] = field(default_factory=dict)
    energy_j: Mapping[SizedKernel, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Round:
    """Runs of both sides: those with the same index ran one after the other."""

    base: tuple[RunSample, ...]
    head: tuple[RunSample, ...]

    @property
    def num_pairs(self) -> int:
        """The number of pairs."""
        return min(len(self.base), len(self.head))
