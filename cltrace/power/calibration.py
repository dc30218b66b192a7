"""Measuring what work draws: each probe for seconds, at a steady temperature, and the device at rest."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from cltrace.errors import DeviceError, PowerError
from cltrace.events.power import Scope
from cltrace.events.workloads import Transfer
from cltrace.measure import Bench
from cltrace.measure.clocks import ClockSource
from cltrace.measure.steady import Steady, once_ns, steady
from cltrace.power.channels import is_of_kind
from cltrace.power.mean_power import Observations
from cltrace.power.metering import Metered, between
from cltrace.power.points import PowerPoint, PowerPoints
from cltrace.suite.energy import EnergyProbe, Group

_S_NS: Final = 1_000_000_000
_LONG_NS: Final = 1.5e6
"""A launch of which so much is work hardly waits for the next."""
_LONGEST_TRIPS: Final = 1 << 22
_STEADY_S: Final = 1.0
"""A device that is as warm as so long before is as warm as its work makes it."""
_SETTLING_S: Final = 0.2
"""The readings at both ends of a stretch are left out: sensors follow with a delay."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is measured. At least `most_s` of each probe count.

    At least `warm_s` before do not, nor what it takes until the temperature is steady, up to
    `warm_most_s`.
    """

    warm_s: float = 0.6
    warm_most_s: float = 6.0
    most_s: float = 3.0
    idle_s: float = 4.0
    heat_s: float = 10.0


QUICK: Final = Pace(warm_s=0.2, warm_most_s=0.2, most_s=0.6, idle_s=1.0, heat_s=0.5)


@dataclass(frozen=True, slots=True)
class _Done:
    """A probe that ran, before its power is known."""

    name: str
    group: str
    trips: int
    steady: Steady
    clock_mhz: int | None
    temperature_c: int | None
    warmed_c: int | None


class Warming:
    """Tells when a device is warm: its temperature was the same twice, `_STEADY_S` apart."""

    def __init__(self, clocks: ClockSource, pace: Pace) -> None:
        self._clocks = clocks
        self._pace = pace
        self._read_s = 0.0
        self.temperature_c: int | None = None

    def __call__(self, spent_s: float) -> bool:
        """As `steady` asks."""
        if spent_s < self._pace.warm_s:
            return False
        if spent_s - self._read_s < _STEADY_S and self.temperature_c is not None:
            return spent_s >= self._pace.warm_most_s
        reading, before_c = self._clocks.read(), self.temperature_c
        self._read_s, self.temperature_c = spent_s, reading[1] if reading is not None else None
        is_steady = reading is None or reading[1] == before_c
        return is_steady or spent_s >= self._pace.warm_most_s


class PowerCalibration:
    """A measurement under way. Its results need the meter's readings, which come when it has ended."""

    def __init__(self, bench: Bench, clocks: ClockSource, pace: Pace) -> None:
        self._bench = bench
        self._clocks = clocks
        self._pace = pace
        self._done: list[_Done] = []
        self._idle_ns = (0, 0)
        self._rested_ns = (0, 0)
        self.notes: list[str] = []

    def run(self, probes: Sequence[EnergyProbe], report: Callable[[str, int, int], None]) -> None:
        """Warm the device up, measure every probe, and the device at rest before and after."""
        self._idle_ns = self._resting(self._pace.idle_s)
        heater = next((one for one in probes if one.group is Group.OPERATIONS), None)
        if heater is not None:
            self._run(heater, self._pace.heat_s)
        for number, probe in enumerate(probes):
            report(probe.name, number, len(probes))
            try:
                self._done.append(self._run(probe, self._pace.most_s))
            except DeviceError as error:
                self.notes.append(f"{probe.name}: {error}")
        self._rested_ns = self._resting(self._pace.idle_s)

    def points(self, metered: Sequence[Metered], without_ns: tuple[int, int] | None) -> PowerPoints:
        """The powers of all probes. Raises: `PowerError` when a channel that serves is missing."""
        channels = Channels.of(metered, self._bench.facts.kind)
        return PowerPoints(
            device=self._bench.facts,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            channels=tuple(one.channel.key for one in metered),
            without_w=None if without_ns is None else channels.mean(without_ns),
            idle_w=channels.mean(self._idle_ns),
            rested_w=channels.mean(self._rested_ns),
            points=tuple(channels.point(one) for one in self._done),
        )

    def _resting(self, seconds: float) -> tuple[int, int]:
        begin_ns = time.perf_counter_ns()
        time.sleep(seconds)
        return begin_ns, time.perf_counter_ns()

    def _run(self, probe: EnergyProbe, most_s: float) -> _Done:
        trips = probe.trips
        if probe.is_long:
            trips = self._long_enough(probe)
        work = probe.make(trips)
        warming = Warming(self._clocks, self._pace)
        done = steady(self._bench, work, warming, most_s)
        reading = self._clocks.read()
        clock, heat = reading if reading is not None else (None, None)
        return _Done(probe.name, str(probe.group), trips, done, clock, heat, warming.temperature_c)

    def _long_enough(self, probe: EnergyProbe) -> int:
        """Trips that take a millisecond or two."""
        trips = probe.trips
        for _ in range(3):
            work = probe.make(trips)
            if isinstance(work, Transfer):
                return trips
            taken = once_ns(self._bench, work)
            if taken >= _LONG_NS or trips >= _LONGEST_TRIPS:
                return trips
            trips = min(int(trips * min(2 * _LONG_NS / max(taken, 1.0), 256.0)) + 1, _LONGEST_TRIPS)
        return trips


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of one device: the main one, another of the same, and that of its memory."""

    main: Observations
    other: Observations | None
    memory: Observations | None

    @classmethod
    def of(cls, metered: Sequence[Metered], kind: str) -> "Channels":
        """The channel of a device of this kind that is read most often, no part of another one.

        Raises: `PowerError` where none is, or several devices are read.
        """
        metered = [one for one in metered if is_of_kind(one.channel, kind)]
        keys = {one.channel.key for one in metered}
        boards = {one.channel.device for one in metered if one.channel.device}
        if len(boards) > 1:
            raise PowerError(
                f"sensors of {len(boards)} devices were read: say which, as --power nvml:{min(boards)}"
            )
        whole = [one for one in metered if one.channel.inside not in keys and len(one.seen) > 1]
        if not whole:
            raise PowerError(f"no sensor of a {kind} had readings: nothing could be measured")
        packages = [one for one in whole if one.channel.scope == Scope.CPU]
        if len(packages) > 1:
            raise PowerError(
                f"sensors of {len(packages)} processors were read, and none of them all: name the one "
                "that the device runs on, or read what contains them"
            )
        ordered = sorted(whole, key=lambda one: float(np.median(np.diff(one.seen.end_s))))
        memory = [one for one in metered if one.channel.scope == Scope.GPU_MEMORY]
        return cls(
            ordered[0].seen,
            ordered[1].seen if len(ordered) > 1 else None,
            memory[0].seen if memory else None,
        )

    def mean(self, stretch_ns: tuple[int, int]) -> float:
        """The mean power in a stretch. Raises: `PowerError` without a reading in it."""
        found = _mean(self.main, *stretch_ns)
        if found is None:
            raise PowerError("a stretch without readings: ask the reader more often")
        return found[0]

    def point(self, done: _Done) -> PowerPoint:
        """What a probe drew. Raises: `PowerError` without readings."""
        stretch = (done.steady.begin_host_ns, done.steady.end_host_ns)
        found = _mean(self.main, *stretch)
        if found is None:
            raise PowerError(f"{done.name}: no readings in {done.steady.seconds:.1f} s")
        power, deviation, readings = found
        other = _mean(self.other, *stretch) if self.other is not None else None
        memory = _mean(self.memory, *stretch) if self.memory is not None else None
        return PowerPoint(
            name=done.name,
            group=done.group,
            trips=done.trips,
            runs=done.steady.runs,
            seconds=done.steady.seconds,
            device_ns=done.steady.device_ns,
            power_w=power,
            deviation_w=deviation,
            readings=readings,
            other_w=other[0] if other is not None else None,
            memory_w=memory[0] if memory is not None else None,
            clock_mhz=done.clock_mhz,
            temperature_c=done.temperature_c,
            warmed_c=done.warmed_c,
        )


def _mean(seen: Observations, begin_ns: int, end_ns: int) -> tuple[float, float, int] | None:
    """The mean power, how much readings deviate from it, and how many there are."""
    settling = int(_SETTLING_S * _S_NS) if end_ns - begin_ns > 4 * _SETTLING_S * _S_NS else 0
    inside = between(seen, begin_ns + settling, end_ns - settling // 2)
    if not len(inside):
        return None
    weight = inside.span_s / inside.span_s.sum()
    mean = float((inside.power_w * weight).sum())
    deviation = float(np.sqrt((weight * (inside.power_w - mean) ** 2).sum()))
    return mean, deviation, len(inside)
