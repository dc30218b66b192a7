"""The probes of a calibration with their demand and their measured times: the data of the fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from cltrace.errors import KernelError
from cltrace.events.cost_names import CostName
from cltrace.events.workloads import Transfer
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.profile import DeviceProfile
from cltrace.suite.calibration import FAMILIES, Effort, ProbeLimits


@dataclass(frozen=True, slots=True)
class MeasuredProbe:
    """A launch of a calibration: its demand, and its measured time in ns."""

    family: str
    series: str
    x: float
    time_ns: float
    demand: Demand


def measured_probes(profile: DeviceProfile) -> Sequence[MeasuredProbe]:
    """Return all launches of a calibration, counted, without those that cannot be counted.

    A profile stores times by series and x only: the probes are made anew for its device.
    Raises: `ValueError` for a series of operations that is no name of a cost.
    """
    limits = ProbeLimits.of(profile.device, Effort[profile.provenance.effort.upper()])
    counting = WorkloadCounter(profile.device)
    operations = frozenset(CostName.parse(point.series) for point in profile.points("throughput"))
    measured: list[MeasuredProbe] = []
    for name, family in FAMILIES.items():
        times = {(point.series, point.x): point.median_ns for point in profile.points(name)}
        for probe in family.probes(limits) if times else ():
            time_ns = times.get((probe.series, float(f"{float(probe.x):.9g}")))
            if time_ns is None or isinstance(probe.work, Transfer):
                continue
            try:
                demand = demand_of(counting.count(probe.work), operations)
            except KernelError:
                continue
            measured.append(MeasuredProbe(name, probe.series, float(probe.x), time_ns, demand))
    return measured
