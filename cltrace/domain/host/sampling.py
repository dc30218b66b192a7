"""Times of iterations on the host, from samples of their positions.

A sample runs the same code as the iteration, on growing numbers of positions, until it takes some
milliseconds. The time of all positions is extrapolated from the last two numbers.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MIN_SAMPLE_NS: Final = 3_000_000
"""Time at which a sample is long enough to extrapolate from."""
_GROWTH: Final = 4
_REPEATS: Final = 3
_MIN_SPREAD: Final = 0.1
"""Relative half-width of the interval at least: a host runs other programs, too."""


@dataclass(frozen=True, slots=True)
class SampledTime:
    """Predicted time of all units of work, with an interval, in ns. `sampled` units were run."""

    time_ns: float
    interval_ns: tuple[float, float]
    sampled: int


def sample_time(
    run: Callable[[int, int], None],
    units: int,
    first_units: int = 1,
    clock_ns: Callable[[], int] = time.perf_counter_ns,
) -> SampledTime:
    """Return the predicted time of `run(0, units)`.

    `run` computes units from a first to before a last one. Samples lie in the middle, at both ends of a
    quarter. Of samples that are extrapolated, the shortest counts: what else the host does for a
    millisecond would be multiplied.
    """
    size = min(max(first_units, 1), units)
    run(0, size)  # what a first call loads is no part of the time
    earlier: tuple[int, float] | None = None
    while True:
        times = sorted(_timed(run, units, size, part, clock_ns) for part in range(_REPEATS))
        middle = times[len(times) // 2] if size >= units else times[0]
        if size >= units or middle >= MIN_SAMPLE_NS:
            break
        earlier = (size, middle)
        size = min(size * _GROWTH, units)
    slope = middle / size
    if earlier is not None and size > earlier[0]:
        slope = max((middle - earlier[1]) / (size - earlier[0]), slope / 2)
    total = middle + (units - size) * slope
    low, high = (times[0] / middle, times[-1] / middle) if middle else (1.0, 1.0)
    interval = (total * min(low, 1 - _MIN_SPREAD), total * max(high, 1 + _MIN_SPREAD))
    return SampledTime(total, interval, size)


def _timed(
    run: Callable[[int, int], None],
    units: int,
    size: int,
    part: int,
    clock_ns: Callable[[], int],
) -> float:
    """Return the time of a sample that begins a part of the way through the units."""
    first = (units - size) * (part + 1) // (_REPEATS + 1)
    began_ns = clock_ns()
    run(first, first + size)
    return float(clock_ns() - began_ns)
