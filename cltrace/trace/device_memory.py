"""Memory objects by device: which devices hold them and since when, and the peak of each device."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from cltrace.trace.reader import Trace

NO_DEVICE: Final = 0
"""Number that stands for no device: memory of a context with several devices that no command used."""

_BUFFERS: Final = (
    "SELECT buffer_id, process_id, context_id, size_bytes, known_host_ns, released_before_host_ns "
    "FROM v_buffer WHERE parent_buffer_id IS NULL"
)
_PARENTS: Final = (
    "SELECT buffer_id, parent_buffer_id FROM v_buffer WHERE parent_buffer_id IS NOT NULL"
)
_QUEUES: Final = "SELECT queue_id, context_id, device_id FROM v_queue WHERE device_id IS NOT NULL"
_LAUNCHES: Final = (
    "SELECT launch_id, queue_id, min(enter_host_ns) FROM v_command "
    "WHERE launch_id IS NOT NULL GROUP BY launch_id, queue_id"
)
_TRANSFERS: Final = (
    "SELECT {side}_buffer_id, queue_id, min(enter_host_ns) FROM v_command "
    "WHERE {side}_buffer_id IS NOT NULL GROUP BY {side}_buffer_id, queue_id"
)
_ARGUMENTS: Final = (
    "SELECT DISTINCT launch_id, buffer_id FROM v_launch_arg WHERE buffer_id IS NOT NULL"
)
_NEVER: Final = 1 << 62


class DeviceMemory(NamedTuple):
    """Memory objects of a device: their number, their size, and the most that were live at once.

    `device_id` is `NO_DEVICE` for those that no device used.
    """

    device_id: int
    buffers: int
    size_bytes: int
    peak_bytes: int


class _Stay(NamedTuple):
    """Stay of a memory object on a device, in host ns of its process."""

    size_bytes: int
    begin_ns: int
    end_ns: int


def device_memory(trace: Trace) -> list[DeviceMemory]:
    """Return the memory of each device of a trace, by number.

    A memory object is on the device of its context from its creation until its release. In a context with
    queues on several devices it is on each from the first command there that uses it.
    """
    stays: dict[int, list[_Stay]] = defaultdict(list)
    for device, stay in _stays(trace):
        stays[device].append(stay)
    return [
        DeviceMemory(device, len(own), sum(stay.size_bytes for stay in own), _peak_bytes(own))
        for device, own in sorted(stays.items(), key=lambda item: (item[0] == NO_DEVICE, item[0]))
    ]


def _stays(trace: Trace) -> Iterator[tuple[int, _Stay]]:
    devices = _devices_of_contexts(trace)
    has_several = any(len(each) > 1 for each in devices.values())
    uses = _first_uses(trace) if has_several else {}
    for buffer, _, context, size, begin, end in trace.iterate(_BUFFERS):
        if not isinstance(size, int) or not isinstance(begin, int):
            continue
        end_ns = end if isinstance(end, int) else _NEVER
        own = devices.get(context, set())
        is_shared = len(own) != 1
        begins = uses.get(buffer, {NO_DEVICE: begin}) if is_shared else dict.fromkeys(own, begin)
        for device, begin_ns in begins.items():
            yield device, _Stay(size, begin_ns, end_ns)


def _devices_of_contexts(trace: Trace) -> Mapping[Any, set[int]]:
    """Return the devices of each context: those of its queues; without queues, those it was made for.

    PoCL names the parent as the device of a context for sub-devices, but those of the queues are right.
    """
    created: dict[Any, set[int]] = defaultdict(set)
    for context, device in trace.rows(
        "SELECT context_id, device_id FROM v_context WHERE device_id IS NOT NULL"
    ):
        created[context].add(int(device))
    used: dict[Any, set[int]] = defaultdict(set)
    for _, context, device in trace.rows(_QUEUES):
        used[context].add(int(device))
    return {**created, **used}


def _first_uses(trace: Trace) -> Mapping[Any, Mapping[int, int]]:
    """Return when each device used each memory object first."""
    devices = {queue: int(device) for queue, _, device in trace.rows(_QUEUES)}
    parents = dict(trace.rows(_PARENTS))
    first: dict[Any, dict[int, int]] = defaultdict(dict)
    for buffer, queue, time_ns in _uses(trace):
        device = devices.get(queue)
        if device is not None and isinstance(time_ns, int):
            own = first[parents.get(buffer, buffer)]
            own[device] = min(own.get(device, time_ns), time_ns)
    return first


def _uses(trace: Trace) -> Iterator[tuple[Any, Any, Any]]:
    """Yield a memory object, a queue, and the first time at which a command there used it."""
    for side in ("source", "target"):
        for buffer, queue, time_ns in trace.iterate(_TRANSFERS.format(side=side)):
            yield buffer, queue, time_ns
    arguments = defaultdict(list)
    for launch, buffer in trace.iterate(_ARGUMENTS):
        arguments[launch].append(buffer)
    for launch, queue, time_ns in trace.iterate(_LAUNCHES):
        for buffer in arguments[launch]:
            yield buffer, queue, time_ns


def _peak_bytes(stays: list[_Stay]) -> int:
    """Return the largest sum of sizes at any time. What ends at a time is gone before another begins."""
    size = np.array([stay.size_bytes for stay in stays], np.int64)
    at = np.array([time for stay in stays for time in (stay.begin_ns, stay.end_ns)], np.int64)
    change = np.stack([size, -size], axis=1).ravel()
    order = np.lexsort((change, at))
    return int(np.cumsum(change[order]).max(initial=0))
