"""Times of iterations on the host, from samples of their positions.

A sample runs the same code as the iteration, on growing numbers of positions, until it takes some
milliseconds. The time of all positions is extrapolated from the last two numbers. A sample that takes
much longer than the one before lets expect is repeated: something else may have run meanwhile.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

MIN_SAMPLE_NS: Final = 3_000_000
"""Time at which a sample is long enough to extrapolate from."""
_LONG_SAMPLE_NS: Final = 10 * MIN_SAMPLE_NS
"""Time at which even the first sample is long enough."""
_GROWTH: Final = 4
_REPEATS: Final = 3
_MAX_RETRIES: Final = 3
_SUSPICIOUS: Final = 2.0
"""Growth of a sample's time beyond that of its size from which it is repeated."""
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
        expected = earlier[1] * size / earlier[0] if earlier is not None else math.inf
        times = _sample(partial(_timed, run, units, size, clock_ns), expected)
        middle = times[len(times) // 2] if size >= units else times[0]
        if size >= units or _is_long(middle, is_first=earlier is None):
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


def _sample(timed: Callable[[int], float], expected_ns: float) -> list[float]:
    """Return the ascending times of the parts, measured again while all of them are suspicious."""
    times = sorted(map(timed, range(_REPEATS)))
    for _ in range(_MAX_RETRIES):
        if times[0] <= _SUSPICIOUS * expected_ns:
            break
        again = sorted(map(timed, range(_REPEATS)))
        times = min(times, again)
    return times


def _is_long(time_ns: float, *, is_first: bool) -> bool:
    """Return True for a sample that is long enough: the first one has none to be held against."""
    return time_ns >= (_LONG_SAMPLE_NS if is_first else MIN_SAMPLE_NS)


def _timed(
    run: Callable[[int, int], None],
    units: int,
    size: int,
    clock_ns: Callable[[], int],
    part: int,
) -> float:
    """Return the time of a sample that begins a part of the way through the units."""
    first = (units - size) * (part + 1) // (_REPEATS + 1)
    began_ns = clock_ns()
    run(first, first + size)
    return float(clock_ns() - began_ns)
