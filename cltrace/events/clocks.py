"""Fitted clocks: the segments that map a device's stamps to the host's clock."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.events.kinds import ClockState

CLOCK_METHOD: Final = 1
"""Version of the method that fits clocks. Readers refit the segments of older versions."""

UNBOUNDED_NS: Final = 1 << 62
"""Limit, positive or negative, of a segment that is not limited on that side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSegment:
    """A segment of a device's clock, and the straight line that maps it to the host's clock.

        host = anchor_host_ns + (device - anchor_device_ns) * (1 + drift)

    The segment covers the stamps in [`from_device_ns`, `to_device_ns`) of commands whose call was entered
    in [`from_enter_host_ns`, `to_enter_host_ns`). The calls' range is needed because a device counter
    that was reset shows the same values twice.

    `drift_within` is the largest possible error of `drift` under the observed bounds. `half_width_ns` is
    the largest shift of the line, up or down, that violates no bound: the line's largest error if `drift`
    is exact. `bound_ns` is the largest error under a weaker assumption: if `is_straight`, the rate may be
    that of any line within the bounds, or follow a curve that they do not exclude; otherwise it may be
    any rate between those of the neighbouring segments. `observations` counts the bounds that the line
    satisfies, `rejected` the commands that were left out because they contradict it. `reason` explains
    why the state is not proven; it is empty if the state is proven. An unaligned segment maps nothing:
    its anchors, drift and bounds are 0. `quantum_ns` is the step of the stamps. `input_hash` is the
    CRC-32 of the observations that the segment was fitted to.
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
class ProcessClocks:
    """The clock segments of a process's devices, and the `StampFault` bits of each of its commands."""

    segments: tuple[ClockSegment, ...]
    faults: NDArray[np.int64]
