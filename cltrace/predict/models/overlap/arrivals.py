"""Time that a launch takes longer because of the state in which it finds the device.

A device that has had no work for a while takes a time to work at full speed: `idle (1 - exp(-t / r))`
after the time t, with `r` the cost `idle time`. The first launch of a program's kernel takes `first
launch` longer.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from cltrace.events.workloads import Arrival
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.profile import Parameter

ARRIVAL_COSTS: Final = ("idle", "idle time", "first launch")
_IDLE_TIMES_NS: Final = np.geomspace(3e4, 3e8, 81)
"""Candidates of the cost `idle time`."""


@dataclass(frozen=True, slots=True)
class ArrivalTimes:
    """Times that a launch takes longer, in ns: after idle time, and as the first one of a program."""

    idle_ns: float
    first_ns: float

    @property
    def total_ns(self) -> float:
        """Both together."""
        return self.idle_ns + self.first_ns


def arrival_times(arrival: Arrival, constants: Mapping[str, float]) -> ArrivalTimes:
    """Return the times for the constants of a device; 0 for costs that it lacks."""
    idle, idle_time = constants.get("idle", 0.0), constants.get("idle time", 0.0)
    share = 1.0 - math.exp(-arrival.idle_ns / idle_time) if idle_time else 0.0
    return ArrivalTimes(idle * share, arrival.first_share * constants.get("first launch", 0.0))


def arrival_costs(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs; nothing for a calibration without these families."""
    waits, delays = _delays(probes, "idle")
    if delays:
        yield from _idle_costs(np.asarray(waits), np.asarray(delays))
    _, firsts = _delays(probes, "first")
    if firsts:
        error = float(np.std(firsts)) / math.sqrt(len(firsts))
        yield "first launch", Parameter(max(median(firsts), 0.0), "ns", error, "first")


def _delays(probes: Sequence[MeasuredProbe], family: str) -> tuple[list[float], list[float]]:
    """Return the x of the points of a family's series, and by how much they exceed their lowest x."""
    own = [probe for probe in probes if probe.family == family]
    base = {probe.series: probe.time_ns for probe in own if probe.x == 0.0}
    points = [probe for probe in own if probe.x > 0.0 and probe.series in base]
    return [probe.x for probe in points], [probe.time_ns - base[probe.series] for probe in points]


def _idle_costs(waits: np.ndarray, delays: np.ndarray) -> Iterator[tuple[str, Parameter]]:
    """Yield the height and the time of the curve, by least squares of the logarithm of 1 µs and more."""
    best = (math.inf, 0.0, 0.0)
    for idle_time in _IDLE_TIMES_NS:
        share = 1.0 - np.exp(-waits / idle_time)
        height = max(float(share @ delays / (share @ share)), 0.0)
        residual = float(
            np.square(
                np.log1p(np.maximum(delays, 0.0) / 1e3) - np.log1p(height * share / 1e3)
            ).sum()
        )
        best = min(best, (residual, height, float(idle_time)))
    residual, height, idle_time = best
    error = math.sqrt(residual / max(len(waits) - 2, 1) / len(waits))
    yield "idle", Parameter(height, "ns", height * error, "idle")
    yield "idle time", Parameter(idle_time, "ns", 0.0, "idle")
