"""The private caches of a CPU's core: their sizes and latencies, from walks through memory."""

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from cltrace.errors import ProfileError
from cltrace.predict.models.overlap.probes import MeasuredProbe
from cltrace.profile import Parameter

CACHE_COSTS: Final = ("wait l1", "wait l2", "wait l3", "wait local", "l1 size", "l2 size")
_FAMILY: Final = "chases"
_SLOWER: Final = 1.8
"""Factor of the latency from which a walk misses a cache."""
_FIRST_WALKS: Final = 16.0
"""Walks through up to so many times a cache's size show the latency of the next one."""

_MIN_WALKING: Final = 0.2
"""Share of the time of a walk that is walking at least, beside the launch."""


def cache_costs(
    probes: Sequence[MeasuredProbe], launch_ns: float
) -> Iterator[tuple[str, Parameter]]:
    """Yield the sizes of the first and second cache, and the latencies of all three and of local memory.

    `launch_ns` is the time of an empty launch, which is no part of a walk.
    Raises: `ProfileError` if there are too few walks.
    """
    own = [probe for probe in probes if probe.family == _FAMILY]
    walks = sorted(
        (probe.x, _latency(probe, launch_ns)) for probe in own if probe.series != "local"
    )
    if len(walks) < 4:
        raise ProfileError(f"the calibration has too few walks of the family {_FAMILY}")
    first = walks[0][1]
    first_size = _size(walks, first)
    second = _latency_beyond(walks, first_size)
    second_size = max(_size(walks, second), first_size)
    yield "wait l1", Parameter(first, "ns", 0.0, _FAMILY)
    yield "wait l2", Parameter(second, "ns", 0.0, _FAMILY)
    yield "wait l3", Parameter(_latency_beyond(walks, second_size), "ns", 0.0, _FAMILY)
    yield "l1 size", Parameter(first_size, "B", 0.0, _FAMILY)
    yield "l2 size", Parameter(second_size, "B", 0.0, _FAMILY)
    for probe in own:
        if probe.series == "local":
            yield "wait local", Parameter(_latency(probe, launch_ns), "ns", 0.0, _FAMILY)


def _latency(walk: MeasuredProbe, launch_ns: float) -> float:
    walking = max(walk.time_ns - launch_ns, _MIN_WALKING * walk.time_ns)
    return walking / max(walk.demand.rounds, 1.0)


def _size(walks: Sequence[tuple[float, float]], latency: float) -> float:
    """Return the effective size of the cache whose reads have a latency.

    It lies between the last walk that hits and the first one that misses, as the logarithm goes.
    """
    held = walks[0][0]
    for memory, measured in walks:
        if measured < _SLOWER * latency:
            held = memory
        elif memory > held:
            return math.sqrt(held * memory)
    return held


def _latency_beyond(walks: Sequence[tuple[float, float]], size: float) -> float:
    """Return the latency of the walks that first miss a cache of a size."""
    beyond = [latency for memory, latency in walks if size < memory <= _FIRST_WALKS * size]
    return median(beyond) if beyond else walks[-1][1]
