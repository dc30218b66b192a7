"""Time that a launch takes longer because of the state in which it finds the device.

A device that has had no work for a time t takes longer by `idle (1 - exp(-sqrt(t / r)))`, with `r` the
cost `idle time`: the square root, as its parts come to rest one after another, within 1 to 100 ms. The
first launch of a program's kernel takes `first launch` longer, and each image that the kernel did not
have at its last launch takes `image change`. A launch that waited in the queue takes `queued launch`
less.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from cltrace.events.workloads import STEADY, Arrival
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.profile import Parameter

ARRIVAL_FAMILIES: Final = ("idle", "first", "image-changes")
"""Families of the calibration that show the costs of the state of the device."""
ARRIVAL_COSTS: Final = ("idle", "idle time", "first launch", "image change", "queued launch")
_IDLE_TIMES_NS: Final = np.geomspace(3e4, 3e8, 81)
"""Candidates of the cost `idle time`."""
_HEIGHTS_NS: Final = np.concatenate(([0.0], np.geomspace(100.0, 1e6, 200)))
"""Candidates of the cost `idle`."""


@dataclass(frozen=True, slots=True)
class ArrivalTimes:
    """Times that a launch takes longer, in ns: after idle time, as the first one, for changed images.

    `queued_ns` is the time by which it is launched sooner.
    """

    idle_ns: float = 0.0
    first_ns: float = 0.0
    images_ns: float = 0.0
    queued_ns: float = 0.0

    @property
    def total_ns(self) -> float:
        """All times that it takes longer."""
        return self.idle_ns + self.first_ns + self.images_ns


def arrival_times(arrivals: Sequence[Arrival], constants: Mapping[str, float]) -> ArrivalTimes:
    """Return the times of the median call for the constants of a device; 0 for costs that it lacks.

    `arrivals` are the states at the calls. Of an even number, the mean of the two in the middle.
    """
    if all(arrival == STEADY for arrival in arrivals):
        return ArrivalTimes()
    calls = sorted(
        (_times_of_call(arrival, constants) for arrival in arrivals),
        key=lambda times: times.total_ns - times.queued_ns,
    )
    first, second = calls[(len(calls) - 1) // 2], calls[len(calls) // 2]
    return ArrivalTimes(
        idle_ns=(first.idle_ns + second.idle_ns) / 2,
        first_ns=(first.first_ns + second.first_ns) / 2,
        images_ns=(first.images_ns + second.images_ns) / 2,
        queued_ns=(first.queued_ns + second.queued_ns) / 2,
    )


def _times_of_call(arrival: Arrival, constants: Mapping[str, float]) -> ArrivalTimes:
    idle_time = constants.get("idle time", 0.0)
    share = 1.0 - math.exp(-math.sqrt(arrival.idle_ns / idle_time)) if idle_time else 0.0
    return ArrivalTimes(
        idle_ns=share * constants.get("idle", 0.0),
        first_ns=arrival.first_share * constants.get("first launch", 0.0),
        images_ns=arrival.changed_images * constants.get("image change", 0.0),
        queued_ns=arrival.is_queued * constants.get("queued launch", 0.0),
    )


def arrival_costs(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs; nothing for a calibration without these families."""
    waits = _delays(probes, "idle")
    if waits:
        yield from _idle_costs(*(np.asarray(column) for column in zip(*waits, strict=True)))
    firsts = [delay for _, _, delay in _delays(probes, "first")]
    if firsts:
        yield "first launch", _median_cost(firsts, "first")
    changes = [delay / images for images, _, delay in _delays(probes, "image-changes")]
    if changes:
        yield "image change", _median_cost(changes, "image-changes")


def _delays(probes: Sequence[MeasuredProbe], family: str) -> Sequence[tuple[float, float, float]]:
    """Return the x of a family's points, the time of their series at x = 0, and their time beyond it."""
    own = [probe for probe in probes if probe.family == family]
    base = {probe.series: probe.time_ns for probe in own if probe.x == 0.0}
    return [
        (probe.x, base[probe.series], probe.time_ns - base[probe.series])
        for probe in own
        if probe.x > 0.0 and probe.series in base
    ]


def _median_cost(delays: Sequence[float], family: str) -> Parameter:
    error = float(np.std(delays)) / math.sqrt(len(delays))
    return Parameter(max(median(delays), 0.0), "ns", error, family)


def _idle_costs(
    waits: np.ndarray, base: np.ndarray, delays: np.ndarray
) -> Iterator[tuple[str, Parameter]]:
    """Yield the height and the time of the curve, by least squares of the logarithm of whole times."""
    best = (math.inf, 0.0, 0.0)
    measured = np.log(np.maximum(base + delays, 1.0))
    for idle_time in _IDLE_TIMES_NS:
        share = 1.0 - np.exp(-np.sqrt(waits / idle_time))
        for height in _HEIGHTS_NS:
            residual = float(np.square(np.log(base + height * share) - measured).sum())
            best = min(best, (residual, float(height), float(idle_time)))
    residual, height, idle_time = best
    error = math.sqrt(residual / max(len(waits) - 2, 1) / len(waits))
    yield "idle", Parameter(height, "ns", height * error, "idle")
    yield "idle time", Parameter(idle_time, "ns", 0.0, "idle")
