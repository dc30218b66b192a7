"""Map from device time to the host's clock, as segments give it."""

from dataclasses import dataclass

import numpy as np

from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import ClockState
from cltrace.timeline.columns import NEVER, Bools, Float64s, Int64s


@dataclass(frozen=True, slots=True)
class ClockMap:
    """Map from one device's clock to the host's."""

    segments: tuple[ClockSegment, ...]

    def host_ns(self, device_ns: Int64s, enter_host_ns: Int64s) -> Int64s:
        """Return stamps on the host's clock, of commands whose calls were entered at `enter_host_ns`.

        Shape (n,). `NEVER` where the clock is unaligned.
        """
        host_ns = np.full(len(device_ns), NEVER)
        for segment, members in self._members(device_ns, enter_host_ns):
            since = device_ns[members] - segment.anchor_device_ns
            drifted = np.round(since * segment.drift).astype(np.int64)
            host_ns[members] = segment.anchor_host_ns + since + drifted
        return host_ns

    def bound_ns(self, device_ns: Int64s, enter_host_ns: Int64s) -> Float64s:
        """Return the largest error of `host_ns`; infinite where the clock is unaligned."""
        bounds = np.full(len(device_ns), np.inf)
        for segment, members in self._members(device_ns, enter_host_ns):
            bounds[members] = segment.bound_ns
        return bounds

    def is_proven(self, device_ns: Int64s, enter_host_ns: Int64s) -> Bools:
        """Return a mask of the stamps whose bound is proven."""
        proven = np.zeros(len(device_ns), np.bool_)
        for segment, members in self._members(device_ns, enter_host_ns):
            proven[members] = segment.state is ClockState.PROVEN
        return proven

    def _members(
        self, device_ns: Int64s, enter_host_ns: Int64s
    ) -> list[tuple[ClockSegment, Int64s]]:
        """Return the aligned segments, each with the positions of its stamps."""
        members = []
        for segment in self.segments:
            if segment.state is ClockState.UNALIGNED:
                continue
            is_inside = (
                (device_ns >= segment.from_device_ns)
                & (device_ns < segment.to_device_ns)
                & (enter_host_ns >= segment.from_enter_host_ns)
                & (enter_host_ns < segment.to_enter_host_ns)
            )
            members.append((segment, np.flatnonzero(is_inside)))
        return members


def clock_maps(segments: tuple[ClockSegment, ...]) -> dict[int, ClockMap]:
    """Return the clock maps of devices, by device number."""
    devices = sorted({segment.device_id for segment in segments})
    return {
        device: ClockMap(tuple(segment for segment in segments if segment.device_id == device))
        for device in devices
    }
