"""Offsets of devices' clocks to each other, which follow from their maps to the host's clock."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import ClockState
from cltrace.timeline.activity import Activity
from cltrace.timeline.clock_map import ClockMap


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset:
    """Offset of a device's clock to that of a reference device of the same host.

    `offset_ns` is what the device's clock shows more than the reference's, at the middle of the time that
    both cover; its error is `bound_ns` at most, if `is_proven`. `drift` is what the device's clock gains
    on the reference's per second, ± `drift_within`. `ordered` counts the commands of one of the two that
    had one of the other in their wait list, and `early` those of them that started before its end by more
    than the bounds of both allow.
    """

    device: int
    reference: int
    offset_ns: int
    bound_ns: float
    drift: float
    drift_within: float
    is_proven: bool
    ordered: int
    early: int


def find_clock_offsets(activity: Activity, hosts: Mapping[int, str]) -> list[ClockOffset]:
    """Return the offset of each device's clock to the first one of its host. `hosts` are by device."""
    of_host: dict[str, list[int]] = {}
    for device, clock in sorted(activity.clocks.items()):
        if any(segment.state is not ClockState.UNALIGNED for segment in clock.segments):
            of_host.setdefault(hosts.get(device, ""), []).append(device)
    offsets = [
        _offset(activity, devices[0], device)
        for devices in of_host.values()
        for device in devices[1:]
    ]
    return [offset for offset in offsets if offset is not None]


def _offset(activity: Activity, reference: int, device: int) -> ClockOffset | None:
    """Return the offset of two clocks; `None` if they cover no common time."""
    commands = activity.commands
    members = [
        np.flatnonzero(commands.is_placed & (commands.device == number))
        for number in (reference, device)
    ]
    if any(not len(positions) for positions in members):
        return None
    begin = max(int(commands.enter_ns[positions].min()) for positions in members)
    end = min(int(commands.enter_ns[positions].max()) for positions in members)
    if begin > end:
        return None
    # Processes of one host have the same origin.
    process = int(commands.process[members[0][0]])
    middle_ns = (begin + end) // 2 + activity.axis.origin_host_ns.get(process, 0)
    chosen = [_segment_at(activity.clocks[number], middle_ns) for number in (reference, device)]
    first, second = chosen
    ordered, early = _orders(activity, reference, device)
    return ClockOffset(
        device=device,
        reference=reference,
        offset_ns=_device_ns(second, middle_ns) - _device_ns(first, middle_ns),
        bound_ns=first.bound_ns + second.bound_ns,
        drift=(1 + first.drift) / (1 + second.drift) - 1,
        drift_within=first.drift_within + second.drift_within,
        is_proven=all(segment.state is ClockState.PROVEN for segment in chosen),
        ordered=ordered,
        early=early,
    )


def _segment_at(clock: ClockMap, host_ns: int) -> ClockSegment:
    """Return the aligned segment that covers a time of the host, else the nearest one."""
    return min(
        (segment for segment in clock.segments if segment.state is not ClockState.UNALIGNED),
        key=lambda segment: _distance_ns(segment, host_ns),
    )


def _distance_ns(segment: ClockSegment, host_ns: int) -> int:
    device_ns = _device_ns(segment, host_ns)
    return max(
        segment.from_device_ns - device_ns,
        device_ns - segment.to_device_ns + 1,
        segment.from_enter_host_ns - host_ns,
        host_ns - segment.to_enter_host_ns + 1,
        0,
    )


def _device_ns(segment: ClockSegment, host_ns: int) -> int:
    """Return what the device's clock shows at a time of the host."""
    since_ns = host_ns - segment.anchor_host_ns
    gained_ns = round(since_ns * (segment.drift / (1 + segment.drift)))
    return segment.anchor_device_ns + since_ns - gained_ns


def _orders(activity: Activity, *devices: int) -> tuple[int, int]:
    """Return how many commands waited for one on the other device, and how many started too early."""
    commands = activity.commands
    later, earlier = activity.edges[:, 0], activity.edges[:, 1]
    between = (
        np.isin(commands.device[later], devices)
        & np.isin(commands.device[earlier], devices)
        & (commands.device[later] != commands.device[earlier])
        & commands.is_placed[later]
        & commands.is_placed[earlier]
    )
    later, earlier = later[between], earlier[between]
    bound_ns = commands.bound_ns[later] + commands.bound_ns[earlier]
    early = commands.start_ns[later] - commands.end_ns[earlier] < -bound_ns
    return len(later), int(early.sum())
