"""States in which the launches of a trace find their device: its caches, idle time, first launches."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from cltrace.events.workloads import Arrival
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.predict.models import Cache
from cltrace.trace.reader import Trace

_ORDER: Final = """
    SELECT launch_id, device_id FROM v_command
    WHERE launch_id IS NOT NULL {on_devices} ORDER BY command_id
"""
_STAMPS: Final = """
    SELECT device_id, start_device_ns, end_device_ns, launch_id, first_launch FROM v_command
    WHERE start_device_ns IS NOT NULL AND end_device_ns IS NOT NULL {on_devices} ORDER BY command_id
"""
_SIZES: Final = "SELECT buffer_id, size_bytes FROM v_buffer"
_MAX_LAUNCHES: Final = 1_000_000
"""Launches of a trace whose states are derived; others begin as these do."""
_BEFORE_ALL_NS: Final = 1_000_000_000
"""Idle time of a device before the first command of a trace."""


@dataclass(frozen=True, slots=True)
class LaunchStates:
    """States at the calls of launch configurations, by launch id.

    `warm_votes` is the number of calls that find their buffers in the shared cache, less the number of
    others. `arrivals` are the idle times in ns of the calls, and whether each is a first launch.
    """

    warm_votes: Mapping[int, int]
    arrivals: Mapping[int, Sequence[tuple[int, bool]]]

    @classmethod
    def of(
        cls, trace: Trace, launches: Sequence[TracedLaunch], cache_bytes: int, *, on_devices: str
    ) -> "LaunchStates":
        """Return the states of launches. `on_devices` is an SQL condition of commands, or ""."""
        return cls(
            _warm_votes(trace, launches, cache_bytes, on_devices), _arrivals(trace, on_devices)
        )

    def cache(self, launch_ids: Sequence[int]) -> Cache:
        """Return the state of the caches in which most of the launches begin."""
        votes = sum(self.warm_votes.get(launch_id, 0) for launch_id in launch_ids)
        return Cache.COLD if votes < 0 else Cache.WARM

    def arrival(self, launch_ids: Sequence[int]) -> Arrival:
        """Return the median state of the device."""
        calls = [call for launch_id in launch_ids for call in self.arrivals.get(launch_id, ())]
        if not calls:
            return Arrival()
        first = float(np.median([is_first for _, is_first in calls]))
        usual = [idle for idle, is_first in calls if is_first == (first > 0.5)]
        return Arrival(float(np.median(usual or [idle for idle, _ in calls])), first)


def _arrivals(trace: Trace, on_devices: str) -> Mapping[int, Sequence[tuple[int, bool]]]:
    """Return the idle time before each call of a launch, and whether it is a first launch."""
    rows = _stamps(trace, on_devices)
    arrivals: dict[int, list[tuple[int, bool]]] = {}
    ends: dict[int, int] = {}
    for device, begin, end, launch_id, is_first in sorted(rows, key=lambda row: row[:2]):
        before = ends.get(device)
        idle = _BEFORE_ALL_NS if before is None else max(begin - before, 0)
        ends[device] = end if before is None else max(end, before)
        if launch_id is not None:
            arrivals.setdefault(launch_id, []).append((idle, is_first))
    return arrivals


def _stamps(trace: Trace, on_devices: str) -> Iterator[tuple[int, int, int, int | None, bool]]:
    commands = trace.iterate(_STAMPS.format(on_devices=on_devices))
    for device, begin, end, launch_id, is_first in islice(commands, _MAX_LAUNCHES):
        if isinstance(device, int) and isinstance(begin, int) and isinstance(end, int):
            known = launch_id if isinstance(launch_id, int) else None
            yield device, begin, end, known, bool(is_first)


def _warm_votes(
    trace: Trace, launches: Sequence[TracedLaunch], cache_bytes: int, on_devices: str
) -> Mapping[int, int]:
    """Return, by configuration, the number of warm launches minus the number of cold ones.

    The shared cache of each device keeps the buffers that were used there last, as far as they fit. A
    launch is warm if at least half of its memory is in the cache.
    """
    sizes = {
        buffer: size
        for buffer, size in trace.iterate(_SIZES)
        if isinstance(buffer, int) and isinstance(size, int)
    }
    used = {launch.launch_id: launch.buffers for launch in launches}
    votes: dict[int, int] = {}
    caches: dict[object, _CachedBuffers] = {}
    order = trace.iterate(_ORDER.format(on_devices=on_devices))
    for launch_id, device in islice(order, _MAX_LAUNCHES):
        if not isinstance(launch_id, int):
            continue
        cache = caches.setdefault(device, _CachedBuffers(sizes, cache_bytes))
        is_warm = cache.use(used.get(launch_id, ()))
        votes[launch_id] = votes.get(launch_id, 0) + (1 if is_warm else -1)
    return votes


class _CachedBuffers:
    """Buffers in the shared cache of a device, the one that was used last at the end."""

    def __init__(self, sizes: Mapping[int, int], cache_bytes: int) -> None:
        self._sizes = sizes
        self._cache_bytes = cache_bytes
        self._recent: OrderedDict[int, int] = OrderedDict()
        self._total_bytes = 0

    def use(self, buffers: Sequence[int]) -> bool:
        """Put the buffers of a launch into the cache; return whether at least half was there."""
        sizes = [self._sizes.get(buffer, 0) for buffer in buffers]
        used_bytes = sum(sizes)
        cached_bytes = sum(self._recent.get(buffer, 0) for buffer in buffers)
        is_warm = (
            used_bytes == 0 or cached_bytes * 2 >= used_bytes or used_bytes > self._cache_bytes
        )
        for buffer, size in zip(buffers, sizes, strict=True):
            self._total_bytes += size - self._recent.pop(buffer, 0)
            self._recent[buffer] = size
        while self._total_bytes > self._cache_bytes and self._recent:
            self._total_bytes -= self._recent.popitem(last=False)[1]
        return is_warm
