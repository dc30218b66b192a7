"""What readings are explained by: how much of the time of each something was active."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.power.activity_shares import Busy, Response, within
from cltrace.power.load_classes import Load, busy_union
from cltrace.power.mean_power import Floats, Observations
from cltrace.power.solving import Solution, solved

FEWEST_UPDATES: Final = 6
"""A class that was active in fewer updates is not resolved."""
_BLOCK_S: Final = 0.5
"""Errors so close in time hang together."""
_BLOCK_UPDATES: Final = 5


@dataclass(frozen=True, slots=True)
class Situation:
    """What is to be explained, and by what.

    `resident_s` is when the program had a context, as far as is known: None where it is not.
    """

    seen: Observations
    loads: tuple[Load, ...]
    stated: Response
    is_lag_stated: bool
    resident_s: tuple[float, float] | None

    @property
    def period_s(self) -> float:
        """The usual time between readings."""
        return float(np.median(np.diff(self.seen.end_s)))

    @property
    def block(self) -> int:
        """How many readings in a row have errors that hang together."""
        return max(_BLOCK_UPDATES, round(_BLOCK_S / self.period_s))


@dataclass(frozen=True, slots=True)
class Design:
    """What readings are explained by: columns of shares of time, and what they are.

    The first is idle, then the context and the tail where there are such, then the loads.
    """

    matrix: Floats
    context_at: int | None
    tail_at: int | None
    first_load: int
    tail_s: float

    @classmethod
    def of(
        cls, situation: Situation, active: Sequence[Busy], response: Response, tail_s: float
    ) -> "Design":
        """The columns for readings that follow with `response`."""
        seen = situation.seen
        columns = [np.ones(len(seen))]
        context_at = tail_at = None
        if situation.resident_s is not None:
            share = within(*situation.resident_s).mean(seen.begin_s, seen.end_s, response)
            if min((share < 0.5).sum(), (share > 0.5).sum()) >= FEWEST_UPDATES:
                context_at = len(columns)
                columns.append(share)
        if tail_s:
            tail_at = len(columns)
            columns.append(_tail_busy(situation, tail_s).mean(seen.begin_s, seen.end_s, response))
        first = len(columns)
        columns += [one.mean(seen.begin_s, seen.end_s, response) for one in active]
        return cls(np.stack(columns, axis=1), context_at, tail_at, first, tail_s)

    def merged(self, one: int, other: int) -> "Design":
        """The same with two loads as one, in the place of the first; of these `one` comes first."""
        columns = self.matrix.copy()
        columns[:, self.first_load + one] += columns[:, self.first_load + other]
        return replace(self, matrix=np.delete(columns, self.first_load + other, axis=1))

    def without(self, places: Collection[int]) -> "Design":
        """The same without some loads."""
        columns = [self.first_load + place for place in places]
        return replace(self, matrix=np.delete(self.matrix, columns, axis=1))

    def solved(self, seen: Observations, block: int) -> Solution:
        """The powers that explain the readings best, each weighted with the time it stands for."""
        spread = _spread_of(seen)
        weight = seen.span_s / (spread**2 + seen.sigma_w**2)
        return solved(self.matrix, seen.power_w, weight / weight.mean(), block)


def _spread_of(seen: Observations) -> float:
    """A scale for the noise of readings: half of them differ from their neighbours by less."""
    return float(np.median(np.abs(np.diff(seen.power_w)))) + 1e-9


def _tail_busy(situation: Situation, tail_s: float) -> Busy:
    start, end = busy_union(situation.loads)
    until = np.append(start[1:], np.inf)
    return Busy.of(end, np.minimum(end + tail_s, until))
