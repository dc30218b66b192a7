"""The probes of a calibration with their demand and their measured times: the data of the fit."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cltrace.errors import KernelError
from cltrace.events.cost_names import CostName
from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.kernels.demand.launch import Demand, demand_of
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.models.defaults import Gaps
from cltrace.profile import DeviceProfile
from cltrace.suite.calibration import Effort, ProbeLimits, planned_probes


@dataclass(frozen=True, slots=True)
class MeasuredProbe:
    """A launch of a calibration: its demand, and its measured time in ns."""

    family: str
    series: str
    x: float
    time_ns: float
    demand: Demand
    arrival: Arrival = STEADY


def by_series(probes: Iterable[MeasuredProbe], family: str) -> Iterable[Sequence[MeasuredProbe]]:
    """Return the probes of each series of a family."""
    series: dict[str, list[MeasuredProbe]] = {}
    for probe in probes:
        if probe.family == family:
            series.setdefault(probe.series, []).append(probe)
    return series.values()


def longer_loops(
    probes: Iterable[MeasuredProbe], family: str
) -> Iterator[tuple[MeasuredProbe, MeasuredProbe]]:
    """Yield the shortest and the longest loop of each series of a family, where this takes longer."""
    for points in by_series(probes, family):
        shortest = min(points, key=lambda probe: probe.x)
        longest = max(points, key=lambda probe: probe.x)
        if shortest.x < longest.x and shortest.time_ns < longest.time_ns:
            yield shortest, longest


@dataclass(frozen=True, slots=True)
class CountedCalibration:
    """The launches of a calibration, and how many of a family there was no time to count."""

    probes: Sequence[MeasuredProbe]
    uncounted: Mapping[str, int]


def count_calibration(profile: DeviceProfile, deadline: Deadline = NEVER) -> CountedCalibration:
    """Count the launches of a calibration, the most valuable ones first, until the deadline.

    Launches that cannot be counted are left out. A profile stores times by series and x only: the probes
    are made anew for its device. Raises: `ValueError` for a series of operations that is no name of a
    cost.
    """
    limits = ProbeLimits.of(profile.device, Effort[profile.provenance.effort.upper()])
    counting = WorkloadCounter(profile.device)
    times = {
        (family, point.series, point.x): point.median_ns
        for family, points in profile.families.items()
        for point in points
    }
    operations = _operation_names(profile)
    measured: list[MeasuredProbe] = []
    uncounted: Counter[str] = Counter()
    for planned in planned_probes(limits):
        family, probe, time_ns = planned.family, planned.probe, times.get(planned.key)
        if time_ns is None or probe.launch is None:
            continue
        if deadline.is_over:
            uncounted[family] += 1
            continue
        with suppress(KernelError):
            demand = demand_of(counting.count(probe.launch), operations)
            measured.append(
                MeasuredProbe(family, probe.series, float(probe.x), time_ns, demand, probe.arrival)
            )
    return CountedCalibration(measured, uncounted)


def _operation_names(profile: DeviceProfile) -> frozenset[CostName]:
    """Return the names of operations that have a cost of their own, measured or a default."""
    gaps = Gaps.of(profile, "overlap")
    names = {point.series for point in profile.points("throughput")} | {
        *gaps.names_of("throughput")
    }
    return frozenset(map(CostName.parse, names))
