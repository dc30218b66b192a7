"""What a calibration measures: probes, in series, in families that each isolate one cost."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from cltrace.events.workloads import Transfer, Workload
from cltrace.profile import DeviceFacts


class Effort(Enum):
    """How many points are measured."""

    QUICK = auto()
    FULL = auto()


@dataclass(frozen=True, slots=True)
class Room:
    """What probes have to fit into: a device's buffers and work-groups, and its types."""

    most_buffer_bytes: int
    most_group_items: int
    local_bytes: int
    compute_units: int
    has_double: bool
    is_cpu: bool
    effort: Effort

    @classmethod
    def of(cls, device: DeviceFacts, effort: Effort) -> "Room":
        """The room that a device has."""
        return cls(
            most_buffer_bytes=min(device.most_buffer_bytes, device.global_bytes // 4),
            most_group_items=device.most_group_items,
            local_bytes=device.local_bytes,
            compute_units=device.compute_units,
            has_double=device.has_double,
            is_cpu=device.kind == "cpu",
            effort=effort,
        )

    def usual_group(self, wanted: int = 256) -> int:
        """A usual size of work-groups, or the largest that there is."""
        return min(wanted, self.most_group_items)


@dataclass(frozen=True, slots=True)
class Probe:
    """A point of a series: `x` is what the series varies."""

    series: str
    x: float
    work: Workload | Transfer


ProbesOf: TypeAlias = Callable[[Room], Iterable[Probe]]


@dataclass(frozen=True, slots=True)
class Family:
    """Probes that isolate one cost. `x_label` says what varies, `source` where it is from."""

    name: str
    title: str
    x_label: str
    source: str
    probes: ProbesOf


def powers(low: int, high: int, step: int = 1) -> list[int]:
    """Powers of two from 2**low to 2**high."""
    return [1 << exponent for exponent in range(low, high + 1, step)]
