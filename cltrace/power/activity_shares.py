"""Share of a time window in which work was active, as a sensor shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.power.mean_power import Floats

_NODES: Final = 24
"""Number of ages, each with an equal share, that approximate an exponential response."""
_BATCH: Final = 1 << 18
"""Times to look up at once."""


@dataclass(frozen=True, slots=True)
class ActiveTime:
    """Cumulative active time as a piecewise linear function of time: `total_s` until `at_s`.

    `at_s` ascends. Overlapping intervals count once each. Shapes (n,).
    """

    at_s: Floats
    total_s: Floats

    @classmethod
    def of(cls, start_s: Floats, end_s: Floats) -> "ActiveTime":
        """Return the active time of intervals, which may overlap. Shapes (m,)."""
        return cls.weighted(start_s, end_s, np.ones(len(start_s)))

    @classmethod
    def weighted(cls, start_s: Floats, end_s: Floats, weight: Floats) -> "ActiveTime":
        """Return the active time of intervals, each counted `weight` times. Shapes (m,)."""
        at = np.concatenate([start_s, end_s])
        change = np.concatenate([weight, -weight])
        order = np.argsort(at, kind="stable")
        at, rate = at[order], np.cumsum(change[order])
        total = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(at))])
        return cls(at, total)

    @property
    def seconds(self) -> float:
        """Total active time."""
        return float(self.total_s[-1]) if len(self.total_s) else 0.0

    def until(self, time_s: Floats) -> Floats:
        """Return the active time until each time."""
        if not len(self.at_s):
            return np.zeros_like(time_s)
        total_s: Floats = np.interp(time_s, self.at_s, self.total_s)
        return total_s

    def mean(self, begin_s: Floats, end_s: Floats, response: "SensorResponse") -> Floats:
        """Return the active share of each window, as a sensor with this response shows it."""
        length = np.maximum(end_s - begin_s, 1e-12)
        share = np.zeros(len(begin_s))
        # Where a window begins as the one before it ends, both need the active time until then.
        is_new = np.ones(len(begin_s), np.bool_)
        is_new[1:] = begin_s[1:] != end_s[:-1]
        ages_s = np.array(response.ages_s)[:, None]
        rows = max(_BATCH // max(len(begin_s), 1), 1)
        for batch in (ages_s[first : first + rows] for first in range(0, len(ages_s), rows)):
            until_end = self.until(end_s - batch)
            until_begin = np.empty_like(until_end)
            until_begin[:, 1:] = until_end[:, :-1]
            until_begin[:, is_new] = self.until(begin_s[is_new] - batch)
            for active in until_end - until_begin:
                share += active
        mean_share: Floats = share / (length * len(ages_s))
        return mean_share


@dataclass(frozen=True, slots=True)
class SensorResponse:
    """Response of a sensor: a delay, followed by a low-pass filter with the time constant `lag_s`."""

    delay_s: float = 0.0
    lag_s: float = 0.0

    @property
    def ages_s(self) -> Sequence[float]:
        """Ages of the power that the sensor shows, each with an equal share."""
        if self.lag_s <= 0:
            return (self.delay_s,)
        shares = (np.arange(_NODES) + 0.5) / _NODES
        ages = -np.log1p(-shares)
        # The mean age of an exponential is its time constant: the last age stands for the long tail.
        ages[-1] += _NODES - ages.sum()
        return tuple(self.delay_s + self.lag_s * ages)


def active_between(begin_s: float, end_s: float) -> ActiveTime:
    """Return the active time of a single interval."""
    return ActiveTime(np.array([begin_s, end_s]), np.array([0.0, max(end_s - begin_s, 0.0)]))
