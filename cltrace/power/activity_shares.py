"""How much of a stretch of time something was active, as a sensor sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.power.mean_power import Floats

_NODES: Final = 24
"""So many ages stand for an exponential: each for an equal share of it."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Time for which something was active up to a time: a line from point to point.

    `at_s` ascends. Where it was active several times at once, each counts. Shapes (n,).
    """

    at_s: Floats
    total_s: Floats

    @classmethod
    def of(cls, start_s: Floats, end_s: Floats) -> "Busy":
        """Of intervals, which may overlap. Shapes (m,)."""
        return cls.weighted(start_s, end_s, np.ones(len(start_s)))

    @classmethod
    def weighted(cls, start_s: Floats, end_s: Floats, weight: Floats) -> "Busy":
        """Of intervals of which each counts `weight` times."""
        at = np.concatenate([start_s, end_s])
        change = np.concatenate([weight, -weight])
        order = np.argsort(at, kind="stable")
        at, rate = at[order], np.cumsum(change[order])
        total = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(at))])
        return cls(at, total)

    @property
    def seconds(self) -> float:
        """All of it."""
        return float(self.total_s[-1]) if len(self.total_s) else 0.0

    def until(self, time_s: Floats) -> Floats:
        """How much of it was until each time."""
        if not len(self.at_s):
            return np.zeros_like(time_s)
        found: Floats = np.interp(time_s, self.at_s, self.total_s)
        return found

    def mean(self, begin_s: Floats, end_s: Floats, response: "Response") -> Floats:
        """The share of each window in which it was active, as a sensor with that response sees it."""
        length = np.maximum(end_s - begin_s, 1e-12)
        share = np.zeros(len(begin_s))
        for age_s in response.ages_s:
            share += self.until(end_s - age_s) - self.until(begin_s - age_s)
        shown: Floats = share / (length * len(response.ages_s))
        return shown


@dataclass(frozen=True, slots=True)
class Response:
    """How a sensor follows: `delay_s` late, and then with a time constant of `lag_s`."""

    delay_s: float = 0.0
    lag_s: float = 0.0

    @property
    def ages_s(self) -> Sequence[float]:
        """How old what it shows is: ages of which each has an equal share."""
        if self.lag_s <= 0:
            return (self.delay_s,)
        shares = (np.arange(_NODES) + 0.5) / _NODES
        ages = -np.log1p(-shares)
        # The mean of an exponential's ages is its time constant: the last share is a long one.
        ages[-1] += _NODES - ages.sum()
        return tuple(self.delay_s + self.lag_s * ages)


def within(begin_s: float, end_s: float) -> Busy:
    """Something that was active from one time to another."""
    return Busy(np.array([begin_s, end_s]), np.array([0.0, max(end_s - begin_s, 0.0)]))
