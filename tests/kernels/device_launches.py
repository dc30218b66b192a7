"""Cases as launches whose events a device records, and what differs from the executor's."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from cltrace.kernels.events.capture import EventLimits, record_events
from cltrace.kernels.events.device_launch import DeviceLaunch
from cltrace.kernels.events.recording_request import KernelLaunch
from cltrace.kernels.events.records import LaunchEvents
from tests.kernels.cases import Case
from tests.kernels.launches import arguments_of, local_size_of, program_of

_Event = tuple[object, ...]


def device_launch(case: Case) -> DeviceLaunch:
    return DeviceLaunch(
        KernelLaunch(
            program_of(case), case.kernel, case.global_size, local_size_of(case), arguments_of(case)
        )
    )


def executor_events(case: Case) -> LaunchEvents:
    return record_events(
        KernelLaunch(
            program_of(case), case.kernel, case.global_size, local_size_of(case), arguments_of(case)
        ),
        limits=EventLimits(max_events=1 << 40),
    )


def event_differences(expected: LaunchEvents, events: LaunchEvents) -> Iterator[str]:
    """What differs between two recordings of all work-items of a launch, in words."""
    if not np.array_equal(expected.items.item, events.items.item):
        yield "other work-items"
        return
    texts = [part.streams.texts(part.items.stream, 1 << 20) for part in (expected, events)]
    streams = sum(first != second for first, second in zip(*texts, strict=True))
    if streams:
        yield f"conditions of {streams} work-items"
    own, other = memory_events(expected), memory_events(events)
    if own != other:
        yield f"{(own - other).total()} events missing, {(other - own).total()} more"
    if not np.array_equal(expected.items.operations, events.items.operations):
        yield "operations of work-items"
    if not np.array_equal(expected.warp_operations, events.warp_operations):
        yield "operations of warps"
    if together(expected) != together(events):
        yield "accesses that are made together"


def memory_events(events: LaunchEvents) -> Counter[_Event]:
    """How often each event of memory happens, in any order within an epoch."""
    accesses = events.accesses
    names = [memory.name for memory in events.memories]
    sites = [
        (site.file, site.line, site.column, site.kind.label, site.access_bytes)
        for site in events.sites
    ]
    columns = (
        events.items.item[accesses.row],
        accesses.epoch,
        accesses.site,
        accesses.memory,
        accesses.offset_bytes,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Counter(
        (item, epoch, *sites[site], names[memory] if memory >= 0 else None, offset)
        for item, epoch, site, memory, offset in rows
    )


def together(events: LaunchEvents) -> Counter[tuple[int, ...]]:
    """How often each set of work-items accesses memory, or comes to a barrier, together."""
    accesses = events.accesses
    order = np.lexsort([accesses.row, accesses.step])
    step, row = accesses.step[order], accesses.row[order]
    begins = np.flatnonzero(np.diff(step, prepend=-1))
    return Counter(tuple(part.tolist()) for part in np.split(row, begins[1:]))
