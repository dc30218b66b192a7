"""Calibration of a device: every probe of the suite is measured until its mean is precise enough."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Final

from cltrace.errors import DeviceError
from cltrace.events.workloads import Transfer
from cltrace.measure import Bench, Repetitions, StopRule
from cltrace.measure.clocks import ClockSource
from cltrace.measure.transfers import time_transfer
from cltrace.profile import ClockReading, DeviceProfile, Point, Provenance
from cltrace.suite.calibration import FAMILIES, Effort, Probe, ProbeLimits
from cltrace.version import __version__

RULES: Final[Mapping[Effort, StopRule]] = {
    Effort.QUICK: StopRule(min_runs=4, max_runs=20, max_s=0.03, warm_runs=1),
    Effort.FULL: StopRule(min_runs=6, max_runs=100, max_s=0.35, warm_runs=2),
}
_NOISY: Final = 0.25
"""Share of unsettled probes above which a calibration is noisy."""
_THROTTLED: Final = 0.95
"""Share of the highest clock reading below which the clock was throttled."""


@dataclass(frozen=True, slots=True)
class CalibrationProgress:
    """Progress of a calibration, in probes. `left_s` is an estimate, None before the first probe."""

    family: str
    done: int
    total: int
    left_s: float | None


class Calibration:
    """A calibration in progress. Families that an earlier one measured are not repeated."""

    def __init__(
        self,
        bench: Bench,
        effort: Effort,
        clocks: ClockSource,
        earlier: DeviceProfile | None = None,
    ) -> None:
        self._bench = bench
        self._effort = effort
        self._clocks = clocks
        self._limits = ProbeLimits.of(bench.facts, effort)
        families = earlier.families if earlier is not None else {}
        self._families = {name: points for name, points in families.items() if points}
        self._readings = list(earlier.provenance.clocks) if earlier is not None else []
        self._spent_s = earlier.provenance.seconds if earlier is not None else 0.0
        self._notes: list[str] = list(earlier.notes) if earlier is not None else []

    def measure_families(
        self, report: Callable[[CalibrationProgress], None]
    ) -> Iterator[DeviceProfile]:
        """Measure the families that are missing. Yields the profile so far after each family."""
        planned = {name: list(family.probes(self._limits)) for name, family in FAMILIES.items()}
        plan = {name: probes for name, probes in planned.items() if probes}
        total = sum(map(len, plan.values()))
        done = sum(len(plan[name]) for name in plan if name in self._families)
        before = done
        began = perf_counter()
        for name, probes in plan.items():
            if name in self._families:
                continue
            points: list[Point] = []
            for probe in probes:
                spent = perf_counter() - began
                left = spent / (done - before) * (total - done) if done > before else None
                report(CalibrationProgress(FAMILIES[name].title, done, total, left))
                points.extend(self._measure(name, probe))
                done += 1
            if not points:
                raise DeviceError(f"no probe of {name} could be measured: {self._notes[-1]}")
            self._families[name] = tuple(points)
            self._read_clock(perf_counter() - began)
            yield self._profile(perf_counter() - began)

    def _measure(self, family: str, probe: Probe) -> Iterator[Point]:
        try:
            yield _point(probe, self._time(probe))
        except DeviceError as error:
            self._notes.append(f"{family}, {probe.series}, {probe.x:g}: {error}")

    def _time(self, probe: Probe) -> Repetitions:
        rule = RULES[self._effort]
        if isinstance(probe.work, Transfer):
            return time_transfer(self._bench, probe.work, rule)
        return self._bench.time_launch(probe.work, rule)

    def _read_clock(self, at_s: float) -> None:
        reading = self._clocks.read()
        if reading is not None:
            self._readings.append(ClockReading(round(self._spent_s + at_s, 3), *reading))

    def _profile(self, seconds: float) -> DeviceProfile:
        provenance = Provenance(
            cltrace=__version__,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            effort=self._effort.name.lower(),
            seconds=round(self._spent_s + seconds, 1),
            clocks=tuple(self._readings),
        )
        return DeviceProfile(
            self._bench.facts, provenance, dict(self._families), {}, {}, tuple(self._notes)
        )


def find_doubts(profile: DeviceProfile) -> tuple[str, ...]:
    """Return what makes a profile less reliable: noise, and a throttled clock."""
    points = [point for family in profile.families.values() for point in family]
    unsettled = sum(not point.is_settled for point in points)
    doubts = []
    if points and unsettled > _NOISY * len(points):
        share = unsettled / len(points)
        doubts.append(f"noisy: {share:.0%} of the probes did not settle within 2 % of their mean")
    speeds = [reading.clock_mhz for reading in profile.provenance.clocks]
    if speeds and min(speeds) < _THROTTLED * max(speeds):
        doubts.append(f"the clock went down from {max(speeds)} to {min(speeds)} MHz")
    return tuple(doubts)


def _point(probe: Probe, repetitions: Repetitions) -> Point:
    return Point(series=probe.series, x=float(probe.x), **asdict(repetitions))
