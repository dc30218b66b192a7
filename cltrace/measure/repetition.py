"""Repetition of a measurement until its mean is precise enough.

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
    """The end of a measurement: after `min_runs`, once the standard error of the mean is small enough.

    It ends after `max_runs` or `max_s` seconds at the latest, but not before `min_runs`; after
    `give_up_s` seconds with any number of runs, unsettled if they are fewer. `warm_runs` precede it all.
    """

    relative_error: float = 0.02
    min_runs: int = 5
    max_runs: int = 200
    max_s: float = 2.0
    warm_runs: int = 2
    give_up_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Times of repeated runs, in ns. `deviation_ns` is the population's, as in the literature.

    `is_settled` is True if the standard error of the mean is as small as the rule demands.
    """

    runs: int
    mean_ns: float
    deviation_ns: float
    median_ns: float
    min_ns: float
    is_settled: bool


def repeat(
    run: Callable[[], float], rule: StopRule, clock: Callable[[], float] = perf_counter
) -> Repetitions:
    """Call `run`, which returns ns, until `rule` is satisfied. `clock` returns seconds."""
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
        has_enough = len(times) >= rule.min_runs
        spent_s = clock() - began
        if not has_enough and spent_s <= rule.give_up_s:
            continue
        mean = total / len(times)
        variance = max(squares / len(times) - mean * mean, 0.0)
        is_precise = math.sqrt(variance / len(times)) <= rule.relative_error * mean
        is_settled = has_enough and is_precise
        if is_settled or len(times) >= rule.max_runs or spent_s > min(rule.max_s, rule.give_up_s):
            return Repetitions(
                runs=len(times),
                mean_ns=mean,
                deviation_ns=statistics.pstdev(times),
                median_ns=statistics.median(times),
                min_ns=min(times),
                is_settled=is_settled,
            )
