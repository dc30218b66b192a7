"""What is known of a device's clock: bounds on the host time at certain device times.

A *residual* is host time minus device time minus a constant, as float64 ns: the differences are taken
in 64-bit integers first, so stamps of any size keep their nanoseconds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEVER: Final = np.int64(2**62)
"""A host time later than any: nobody saw the command complete."""

HIGHEST_DRIFT: Final = 1e-3
"""No working pair of clocks drifts apart faster: crystals are within 1e-4, NTP slews by 5e-4."""


@dataclass(frozen=True, slots=True)
class Observations:
    """The commands of one device whose stamps can be used, ordered by `enter_host_ns`.

    Shape (n,), ns. `observed_host_ns` is when a host call was seen to return that had waited for the
    command, `NEVER` when none had. `position` says which command each is, for the caller.
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

    def __getitem__(self, chosen: Bools | Int64s) -> "Observations":
        return Observations(*(getattr(self, name)[chosen] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Points:
    """Bounds `lower_ns <= residual(time) <= upper_ns`, ordered by time. Infinite where there is none.

    Shape (n,), ns since the frame's origin. `command` is the index of the observation that each
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

    @property
    def reversed(self) -> "Points":
        """The same bounds, the last first."""
        return self[::-1]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where times and residuals are counted from, so that they fit a float64 to a fraction of a ns."""

    device_ns: int
    host_ns: int

    def times(self, device_ns: Int64s) -> Float64s:
        """Device times since the origin."""
        return (device_ns - self.device_ns).astype(np.float64)

    def residuals(self, host_ns: Int64s, device_ns: Int64s) -> Float64s:
        """Host time minus device time, both since the origin."""
        return ((host_ns - self.host_ns) - (device_ns - self.device_ns)).astype(np.float64)


def points_of(seen: Observations, frame: Frame, *, quantum_ns: int, trusts_queued: bool) -> Points:
    """The bounds that observations put on their device's clock.

    A command is queued between the entry and the return of its call, and has ended when a call that
    waited for it returns. Where QUEUED is not to be trusted, the command starts after the entry.
    `quantum_ns` is by how much a stamp may be off because the device's clock moves in steps.
    """
    first = seen.queued_device_ns if trusts_queued else seen.start_device_ns
    lower = frame.residuals(seen.enter_host_ns, first) - quantum_ns
    upper = (
        frame.residuals(seen.return_host_ns, first) + quantum_ns
        if trusts_queued
        else np.full(len(seen), np.inf)
    )
    is_seen = seen.observed_host_ns != NEVER
    ended = seen.end_device_ns[is_seen]
    end_upper = frame.residuals(seen.observed_host_ns[is_seen], ended) + quantum_ns
    command = np.arange(len(seen))
    time = np.concatenate([frame.times(first), frame.times(ended)])
    order = np.argsort(time, kind="stable")
    count = len(ended)
    return Points(
        time[order],
        np.concatenate([lower, np.full(count, -np.inf)])[order],
        np.concatenate([upper, end_upper])[order],
        np.concatenate([command, command[is_seen]])[order],
    )
