"""Measuring a device: every probe of the calibration suite, until its mean is known well enough."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Final

from cltrace.errors import DeviceError
from cltrace.events.workloads import Transfer
from cltrace.measure import Bench, Sample, StopRule
from cltrace.measure.clocks import ClockSource
from cltrace.measure.transfers import transfer_sample
from cltrace.profile import ClockReading, DeviceProfile, Point, Provenance
from cltrace.suite.calibration import FAMILIES, Effort, Probe, Room
from cltrace.version import __version__

RULES: Final[Mapping[Effort, StopRule]] = {
    Effort.QUICK: StopRule(fewest=4, most=20, most_s=0.03, warm_runs=1),
    Effort.FULL: StopRule(fewest=6, most=100, most_s=0.35, warm_runs=2),
}
_NOISY: Final = 0.25
"""A calibration of which a larger share did not settle says that it is noisy."""
_THROTTLED: Final = 0.95
"""A clock below so much of its highest reading while work was under way is said."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a calibration is. `left_s` is an estimate, None before anything was measured."""

    family: str
    done: int
    total: int
    left_s: float | None


class Calibration:
    """A calibration under way. It goes on from families that an earlier one measured."""

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
        self._room = Room.of(bench.facts, effort)
        known = earlier.families if earlier is not None else {}
        self._families = {name: points for name, points in known.items() if points}
        self._readings = list(earlier.provenance.clocks) if earlier is not None else []
        self._spent_s = earlier.provenance.seconds if earlier is not None else 0.0
        self._notes: list[str] = list(earlier.notes) if earlier is not None else []

    def families(self, report: Callable[[Progress], None]) -> Iterator[DeviceProfile]:
        """Measure what is not measured yet. What there is so far is yielded after each family."""
        plan = {name: list(family.probes(self._room)) for name, family in FAMILIES.items()}
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
                report(Progress(FAMILIES[name].title, done, total, left))
                points.extend(self._measured(name, probe))
                done += 1
            if not points:
                raise DeviceError(f"no probe of {name} could be measured: {self._notes[-1]}")
            self._families[name] = tuple(points)
            self._read_clock(perf_counter() - began)
            yield self._profile(perf_counter() - began)

    def _measured(self, family: str, probe: Probe) -> Iterator[Point]:
        try:
            yield _point(probe, self._sample(probe))
        except DeviceError as error:
            self._notes.append(f"{family}, {probe.series}, {probe.x:g}: {error}")

    def _sample(self, probe: Probe) -> Sample:
        rule = RULES[self._effort]
        if isinstance(probe.work, Transfer):
            return transfer_sample(self._bench, probe.work, rule)
        return self._bench.launch(probe.work, rule)

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


def doubts(profile: DeviceProfile) -> tuple[str, ...]:
    """What makes a profile worth less: noise, and a clock that was lowered."""
    points = [point for family in profile.families.values() for point in family]
    unsettled = sum(not point.is_settled for point in points)
    found = []
    if points and unsettled > _NOISY * len(points):
        share = unsettled / len(points)
        found.append(f"noisy: {share:.0%} of the probes did not settle within 2 % of their mean")
    speeds = [reading.clock_mhz for reading in profile.provenance.clocks]
    if speeds and min(speeds) < _THROTTLED * max(speeds):
        found.append(f"the clock went down from {max(speeds)} to {min(speeds)} MHz")
    return tuple(found)


def _point(probe: Probe, sample: Sample) -> Point:
    return Point(probe.series, float(probe.x), **asdict(sample))
