"""Repeating a measurement until its mean is known well enough.

After Pöppl, Run time prediction for OpenCL (2014), chapter 4: batches are repeated until the standard
error of the mean is at most 2 % of it.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a measurement ends: not before `fewest` runs, and then when its mean is known well enough.

    At the latest after `most` runs or `most_s` seconds. `warm_runs` come before and do not count.
    """

    relative_error: float = 0.02
    fewest: int = 5
    most: int = 200
    most_s: float = 2.0
    warm_runs: int = 2


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of one thing, in ns. `deviation_ns` is the population's, as the literature has it.

    `is_settled` says that the standard error of the mean came below what the rule asked for.
    """

    runs: int
    mean_ns: float
    deviation_ns: float
    median_ns: float
    least_ns: float
    is_settled: bool


def repeated(
    run: Callable[[], float], rule: StopRule, clock: Callable[[], float] = perf_counter
) -> Sample:
    """Call `run`, which returns ns, until `rule` is content. `clock` tells seconds."""
    for _ in range(rule.warm_runs):
        run()
    began = clock()
    times: list[float] = []
    total = squares = 0.0
    while True:
        value = run()
        times.append(value)
        total += value
        squares += value * value
        if len(times) < rule.fewest:
            continue
        mean = total / len(times)
        variance = max(squares / len(times) - mean * mean, 0.0)
        is_settled = math.sqrt(variance / len(times)) <= rule.relative_error * mean
        if is_settled or len(times) >= rule.most or clock() - began > rule.most_s:
            return Sample(
                runs=len(times),
                mean_ns=mean,
                deviation_ns=statistics.pstdev(times),
                median_ns=statistics.median(times),
                least_ns=min(times),
                is_settled=is_settled,
            )
