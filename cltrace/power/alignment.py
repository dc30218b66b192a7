"""How late a sensor is, from what it shows of the work that was done: no clock has to be agreed on.

The delay and the time constant are those with which the work explains the readings best. How far off the
delay may be comes from how fast the fit gets worse beside it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.power.activity_shares import Busy, Response
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.solving import non_negative

_MOST_OBSERVATIONS: Final = 6000
_FEWEST: Final = 20
_FEWEST_CHANGES: Final = 4
_ROUNDS: Final = 4
_STEPS: Final = 12
"""Steps to each side of the first look."""
_BETWEEN: Final = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
"""Time constants beside the best of those that are tried, as multiples of it."""
_CLEAR: Final = 0.9
"""A delay is found where the work explains this much less of the readings without it, at its worst."""
_HALF_LIFE: Final = 3.84
"""The chi-square of one parameter at 95 %."""
_SQUARE_FALLS: Final = 1e-12
_HALVINGS: Final = 6


@dataclass(frozen=True, slots=True)
class Alignment:
    """How a sensor follows, and how far off its delay and its time constant may be: 95 %.

    The time constant is off with the sum of both staying as it is. `is_found` says that the readings told
    it; else it is what was stated, or nothing.
    """

    response: Response
    within_s: float
    lag_within_s: float
    is_found: bool
    left_w: float = 0.0
    """What is left unexplained of the readings: the root of the mean square."""


def aligned(
    seen: Observations,
    active: Sequence[Busy],
    *,
    stated: Response,
    furthest_s: float,
    lags_s: Sequence[float],
    block: int,
) -> Alignment:
    """How a sensor follows the times in which something was active.

    Delays up to `furthest_s` from the stated one are tried, with each of `lags_s`. Errors of `block`
    observations in a row hang together.
    """
    chosen = _informative(seen, active, furthest_s)
    if len(chosen) < _FEWEST or not active:
        return Alignment(stated, furthest_s, 0.0, is_found=False)
    search = _Search(chosen, active)
    spacing_s = float(np.median(np.diff(chosen.end_s)))
    coarse = max(min(spacing_s / 2, furthest_s / _STEPS), furthest_s / 200)
    steps = np.arange(-furthest_s, furthest_s + coarse / 2, coarse) + stated.delay_s
    delay_s = min((search.misfit(Response(one, lags_s[0])), one) for one in steps.tolist())[1]
    response = _refined(search, Response(delay_s, lags_s[0]), coarse)
    for _ in range(_ROUNDS if len(lags_s) > 1 else 0):
        before = response
        response = _with_lag(search, response, lags_s, spacing_s)
        if response.lag_s == before.lag_s:
            break
    if len(lags_s) > 1 and response.lag_s:
        response = _with_lag(
            search, response, [one * response.lag_s for one in _BETWEEN], spacing_s
        )
    return _judged(search, response, stated, furthest_s, block)


def _with_lag(
    search: "_Search", response: Response, lags_s: Sequence[float], spacing_s: float
) -> Response:
    """The best time constant, with its delay: their sum is known well, and stays about as it is."""
    age_s = response.delay_s + response.lag_s
    shifts = np.arange(-3, 4) * spacing_s / 8
    options = (Response(age_s + shift - lag, lag) for lag in lags_s for shift in shifts.tolist())
    found = min((search.misfit(one), one.delay_s, one.lag_s) for one in options)
    return _refined(search, Response(found[1], found[2]), spacing_s / 8)


class _Search:
    """How badly the work explains the readings, by how they follow."""

    def __init__(self, seen: Observations, active: Sequence[Busy]) -> None:
        self._seen = seen
        self._active = active
        self.count = len(seen)

    def misfit(self, response: Response) -> float:
        """The sum of squares that is left."""
        seen = self._seen
        columns = [one.mean(seen.begin_s, seen.end_s, response) for one in self._active]
        matrix = np.stack([np.ones(len(seen)), *columns], axis=1)
        left = seen.power_w - matrix @ non_negative(matrix, seen.power_w)
        return float(left @ left)


def _refined(search: _Search, found: Response, step: float) -> Response:
    """The best delay beside one that is best within a step."""
    best = found.delay_s
    for _ in range(_ROUNDS):
        around = best + np.arange(-4, 5) * step / 4
        best = min((search.misfit(Response(one, found.lag_s)), one) for one in around.tolist())[1]
        step /= 4
    return Response(best, found.lag_s)


def _judged(
    search: _Search, response: Response, stated: Response, furthest_s: float, block: int
) -> Alignment:
    """How far off a delay may be: where the sum of squares is above its least by what chance makes."""
    least = search.misfit(response)
    independent = max(search.count / max(block, 1), 2.0)
    allowed = least * (1 + _HALF_LIFE / independent) + _SQUARE_FALLS
    worst = max(
        search.misfit(Response(response.delay_s + sign * furthest_s, response.lag_s))
        for sign in (-1, 1)
    )
    if worst <= 0 or least > _CLEAR * worst:
        return Alignment(stated, furthest_s, 0.0, is_found=False)

    def is_late(moved_s: float) -> bool:
        moved = Response(response.delay_s + moved_s, response.lag_s)
        return search.misfit(moved) >= allowed

    def is_slow(moved_s: float) -> bool:
        lag_s = max(response.lag_s + moved_s, 0.0)
        return (
            search.misfit(Response(response.delay_s - (lag_s - response.lag_s), lag_s)) >= allowed
        )

    within_s = max(_reach(is_late, sign, furthest_s) for sign in (-1.0, 1.0))
    slow = response.lag_s > 0
    lag_within_s = max(_reach(is_slow, sign, furthest_s) for sign in (-1.0, 1.0)) if slow else 0.0
    left_w = math.sqrt(least / max(search.count, 1))
    return Alignment(response, within_s, lag_within_s, is_found=True, left_w=left_w)


def _reach(is_beyond: Callable[[float], bool], sign: float, furthest_s: float) -> float:
    """How far something can be moved to one side before it is beyond."""
    low, high = 0.0, 1e-4
    while high < furthest_s and not is_beyond(sign * high):
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if is_beyond(sign * middle):
            high = middle
        else:
            low = middle
    return high


def _informative(seen: Observations, active: Sequence[Busy], furthest_s: float) -> Observations:
    """Readings while something went on and soon before and after; of very many those that change most."""
    if not active or not len(seen):
        return seen
    first = min((float(one.at_s[0]) for one in active if len(one.at_s)), default=0.0)
    last = max((float(one.at_s[-1]) for one in active if len(one.at_s)), default=0.0)
    margin = furthest_s + 1.0
    near = seen.chosen((seen.end_s > first - margin) & (seen.begin_s < last + margin))
    if len(near) <= _MOST_OBSERVATIONS:
        return near
    change = np.abs(np.diff(near.power_w, prepend=near.power_w[0]))
    summed = np.concatenate([[0.0], np.cumsum(change)])
    begin = int((summed[_MOST_OBSERVATIONS:] - summed[:-_MOST_OBSERVATIONS]).argmax())
    where = np.zeros(len(near), np.bool_)
    where[begin : begin + _MOST_OBSERVATIONS] = True
    return near.chosen(where)


def strongest(active: Sequence[Busy], most: int) -> list[Busy]:
    """The classes that were active longest, and all others as one: enough to find a delay by."""
    ordered = sorted(active, key=lambda one: -one.seconds)
    kept, rest = ordered[:most], ordered[most:]
    if rest:
        at: Floats = np.unique(np.concatenate([one.at_s for one in rest]))
        total = np.zeros(len(at))
        for one in rest:
            total += one.until(at)
        kept.append(Busy(at, total))
    return kept
