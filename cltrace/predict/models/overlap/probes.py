"""The probes of a calibration with what they ask for: what costs are fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass

from cltrace.errors import KernelError
from cltrace.events.workloads import Transfer
from cltrace.kernels.counts.workloads import WorkloadCounts
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.profile import DeviceProfile
from cltrace.suite.calibration import FAMILIES, Effort, Room


@dataclass(frozen=True, slots=True)
class Measured:
    """A probe of a calibration: what it asks for, and what it took in ns."""

    family: str
    series: str
    x: float
    time_ns: float
    demand: Demand


def measured_probes(profile: DeviceProfile) -> Sequence[Measured]:
    """All launches of a calibration, counted. What cannot be counted is left out.

    The probes are made anew from what the device is: a profile has their times by name.
    """
    room = Room.of(profile.device, Effort[profile.provenance.effort.upper()])
    counting = WorkloadCounts(profile.device)
    operations = frozenset(point.series for point in profile.points("throughput"))
    found: list[Measured] = []
    for name, family in FAMILIES.items():
        times = {(point.series, point.x): point.median_ns for point in profile.points(name)}
        for probe in family.probes(room) if times else ():
            taken = times.get((probe.series, float(f"{float(probe.x):.9g}")))
            if taken is None or isinstance(probe.work, Transfer):
                continue
            try:
                demand = demand_of(counting.count(probe.work), operations)
            except KernelError:
                continue
            found.append(Measured(name, probe.series, float(probe.x), taken, demand))
    return found
