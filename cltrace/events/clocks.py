"""What is known of a device's clock: the segments that put its stamps on the host's clock."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import ClockState

CLOCK_METHOD: Final = 1
"""Version of the method that fits clocks. Segments of an older one are fitted anew by readers."""

ALWAYS: Final = 1 << 62
"""Before and after everything: the limits of a segment that has none on that side."""


@dataclass(frozen=True, slots=True)
class ClockSegment:
    """A stretch of a device's clock, and the straight line that leads from it to the host's.

        host = anchor_host_ns + (device - anchor_device_ns) * (1 + drift)

    It is for stamps from `from_device_ns` up to, not including, `to_device_ns`, of commands whose call
    was entered from `from_enter_host_ns` up to, not including, `to_enter_host_ns`: a counter that was
    set anew shows the same twice.

    `drift` may be off by `drift_within`, as far as the bounds tell. `half_width_ns` is how far the line
    can be moved up or down without breaking a bound: its error is no larger if `drift` is exact.
    `bound_ns` needs less: in a segment that `is_straight` the rate may be that of any line that keeps
    the bounds, or run along a curve that they do not exclude; in one that is not it may be anything
    between those of the segments around. `observations` is the number of bounds that the line keeps,
    `rejected` that of commands that were left out because they contradict. `reason` says in words why
    the state is not proven; empty if it is. An unaligned segment leads nowhere: its anchors, drift and
    bounds are 0.
    `quantum_ns` is the step in which the stamps move. `input_hash` is the CRC-32 of the observations
    that it was fitted to.
    """

    TABLE = "clock_segment"
    device_id: int
    state: ClockState
    is_straight: bool
    from_enter_host_ns: int
    to_enter_host_ns: int
    from_device_ns: int
    to_device_ns: int
    anchor_device_ns: int
    anchor_host_ns: int
    drift: float
    drift_within: float
    half_width_ns: float
    bound_ns: float
    observations: int
    rejected: int
    reason: str
    quantum_ns: int
    method: int = CLOCK_METHOD
    input_hash: int = 0


@dataclass(frozen=True, slots=True)
class KeptTime:
    """The clocks of a process's devices, and the `StampFault` bits of each of its commands."""

    segments: tuple[ClockSegment, ...]
    faults: NDArray[np.int64]
