"""Measurement of the power of work: each probe for seconds, at a steady temperature, and at rest."""

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
from cltrace.measure.steady import SteadyRun, run_steadily, time_once_ns
from cltrace.power.channels import measures_kind
from cltrace.power.mean_power import Observations
from cltrace.power.metering import MeteredChannel, select_between
from cltrace.power.points import PowerMeasurement, PowerMeasurements
from cltrace.suite.energy import EnergyProbe, Group

_S_NS: Final = 1_000_000_000
_MIN_LAUNCH_NS: Final = 1.5e6
"""Minimum duration of a launch for which the gaps between launches are negligible."""
_MAX_TRIPS: Final = 1 << 22
_STEADY_S: Final = 1.0
"""A temperature that is the same after this time is steady."""
_SETTLING_S: Final = 0.2
"""Readings in this time at the begin of an interval, and in half of it at the end, are left out."""


@dataclass(frozen=True, slots=True)
class CalibrationDurations:
    """Durations of a power calibration in s.

    Each probe first warms the device up: for at least `warm_s`, and until the temperature is steady, but
    for no more than `max_warm_s`. It is then measured for `measure_s`. The power at rest is measured for
    `idle_s` before and after all probes. `heat_s` is the duration of the work before the first probe.
    """

    warm_s: float = 0.6
    max_warm_s: float = 6.0
    measure_s: float = 3.0
    idle_s: float = 4.0
    heat_s: float = 10.0


QUICK: Final = CalibrationDurations(
    warm_s=0.2, max_warm_s=0.2, measure_s=0.6, idle_s=1.0, heat_s=0.5
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FinishedProbe:
    """Probe that ran, without its power."""

    name: str
    group: str
    trips: int
    run: SteadyRun
    clock_mhz: int | None
    temperature_c: int | None
    warmed_c: int | None


class WarmUp:
    """Condition of a steady temperature: two equal readings, `_STEADY_S` apart."""

    def __init__(self, clocks: ClockSource, pace: CalibrationDurations) -> None:
        self._clocks = clocks
        self._pace = pace
        self._read_s = 0.0
        self.temperature_c: int | None = None

    def __call__(self, spent_s: float) -> bool:
        """Return whether the device is warm after `spent_s` of work."""
        if spent_s < self._pace.warm_s:
            return False
        if spent_s - self._read_s < _STEADY_S and self.temperature_c is not None:
            return spent_s >= self._pace.max_warm_s
        reading, before_c = self._clocks.read(), self.temperature_c
        self._read_s, self.temperature_c = spent_s, reading[1] if reading is not None else None
        is_steady = reading is None or reading[1] == before_c
        return is_steady or spent_s >= self._pace.max_warm_s


class PowerCalibration:
    """Run of a power calibration. Its points need the meter's readings, which are complete after it."""

    def __init__(self, bench: Bench, clocks: ClockSource, pace: CalibrationDurations) -> None:
        self._bench = bench
        self._clocks = clocks
        self._pace = pace
        self._finished: list[_FinishedProbe] = []
        self._idle_ns = (0, 0)
        self._rested_ns = (0, 0)
        self.notes: list[str] = []

    def run(self, probes: Sequence[EnergyProbe], report: Callable[[str, int, int], None]) -> None:
        """Measure the power at rest, warm the device up, run all probes, and measure it at rest again."""
        self._idle_ns = self._rest(self._pace.idle_s)
        heater = next((probe for probe in probes if probe.group is Group.OPERATIONS), None)
        if heater is not None:
            self._run(heater, self._pace.heat_s)
        for number, probe in enumerate(probes):
            report(probe.name, number, len(probes))
            try:
                self._finished.append(self._run(probe, self._pace.measure_s))
            except DeviceError as error:
                self.notes.append(f"{probe.name}: {error}")
        self._rested_ns = self._rest(self._pace.idle_s)

    def points(
        self, metered: Sequence[MeteredChannel], without_ns: tuple[int, int] | None
    ) -> PowerMeasurements:
        """Return the powers of all probes. Raises: `PowerError` without a channel of the device."""
        channels = DeviceChannels.of(metered, self._bench.facts.kind)
        return PowerMeasurements(
            device=self._bench.facts,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            channels=tuple(each.channel.key for each in metered),
            without_w=None if without_ns is None else channels.mean(without_ns),
            idle_w=channels.mean(self._idle_ns),
            rested_w=channels.mean(self._rested_ns),
            points=tuple(channels.point(probe) for probe in self._finished),
        )

    def _rest(self, seconds: float) -> tuple[int, int]:
        begin_ns = time.perf_counter_ns()
        time.sleep(seconds)
        return begin_ns, time.perf_counter_ns()

    def _run(self, probe: EnergyProbe, measure_s: float) -> _FinishedProbe:
        trips = self._long_trips(probe) if probe.is_long else probe.trips
        warm_up = WarmUp(self._clocks, self._pace)
        run = run_steadily(self._bench, probe.make(trips), warm_up, measure_s)
        reading = self._clocks.read()
        clock_mhz, temperature_c = reading if reading is not None else (None, None)
        return _FinishedProbe(
            name=probe.name,
            group=str(probe.group),
            trips=trips,
            run=run,
            clock_mhz=clock_mhz,
            temperature_c=temperature_c,
            warmed_c=warm_up.temperature_c,
        )

    def _long_trips(self, probe: EnergyProbe) -> int:
        """Return the number of trips with which a launch takes a millisecond or two."""
        trips = probe.trips
        for _ in range(3):
            work = probe.make(trips)
            if isinstance(work, Transfer):
                return trips
            duration_ns = time_once_ns(self._bench, work)
            if duration_ns >= _MIN_LAUNCH_NS or trips >= _MAX_TRIPS:
                return trips
            factor = min(2 * _MIN_LAUNCH_NS / max(duration_ns, 1.0), 256.0)
            trips = min(int(trips * factor) + 1, _MAX_TRIPS)
        return trips


@dataclass(frozen=True, slots=True)
class DeviceChannels:
    """Channels of a device: the main one, a second one of the same power, and that of its memory."""

    main: Observations
    other: Observations | None
    memory: Observations | None

    @classmethod
    def of(cls, metered: Sequence[MeteredChannel], kind: str) -> "DeviceChannels":
        """Select the channels of a device of a kind. The main one has most readings and no container.

        Raises: `PowerError` without such a channel, or with channels of several devices.
        """
        metered = [each for each in metered if measures_kind(each.channel, kind)]
        keys = {each.channel.key for each in metered}
        boards = {each.channel.device for each in metered if each.channel.device}
        if len(boards) > 1:
            raise PowerError(
                f"sensors of {len(boards)} devices were read: "
                f"choose one, for example with --power nvml:{min(boards)}"
            )
        whole = [
            each
            for each in metered
            if each.channel.inside not in keys and len(each.observations) > 1
        ]
        if not whole:
            raise PowerError(f"no sensor of a {kind} had readings: nothing could be measured")
        packages = [each for each in whole if each.channel.scope == Scope.CPU]
        if len(packages) > 1:
            raise PowerError(
                f"sensors of {len(packages)} processors were read, but none that contains them all: "
                "choose the processor on which the device runs, or read a sensor that contains them"
            )
        ordered = sorted(whole, key=lambda each: float(np.median(np.diff(each.observations.end_s))))
        memory = [each for each in metered if each.channel.scope == Scope.GPU_MEMORY]
        return cls(
            ordered[0].observations,
            ordered[1].observations if len(ordered) > 1 else None,
            memory[0].observations if memory else None,
        )

    def mean(self, interval_ns: tuple[int, int]) -> float:
        """Return the mean power in an interval. Raises: `PowerError` without a reading in it."""
        mean = _mean(self.main, *interval_ns)
        if mean is None:
            raise PowerError(
                "an interval without readings: read more often, with a shorter --power-period"
            )
        return mean[0]

    def point(self, probe: _FinishedProbe) -> PowerMeasurement:
        """Return the power of a probe. Raises: `PowerError` without readings."""
        run = probe.run
        interval_ns = (run.begin_host_ns, run.end_host_ns)
        main = _mean(self.main, *interval_ns)
        if main is None:
            raise PowerError(f"{probe.name}: no readings in {run.seconds:.1f} s")
        power, deviation, readings = main
        other = _mean(self.other, *interval_ns) if self.other is not None else None
        memory = _mean(self.memory, *interval_ns) if self.memory is not None else None
        return PowerMeasurement(
            name=probe.name,
            group=probe.group,
            trips=probe.trips,
            runs=run.runs,
            seconds=run.seconds,
            device_ns=run.device_ns,
            power_w=power,
            deviation_w=deviation,
            readings=readings,
            other_w=other[0] if other is not None else None,
            memory_w=memory[0] if memory is not None else None,
            clock_mhz=probe.clock_mhz,
            temperature_c=probe.temperature_c,
            warmed_c=probe.warmed_c,
        )


def _mean(
    observations: Observations, begin_ns: int, end_ns: int
) -> tuple[float, float, int] | None:
    """Return the mean power, the standard deviation of the readings, and their number."""
    settling = int(_SETTLING_S * _S_NS) if end_ns - begin_ns > 4 * _SETTLING_S * _S_NS else 0
    inside = select_between(observations, begin_ns + settling, end_ns - settling // 2)
    if not len(inside):
        return None
    weight = inside.span_s / inside.span_s.sum()
    mean = float((inside.power_w * weight).sum())
    deviation = float(np.sqrt((weight * (inside.power_w - mean) ** 2).sum()))
    return mean, deviation, len(inside)
