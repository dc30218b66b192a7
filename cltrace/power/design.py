"""Regression problem of an attribution: shares of each reading's window in which work was active."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.power.activity_shares import ActiveTime, SensorResponse, active_between
from cltrace.power.load_classes import Load, active_intervals
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.solving import Solution, solve

MIN_UPDATES: Final = 6
"""Minimum number of readings during a class of commands for its energy to be resolved."""
_BLOCK_S: Final = 0.5
"""Duration over which errors are taken as correlated."""
_MIN_BLOCK: Final = 5


@dataclass(frozen=True, slots=True)
class AttributionInput:
    """Observed power of a sensor, and the loads and states that explain it.

    `declared` is the sensor's response as its reader declares it; `is_lag_declared` is true if that
    includes the time constant. `context_span_s` is the time for which the program had an OpenCL context,
    `None` where it is unknown.
    """

    observations: Observations
    loads: tuple[Load, ...]
    declared: SensorResponse
    is_lag_declared: bool
    context_span_s: tuple[float, float] | None

    @property
    def period_s(self) -> float:
        """Median time between readings."""
        return float(np.median(np.diff(self.observations.end_s)))

    @property
    def block(self) -> int:
        """Number of adjacent readings whose errors are taken as correlated."""
        return max(_MIN_BLOCK, round(_BLOCK_S / self.period_s))


@dataclass(frozen=True, slots=True)
class DesignMatrix:
    """Design matrix of the regression: a row per reading, a column per state or load.

    Column 0 is idle power. The context and the tail follow where they exist, and then the loads from
    `first_load` on. A cell is the share of the reading's window in which the column's state was active.
    """

    matrix: Floats
    context_column: int | None
    tail_column: int | None
    first_load: int
    tail_s: float

    @classmethod
    def of(
        cls,
        problem: AttributionInput,
        activities: Sequence[ActiveTime],
        response: SensorResponse,
        tail_s: float,
    ) -> "DesignMatrix":
        """Return the matrix for a sensor with a response, and for a tail of `tail_s` (0 for none)."""
        begin_s, end_s = problem.observations.begin_s, problem.observations.end_s
        columns = [np.ones(len(problem.observations))]
        context_column = tail_column = None
        if problem.context_span_s is not None:
            share = active_between(*problem.context_span_s).mean(begin_s, end_s, response)
            if min((share < 0.5).sum(), (share > 0.5).sum()) >= MIN_UPDATES:
                context_column = len(columns)
                columns.append(share)
        if tail_s:
            tail_column = len(columns)
            columns.append(_tail_activity(problem, tail_s).mean(begin_s, end_s, response))
        first_load = len(columns)
        columns += [activity.mean(begin_s, end_s, response) for activity in activities]
        return cls(np.stack(columns, axis=1), context_column, tail_column, first_load, tail_s)

    def merge_pair(self, first: int, second: int) -> "DesignMatrix":
        """Return the matrix with the second load added to the first. Requires `first < second`."""
        columns = self.matrix.copy()
        columns[:, self.first_load + first] += columns[:, self.first_load + second]
        return replace(self, matrix=np.delete(columns, self.first_load + second, axis=1))

    def without(self, places: Collection[int]) -> "DesignMatrix":
        """Return the matrix without the loads at some places."""
        columns = [self.first_load + place for place in places]
        return replace(self, matrix=np.delete(self.matrix, columns, axis=1))

    def solve(self, observations: Observations, block: int) -> Solution:
        """Return the powers that explain the readings best, weighted with the readings' spans."""
        noise_w = _noise_of(observations)
        weight = observations.span_s / (noise_w**2 + observations.sigma_w**2)
        return solve(self.matrix, observations.power_w, weight / weight.mean(), block)


def _noise_of(observations: Observations) -> float:
    """Return a scale of the readings' noise: the median difference of adjacent readings."""
    return float(np.median(np.abs(np.diff(observations.power_w)))) + 1e-9


def _tail_activity(problem: AttributionInput, tail_s: float) -> ActiveTime:
    """Return the `tail_s` after each active interval, cut at the next interval."""
    start, end = active_intervals(problem.loads)
    next_start = np.append(start[1:], np.inf)
    return ActiveTime.of(end, np.minimum(end + tail_s, next_start))
