"""Probes of a calibration, in series, in families that each isolate one cost."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from cltrace.events.workloads import (
    STEADY,
    Arrival,
    ArrivingLaunch,
    LaunchBeside,
    Transfer,
    Workload,
)
from cltrace.profile import DeviceFacts


class Effort(Enum):
    """Number of points that a calibration measures."""

    QUICK = auto()
    FULL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLimits:
    """Limits of a device that probes have to keep: its memory, its work-groups and its types."""

    max_buffer_bytes: int
    max_group_items: int
    local_bytes: int
    compute_units: int
    has_double: bool
    is_cpu: bool
    effort: Effort
    cache_bytes: int = 0

    @classmethod
    def of(cls, device: DeviceFacts, effort: Effort) -> "ProbeLimits":
        """Return the limits of a device."""
        return cls(
            max_buffer_bytes=min(device.max_buffer_bytes, device.global_bytes // 4),
            max_group_items=device.max_group_items,
            local_bytes=device.local_bytes,
            compute_units=device.compute_units,
            has_double=device.has_double,
            is_cpu=device.kind == "cpu",
            effort=effort,
            cache_bytes=device.cache_bytes,
        )

    def usual_group(self, size: int = 256) -> int:
        """Return a usual size of work-groups, or the largest that the device has."""
        return min(size, self.max_group_items)


ProbeWork: TypeAlias = Workload | ArrivingLaunch | LaunchBeside | Transfer


@dataclass(frozen=True, slots=True)
class Probe:
    """A point of a series. `x` is the quantity that the series varies."""

    series: str
    x: float
    work: ProbeWork

    @property
    def launch(self) -> Workload | None:
        """The launch of the probe; None for a transfer, and where neighbours decide on its time."""
        match self.work:
            case Workload():
                return self.work
            case ArrivingLaunch():
                return self.work.work
            case Transfer() | LaunchBeside():
                return None

    @property
    def arrival(self) -> Arrival:
        """State of the device when the launch begins."""
        return self.work.arrival if isinstance(self.work, ArrivingLaunch) else STEADY


ProbesOf: TypeAlias = Callable[[ProbeLimits], Iterable[Probe]]


@dataclass(frozen=True, slots=True)
class Family:
    """Probes that isolate one cost. `x_label` names the quantity that varies, `source` is a citation."""

    name: str
    title: str
    x_label: str
    source: str
    probes: ProbesOf


def powers(low: int, high: int, step: int = 1) -> list[int]:
    """Return the powers of two from 2**low to 2**high, every `step`-th exponent."""
    return [1 << exponent for exponent in range(low, high + 1, step)]
