"""Time that a launch takes longer because of the state in which it finds the device.

After idle time, a device takes longer by `idle doubling` for each doubling of that time, from `idle from`
on. The first launch of a program's kernel takes `first launch` longer, and each image that the kernel did
not have at its last launch takes `image change`.
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

ARRIVAL_FAMILIES: Final = ("idle", "first", "image-changes")
"""Families of the calibration that show the costs of the state of the device."""
ARRIVAL_COSTS: Final = ("idle doubling", "idle from", "first launch", "image change")
_BEGINNINGS_NS: Final = np.geomspace(1e4, 1e8, 81)
"""Candidates of the cost `idle from`."""


@dataclass(frozen=True, slots=True)
class ArrivalTimes:
    """Times that a launch takes longer, in ns: after idle time, as the first one, for changed images."""

    idle_ns: float = 0.0
    first_ns: float = 0.0
    images_ns: float = 0.0

    @property
    def total_ns(self) -> float:
        """All together."""
        return self.idle_ns + self.first_ns + self.images_ns


def arrival_times(arrival: Arrival, constants: Mapping[str, float]) -> ArrivalTimes:
    """Return the times for the constants of a device; 0 for costs that it lacks."""
    begin_ns = constants.get("idle from", 0.0)
    doublings = math.log2(1.0 + arrival.idle_ns / begin_ns) if begin_ns else 0.0
    return ArrivalTimes(
        idle_ns=doublings * constants.get("idle doubling", 0.0),
        first_ns=arrival.first_share * constants.get("first launch", 0.0),
        images_ns=arrival.changed_images * constants.get("image change", 0.0),
    )


def arrival_costs(probes: Sequence[MeasuredProbe]) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs; nothing for a calibration without these families."""
    waits, delays = _delays(probes, "idle")
    if delays:
        yield from _idle_costs(np.asarray(waits), np.asarray(delays))
    _, firsts = _delays(probes, "first")
    if firsts:
        yield "first launch", _median_cost(firsts, "first")
    changes, delays = _delays(probes, "image-changes")
    if delays:
        each = [delay / number for delay, number in zip(delays, changes, strict=True)]
        yield "image change", _median_cost(each, "image-changes")


def _delays(probes: Sequence[MeasuredProbe], family: str) -> tuple[list[float], list[float]]:
    """Return the x of the points of a family's series, and by how much they exceed their lowest x."""
    own = [probe for probe in probes if probe.family == family]
    base = {probe.series: probe.time_ns for probe in own if probe.x == 0.0}
    points = [probe for probe in own if probe.x > 0.0 and probe.series in base]
    return [probe.x for probe in points], [probe.time_ns - base[probe.series] for probe in points]


def _median_cost(delays: Sequence[float], family: str) -> Parameter:
    error = float(np.std(delays)) / math.sqrt(len(delays))
    return Parameter(max(median(delays), 0.0), "ns", error, family)


def _idle_costs(waits: np.ndarray, delays: np.ndarray) -> Iterator[tuple[str, Parameter]]:
    """Yield the costs of the curve, by least squares of the logarithm of 1 µs and more."""
    best = (math.inf, 0.0, 0.0)
    for begin_ns in _BEGINNINGS_NS:
        doublings = np.log2(1.0 + waits / begin_ns)
        each = max(float(doublings @ delays / (doublings @ doublings)), 0.0)
        residual = float(
            np.square(
                np.log1p(np.maximum(delays, 0.0) / 1e3) - np.log1p(each * doublings / 1e3)
            ).sum()
        )
        best = min(best, (residual, each, float(begin_ns)))
    residual, each, begin_ns = best
    error = math.sqrt(residual / max(len(waits) - 2, 1) / len(waits))
    yield "idle doubling", Parameter(each, "ns", each * error, "idle")
    yield "idle from", Parameter(begin_ns, "ns", 0.0, "idle")
