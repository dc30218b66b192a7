"""Calibration of a device: every probe of the suite is measured until its mean is precise enough."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, TypeAlias

from cltrace.errors import DeviceError, UnsettledError
from cltrace.events.workloads import ArrivingLaunch, LaunchBeside, Transfer, Workload
from cltrace.measure import Bench, Repetitions, StopRule
from cltrace.measure.arrivals import time_arriving
from cltrace.measure.beside import time_beside
from cltrace.measure.clocks import ClockSource
from cltrace.measure.transfers import time_transfer
from cltrace.predict.deadline import NEVER, Deadline
from cltrace.predict.models.defaults import LATER_COSTS, LATER_PROCESSOR_COSTS
from cltrace.predict.probe_pace import ProbePace
from cltrace.profile import (
    MAX_UNSETTLED_SHARE,
    ClockReading,
    DeviceFacts,
    DeviceProfile,
    LeftOut,
    Point,
    Provenance,
)
from cltrace.suite.calibration import FAMILIES, Effort, PlannedProbe, ProbeLimits, planned_probes
from cltrace.suite.calibration.probes import ProbeWork
from cltrace.version import __version__

RULES: Final[Mapping[Effort, StopRule]] = {
    Effort.QUICK: StopRule(min_runs=4, max_runs=20, max_s=0.03, warm_runs=1),
    Effort.FULL: StopRule(min_runs=6, max_runs=100, max_s=0.35, warm_runs=2),
}
_DISPENSABLE: Final = frozenset(
    {
        *(cost.own_family for cost in (*LATER_COSTS.values(), *LATER_PROCESSOR_COSTS.values())),
        "few-units",
        "together",
    }
)
"""Families that not every device can run: their costs have defaults, or queues do not overlap there."""
_LONGER: Final = StopRule(min_runs=4, max_runs=200, max_s=0.3, warm_runs=1)
"""Rule of the second measurement of probes that did not settle in a quick calibration."""
_THROTTLED: Final = 0.95
"""Share of the highest clock reading below which the clock was throttled."""

TimeWork: TypeAlias = Callable[[ProbeWork, StopRule], Repetitions]
"""Function that measures a probe. Raises: `DeviceError` for one that the device cannot do."""


@dataclass(frozen=True, slots=True)
class CalibrationProgress:
    """Progress of a calibration, in probes. `left_s` is an estimate, None before the first probe."""

    family: str
    done: int
    total: int
    left_s: float | None


Report: TypeAlias = Callable[[CalibrationProgress], None]


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """The device to calibrate: its facts, the measurement of a probe, and readings of its clock."""

    facts: DeviceFacts
    time_work: TimeWork
    clocks: ClockSource

    @classmethod
    def of(cls, bench: Bench, clocks: ClockSource) -> "MeasuredDevice":
        """Return the device of a bench."""

        def time_work(work: ProbeWork, rule: StopRule) -> Repetitions:
            match work:
                case Transfer():
                    return time_transfer(bench, work, rule)
                case ArrivingLaunch():
                    return time_arriving(bench, work, rule)
                case LaunchBeside():
                    return time_beside(bench, work, rule)
                case Workload():
                    return bench.time_launch(work, rule)

        return cls(bench.facts, time_work, clocks)


class Calibration:
    """A calibration in progress. Probes that an earlier one measured are not repeated.

    No probe is begun that is unlikely to end before the deadline: it is left out.
    """

    def __init__(
        self,
        device: MeasuredDevice,
        effort: Effort,
        earlier: DeviceProfile | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        self._device = device
        self._effort = effort
        self._deadline = deadline
        self._plan = list(planned_probes(ProbeLimits.of(device.facts, effort)))
        self._points: dict[tuple[str, str, float], Point] = {}
        self._readings: list[ClockReading] = []
        self._notes: list[str] = []
        self._spent_s = 0.0
        if earlier is not None:
            self._points = {
                (family, point.series, point.x): point
                for family, points in earlier.families.items()
                for point in points
            }
            self._readings = list(earlier.provenance.clocks)
            self._notes = list(earlier.notes)
            self._spent_s = earlier.provenance.seconds
        self._earlier = frozenset(self._points)
        self._failed: set[tuple[str, str, float]] = set()
        self._pace = ProbePace()
        self._began_s = deadline.clock()

    def measure_families(self, report: Report) -> Iterator[DeviceProfile]:
        """Measure the probes that are missing. Yields the profile so far after each family.

        A family with series of less value comes twice. In a quick calibration, probes that did not settle
        are then measured again, for longer, until few enough are left. Raises: `DeviceError` if a family
        cannot be measured, `UnsettledError` if there was no time for any probe.
        """
        progress = _ProgressOf(report, self._deadline.clock, len(self._plan))
        for family, probes in groupby(self._plan, key=lambda planned: planned.family):
            missing = [planned for planned in probes if planned.key not in self._points]
            progress.skip(self._count_done())
            self._measure_all(missing, progress)
            if missing:
                self._check_family(family)
            if missing and self._points:
                yield self._profile()
        if not self._points:
            raise UnsettledError("there was no time to measure anything: try without --quick")
        if self._effort is Effort.QUICK:
            self._measure_unsettled(progress)
        yield self._profile()

    def _measure_all(self, probes: Sequence[PlannedProbe], progress: "_ProgressOf") -> None:
        """Measure probes as long as there is time for them, and read the clock at the end."""
        num_before = len(self._points)
        for planned in probes:
            if self._has_time(planned, 0.0):
                progress.show(planned.family)
                self._measure(planned, RULES[self._effort])
        reading = self._device.clocks.read() if len(self._points) > num_before else None
        if reading is not None:
            self._readings.append(ClockReading(round(self._elapsed_s(), 3), *reading))

    def _has_time(self, planned: PlannedProbe, more_s: float) -> bool:
        """Return True if a probe ends in time, with `more_s` seconds more than usual."""
        estimate_s = self._pace.estimate_s(planned.probe.work) + more_s
        return estimate_s <= self._deadline.left_s()

    def _measure(self, planned: PlannedProbe, rule: StopRule) -> None:
        probe, began_s = planned.probe, self._deadline.clock()
        limited = replace(rule, give_up_s=max(self._deadline.left_s(), 0.0))
        try:
            repetitions = self._device.time_work(probe.work, limited)
        except DeviceError as error:
            self._failed.add(planned.key)
            self._notes.append(f"{planned.family}, {probe.series}, {probe.x:g}: {error}")
            return
        finally:
            self._pace.add(probe.work, self._deadline.clock() - began_s)
        self._points[planned.key] = Point(
            series=probe.series, x=float(probe.x), **asdict(repetitions)
        )

    def _measure_unsettled(self, progress: "_ProgressOf") -> None:
        """Measure unsettled probes again, those of the most valuable families first."""
        for planned in self._plan:
            point = self._points.get(planned.key)
            if point is None or point.is_settled or planned.key in self._earlier:
                continue
            if not self._profile().is_noisy:
                return
            if self._has_time(planned, _LONGER.max_s):
                progress.show(planned.family)
                self._measure(planned, _LONGER)

    def _check_family(self, family: str) -> None:
        if family in _DISPENSABLE:
            return
        keys = [planned.key for planned in self._plan if planned.family == family]
        if all(key in self._failed for key in keys):
            raise DeviceError(f"no probe of {family} could be measured: {self._notes[-1]}")

    def _count_done(self) -> int:
        return sum(planned.key in self._points for planned in self._plan)

    def _elapsed_s(self) -> float:
        return self._spent_s + self._deadline.clock() - self._began_s

    def _profile(self) -> DeviceProfile:
        families: dict[str, list[Point]] = {name: [] for name in FAMILIES}
        for (family, _, _), point in self._points.items():
            families.setdefault(family, []).append(point)
        missing = Counter(
            planned.family
            for planned in self._plan
            if planned.key not in self._points and planned.key not in self._failed
        )
        provenance = Provenance(
            cltrace=__version__,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            effort=self._effort.name.lower(),
            seconds=round(self._elapsed_s(), 1),
            clocks=tuple(self._readings),
            left_out=tuple(LeftOut(name, missing[name]) for name in FAMILIES if missing[name]),
        )
        measured = {name: tuple(points) for name, points in families.items() if points}
        return DeviceProfile(self._device.facts, provenance, measured, {}, {}, tuple(self._notes))


class _ProgressOf:
    """Progress reports of a calibration of `total` probes."""

    def __init__(self, report: Report, clock: Callable[[], float], total: int) -> None:
        self._report = report
        self._clock = clock
        self._total = total
        self._began_s = clock()
        self._measured = 0
        self._done = 0

    def skip(self, done: int) -> None:
        """Set the number of probes that are done."""
        self._done = done

    def show(self, family: str) -> None:
        """Report the family of the next probe."""
        spent_s = self._clock() - self._began_s
        missing = max(self._total - self._done, 0)
        left_s = spent_s / self._measured * missing if self._measured else None
        title = FAMILIES[family].title
        self._report(CalibrationProgress(title, min(self._done, self._total), self._total, left_s))
        self._measured += 1
        self._done += 1


def keep_settled(profile: DeviceProfile) -> DeviceProfile:
    """Return a calibration without the points that did not settle, which are then measured anew."""
    families = {
        name: tuple(point for point in points if point.is_settled)
        for name, points in profile.families.items()
    }
    return replace(profile, families={name: rows for name, rows in families.items() if rows})


def require_settled(profile: DeviceProfile, remedy: str) -> None:
    """Raise `UnsettledError` for a noisy profile; `remedy` says what to do."""
    if profile.is_noisy:
        raise UnsettledError(
            f"{profile.unsettled_share:.0%} of {profile.num_points:,} probes did not settle within 2 % "
            f"of their mean, and a profile may have {MAX_UNSETTLED_SHARE:.0%}: {remedy}"
        )


def find_doubts(profile: DeviceProfile) -> tuple[str, ...]:
    """Return what made a calibration less reliable besides noise: a throttled clock."""
    speeds = [reading.clock_mhz for reading in profile.provenance.clocks]
    if speeds and min(speeds) < _THROTTLED * max(speeds):
        return (f"the clock went down from {max(speeds)} to {min(speeds)} MHz",)
    return ()
