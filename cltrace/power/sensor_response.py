"""Delay and time constant of a sensor, estimated from its readings of known work.

No clocks have to be synchronised: the estimates are the delay and the time constant with which the work
explains the readings best. The uncertainty of the delay follows from how fast the fit degrades around
the estimate.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.power.activity_shares import ActiveTime, SensorResponse
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.without_scipy import nnls

_MAX_OBSERVATIONS: Final = 6000
_MIN_OBSERVATIONS: Final = 20
_ROUNDS: Final = 4
_COARSE_STEPS: Final = 12
"""Minimum number of steps to each side in the first, coarse search."""
_FINE_LAGS: Final = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
"""Time constants to try around the best one, as multiples of it."""
_MAX_RESIDUAL_RATIO: Final = 0.9
"""A delay is measured where its sum of squares is below this share of that of the worst delay."""
_CHI_SQUARE_95: Final = 3.84
"""95 % quantile of the chi-square distribution with one degree of freedom."""
_ROUNDING: Final = 1e-12
_HALVINGS: Final = 6


@dataclass(frozen=True, slots=True)
class ResponseFit:
    """Response of a sensor, with the 95 % half-widths of its delay and of its time constant.

    The half-width of the time constant holds for a constant sum of delay and time constant.
    `is_measured` is true if the readings determined the response; otherwise it is the declared one.
    """

    response: SensorResponse
    within_s: float
    lag_within_s: float
    is_measured: bool
    residual_w: float = 0.0
    """Root mean square of the residuals."""


def align(
    observations: Observations,
    activities: Sequence[ActiveTime],
    *,
    declared: SensorResponse,
    max_shift_s: float,
    lags_s: Sequence[float],
    block: int,
) -> ResponseFit:
    """Return the response with which a sensor follows the active times of some work.

    Delays up to `max_shift_s` from the declared one are tried, with each time constant of `lags_s`. The
    errors of `block` adjacent observations are taken as correlated.
    """
    chosen = _select_informative(observations, activities, max_shift_s)
    if len(chosen) < _MIN_OBSERVATIONS or not activities:
        return ResponseFit(declared, max_shift_s, 0.0, is_measured=False)
    objective = _ResponseObjective(chosen, activities)
    spacing_s = float(np.median(np.diff(chosen.end_s)))
    coarse = max(min(spacing_s / 2, max_shift_s / _COARSE_STEPS), max_shift_s / 200)
    delays = np.arange(-max_shift_s, max_shift_s + coarse / 2, coarse) + declared.delay_s
    delay_s = min(
        (objective.squares(SensorResponse(delay, lags_s[0])), delay) for delay in delays.tolist()
    )[1]
    response = _refine_delay(objective, SensorResponse(delay_s, lags_s[0]), coarse)
    for _ in range(_ROUNDS if len(lags_s) > 1 else 0):
        before = response
        response = _fit_lag(objective, response, lags_s, spacing_s)
        if response.lag_s == before.lag_s:
            break
    if len(lags_s) > 1 and response.lag_s:
        fine_lags = [factor * response.lag_s for factor in _FINE_LAGS]
        response = _fit_lag(objective, response, fine_lags, spacing_s)
    return _estimate_uncertainty(objective, response, declared, max_shift_s, block)


def _fit_lag(
    objective: "_ResponseObjective",
    response: SensorResponse,
    lags_s: Sequence[float],
    spacing_s: float,
) -> SensorResponse:
    """Return the best time constant with its delay.

    The readings determine the sum of both well, so the search stays near the present sum.
    """
    age_s = response.delay_s + response.lag_s
    shifts = np.arange(-3, 4) * spacing_s / 8
    candidates = (
        SensorResponse(age_s + shift - lag, lag) for lag in lags_s for shift in shifts.tolist()
    )
    _, delay_s, lag_s = min(
        (objective.squares(candidate), candidate.delay_s, candidate.lag_s)
        for candidate in candidates
    )
    return _refine_delay(objective, SensorResponse(delay_s, lag_s), spacing_s / 8)


class _ResponseObjective:
    """Objective of the search for a response: the sum of squared residuals of the readings."""

    def __init__(self, observations: Observations, activities: Sequence[ActiveTime]) -> None:
        self._observations = observations
        self._activities = activities
        self._squares: dict[SensorResponse, float] = {}
        self.count = len(observations)

    def squares(self, response: SensorResponse) -> float:
        """Return the sum of squared residuals for a response, which is computed once."""
        squares = self._squares.get(response)
        if squares is None:
            squares = self._squares[response] = self._compute_squares(response)
        return squares

    def _compute_squares(self, response: SensorResponse) -> float:
        begin_s, end_s = self._observations.begin_s, self._observations.end_s
        power_w = self._observations.power_w
        columns = [activity.mean(begin_s, end_s, response) for activity in self._activities]
        matrix = np.stack([np.ones(self.count), *columns], axis=1)
        residual = power_w - matrix @ nnls(matrix, power_w)
        return float(residual @ residual)


def _refine_delay(
    objective: _ResponseObjective, response: SensorResponse, step: float
) -> SensorResponse:
    """Return the response with the best delay within a step of the present one."""
    best = response.delay_s
    for _ in range(_ROUNDS):
        delays = best + np.arange(-4, 5) * step / 4
        best = min(
            (objective.squares(SensorResponse(delay, response.lag_s)), delay)
            for delay in delays.tolist()
        )[1]
        step /= 4
    return SensorResponse(best, response.lag_s)


def _estimate_uncertainty(
    objective: _ResponseObjective,
    response: SensorResponse,
    declared: SensorResponse,
    max_shift_s: float,
    block: int,
) -> ResponseFit:
    """Return a response with its half-widths: the shifts at which the fit is significantly worse."""
    least = objective.squares(response)
    independent = max(objective.count / max(block, 1), 2.0)
    limit = least * (1 + _CHI_SQUARE_95 / independent) + _ROUNDING
    worst = max(
        objective.squares(SensorResponse(response.delay_s + sign * max_shift_s, response.lag_s))
        for sign in (-1, 1)
    )
    if worst <= 0 or least > _MAX_RESIDUAL_RATIO * worst:
        return ResponseFit(declared, max_shift_s, 0.0, is_measured=False)

    def is_delay_beyond(shift_s: float) -> bool:
        shifted = SensorResponse(response.delay_s + shift_s, response.lag_s)
        return objective.squares(shifted) >= limit

    def is_lag_beyond(shift_s: float) -> bool:
        lag_s = max(response.lag_s + shift_s, 0.0)
        shifted = SensorResponse(response.delay_s - (lag_s - response.lag_s), lag_s)
        return objective.squares(shifted) >= limit

    within_s = max(_find_limit(is_delay_beyond, sign, max_shift_s) for sign in (-1.0, 1.0))
    lag_within_s = 0.0
    if response.lag_s > 0:
        lag_within_s = max(_find_limit(is_lag_beyond, sign, max_shift_s) for sign in (-1.0, 1.0))
    residual_w = math.sqrt(least / max(objective.count, 1))
    return ResponseFit(response, within_s, lag_within_s, is_measured=True, residual_w=residual_w)


def _find_limit(is_beyond: Callable[[float], bool], sign: float, max_shift_s: float) -> float:
    """Return the smallest shift to one side at which `is_beyond` is true, by bisection."""
    low, high = 0.0, 1e-4
    while high < max_shift_s and not is_beyond(sign * high):
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if is_beyond(sign * middle):
            high = middle
        else:
            low = middle
    return high


def _select_informative(
    observations: Observations, activities: Sequence[ActiveTime], max_shift_s: float
) -> Observations:
    """Return the readings during and near the work; of too many, the part with the most change."""
    if not activities or not len(observations):
        return observations
    active = [activity for activity in activities if len(activity.at_s)]
    first = min((float(activity.at_s[0]) for activity in active), default=0.0)
    last = max((float(activity.at_s[-1]) for activity in active), default=0.0)
    margin = max_shift_s + 1.0
    near = observations.select(
        (observations.end_s > first - margin) & (observations.begin_s < last + margin)
    )
    if len(near) <= _MAX_OBSERVATIONS:
        return near
    change = np.abs(np.diff(near.power_w, prepend=near.power_w[0]))
    total_change = np.concatenate([[0.0], np.cumsum(change)])
    begin = int((total_change[_MAX_OBSERVATIONS:] - total_change[:-_MAX_OBSERVATIONS]).argmax())
    mask = np.zeros(len(near), np.bool_)
    mask[begin : begin + _MAX_OBSERVATIONS] = True
    return near.select(mask)


def keep_strongest(activities: Sequence[ActiveTime], max_count: int) -> list[ActiveTime]:
    """Return the longest activities, and all others summed: this suffices to estimate a delay."""
    ordered = sorted(activities, key=lambda activity: -activity.seconds)
    kept, rest = ordered[:max_count], ordered[max_count:]
    if rest:
        at: Floats = np.unique(np.concatenate([activity.at_s for activity in rest]))
        total = np.zeros(len(at))
        for activity in rest:
            total += activity.until(at)
        kept.append(ActiveTime(at, total))
    return kept
