"""States in which the launches of a trace find their device: its caches, and what precedes them."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from cltrace.events.workloads import STEADY, Arrival
from cltrace.kernels.counts.traced_launches import TracedLaunch
from cltrace.kernels.machine import Machine
from cltrace.predict.models import Cache
from cltrace.predict.traced_arrivals import traced_arrivals
from cltrace.trace.reader import Trace

_ORDER: Final = """
    SELECT launch_id, device_id FROM v_command
    WHERE launch_id IS NOT NULL {on_devices} ORDER BY command_id
"""
_SIZES: Final = "SELECT buffer_id, size_bytes FROM v_buffer"
_MAX_LAUNCHES: Final = 1_000_000
"""Launches of a trace whose states are derived; others begin as these do."""
_MAX_CALLS: Final = 1000
"""Calls of a launch whose states a prediction looks at."""


@dataclass(frozen=True, slots=True)
class LaunchStates:
    """States at the calls of launch configurations, by launch id.

    `warm_votes` is the number of calls that find their buffers in the shared cache, less the number of
    others. `arrivals` are the states of the device at each of them.
    """

    warm_votes: Mapping[int, int]
    arrivals: Mapping[int, Sequence[Arrival]]

    @classmethod
    def of(
        cls,
        trace: Trace,
        launches: Sequence[TracedLaunch],
        machine: Machine,
        on_devices: str,
        *,
        is_what_if: bool,
    ) -> "LaunchStates":
        """Return the states of launches. `on_devices` is an SQL condition of commands, or "".

        `is_what_if` is true on another device than the recorded one. There no launch counts as queued:
        whether one waits depends on how long the launch before it takes.
        """
        arrivals = traced_arrivals(trace, _MAX_LAUNCHES, on_devices)
        if is_what_if:
            arrivals = {
                launch_id: [replace(call, is_queued=False) for call in calls]
                for launch_id, calls in arrivals.items()
            }
        return cls(_warm_votes(trace, launches, machine.shared_cache_bytes, on_devices), arrivals)

    def cache(self, launch_ids: Sequence[int]) -> Cache:
        """Return the state of the caches in which most of the launches begin."""
        votes = sum(self.warm_votes.get(launch_id, 0) for launch_id in launch_ids)
        return Cache.COLD if votes < 0 else Cache.WARM

    def arrivals_of(self, launch_ids: Sequence[int]) -> Sequence[Arrival]:
        """Return the states at the calls of launches; of many calls, some that are evenly spaced."""
        calls = [call for launch_id in launch_ids for call in self.arrivals.get(launch_id, ())]
        # An odd distance: programs that do two things in turn show both.
        return calls[:: len(calls) // _MAX_CALLS + 1 | 1] or (STEADY,)


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
