"""Observations of a device's clock, and the bounds that they put on its residual.

A *residual* is host time minus device time minus a constant, as float64 ns. The differences are taken in
64-bit integers first, so stamps of any size keep their nanoseconds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.columns import NEVER, Bools, Float64s, Int64s

MAX_DRIFT: Final = 1e-3
"""Greatest drift of a working pair of clocks: crystals are within 1e-4, NTP slews by 5e-4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockObservations:
    """Commands of one device whose stamps can be used, ordered by `enter_host_ns`.

    Shape (n,), ns. `observed_host_ns` is the return of a host call that had waited for the command,
    `NEVER` if no call had. `position` identifies each command for the caller.
    """

    enter_host_ns: Int64s
    return_host_ns: Int64s
    queued_device_ns: Int64s
    start_device_ns: Int64s
    end_device_ns: Int64s
    observed_host_ns: Int64s
    position: Int64s

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, chosen: Bools | Int64s) -> "ClockObservations":
        return ClockObservations(**{name: getattr(self, name)[chosen] for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Points:
    """Bounds `lower_ns <= residual(time) <= upper_ns`, ordered by time; infinite where there is none.

    Shape (n,), ns since the frame's origin. `command` is the index of the observation that each point
    comes from.
    """

    time_ns: Float64s
    lower_ns: Float64s
    upper_ns: Float64s
    command: Int64s

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, chosen: Bools | Int64s | slice) -> "Points":
        return Points(*(getattr(self, name)[chosen] for name in self.__slots__))

    def load(self, begin: int, end: int) -> "Points":
        """Return the points from `begin` to `end`."""
        return self[begin:end]


@dataclass(frozen=True, slots=True)
class TimeOrigin:
    """Origin of times and residuals, near enough that a float64 keeps them to a fraction of a ns."""

    device_ns: int
    host_ns: int

    def times(self, device_ns: Int64s) -> Float64s:
        """Return device times since the origin."""
        return (device_ns - self.device_ns).astype(np.float64)

    def residuals(self, host_ns: Int64s, device_ns: Int64s) -> Float64s:
        """Return host time minus device time, both since the origin."""
        return ((host_ns - self.host_ns) - (device_ns - self.device_ns)).astype(np.float64)


def point_rows(
    observations: ClockObservations,
    numbers: Int64s,
    frame: TimeOrigin,
    *,
    quantum_ns: int,
    trusts_queued: bool,
) -> Int64s:
    """Return the bounds that observations put on their device's clock, as rows of 64-bit integers.

    A row has a key for the order of points, the lower and the upper bound as bits of float64, and the
    number of the observation. `key >> 1` is the time since the origin. Of points at one time those of
    QUEUED come first.

    A command is queued between the entry and the return of its call. It has ended when a call that
    waited for it returns. Where QUEUED cannot be trusted, the only bound is that the command starts
    after the entry. `quantum_ns` is the possible error of a stamp because the device's clock moves in
    steps.
    """
    first = observations.queued_device_ns if trusts_queued else observations.start_device_ns
    lower = frame.residuals(observations.enter_host_ns, first) - quantum_ns
    upper = (
        frame.residuals(observations.return_host_ns, first) + quantum_ns
        if trusts_queued
        else np.full(len(observations), np.inf)
    )
    begun = _rows(2 * (first - frame.device_ns), lower, upper, numbers)
    is_observed = observations.observed_host_ns != NEVER
    if not is_observed.any():
        return begun
    end = observations.end_device_ns[is_observed]
    end_upper = frame.residuals(observations.observed_host_ns[is_observed], end) + quantum_ns
    unbounded = np.full(len(end), -np.inf)
    ended = _rows(2 * (end - frame.device_ns) + 1, unbounded, end_upper, numbers[is_observed])
    return np.concatenate([begun, ended])


def _rows(key: Int64s, lower: Float64s, upper: Float64s, numbers: Int64s) -> Int64s:
    return np.stack([key, lower.view(np.int64), upper.view(np.int64), numbers], axis=1)
