"""Catalogue of the objects that command columns refer to: their names and owners, by id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from cltrace.events.records import (
    Device,
    Kernel,
    ProcessStarted,
    Queue,
    Site,
    Thread,
)
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.commands import Int64s
from cltrace.trace.process_rows import valid_unicode
from cltrace.trace.renumbering import TraceIds
from cltrace.trace.stacks import StackFrame, program_site, stack_frames

Name = tuple[str, str]
"""A key for machines and a label for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Names by id, and arrays that map one id to another. 0 maps to 0.

    `name_of_kernel` maps kernels to positions in `kernel_names`, whose first entry is no kernel.
    """

    kernel_names: list[str]
    name_of_kernel: Int64s
    device_of_queue: Int64s
    process_of_thread: Int64s
    queues: Mapping[int, Name]
    devices: Mapping[int, Name]
    threads: Mapping[int, Name]
    processes: Mapping[int, Name]
    sites: Mapping[int, Name]


def catalogue_of_spool(spool: ProcessSpool, ids: TraceIds) -> Catalogue:
    """Return the catalogue of a process, by the process's own ids. Its keys are ids of the trace."""
    queues = {queue.id: queue.device_id for queue in spool.records(Queue)}
    devices = {device.id: valid_unicode(device.name) for device in spool.records(Device)}
    kernels = {kernel.id: valid_unicode(kernel.name) for kernel in spool.records(Kernel)}
    names = _NameNumbers()
    name_of_kernel = lookup_table({number: names.number(kernels[number]) for number in kernels})
    threads = {
        thread.id: thread_label(valid_unicode(thread.name), thread.native_id)
        for thread in spool.records(Thread)
    }
    rank = next((started.rank for started in spool.records(ProcessStarted)), None)

    def key(table: str, number: int) -> str:
        return str(ids.of(table, number))

    return Catalogue(
        kernel_names=names.in_order,
        name_of_kernel=name_of_kernel,
        device_of_queue=lookup_table(queues),
        process_of_thread=lookup_table(dict.fromkeys(threads, ids.process_id)),
        queues={
            queue: (
                key("queue", queue),
                f"queue {key('queue', queue)} on {devices.get(device, '')}",
            )
            for queue, device in queues.items()
        },
        devices={device: (key("device", device), name) for device, name in devices.items()},
        threads={thread: (key("thread", thread), label) for thread, label in threads.items()},
        processes={ids.process_id: (str(ids.process_id), process_label(spool.identity.pid, rank))},
        sites=_site_names(
            {
                site.id: StackFrame(
                    valid_unicode(site.file), site.line, site.function, site.outer_site_id
                )
                for site in spool.records(Site)
            }
        ),
    )


def catalogue_of_trace(
    read: Callable[[str], list[tuple[Any, ...]]],
    offsets: Mapping[str, int],
) -> Catalogue:
    """Return the catalogue of a trace. `read` runs a query on its tables.

    `offsets` are added to the ids in keys, by table.
    """
    names = _NameNumbers()
    queues = {row[0]: (row[1] or 0, row[2] or "") for row in read(_QUEUES_SQL)}
    threads = read(_THREADS_SQL)
    kernels = {row[0]: names.number(row[1]) for row in read("SELECT id, name FROM kernel")}

    def key(table: str, number: int) -> str:
        return str(number + offsets.get(table, 0))

    def with_keys(table: str, labels: Mapping[int, str]) -> dict[int, Name]:
        return {number: (key(table, number), label) for number, label in labels.items()}

    queue_labels = {
        queue: f"queue {key('queue', queue)} on {device}" for queue, (_, device) in queues.items()
    }
    thread_labels = {thread: thread_label(name, number) for thread, _, name, number in threads}
    process_rows = read("SELECT id, pid, rank FROM process")
    processes = {process: process_label(pid, rank) for process, pid, rank in process_rows}
    return Catalogue(
        kernel_names=names.in_order,
        name_of_kernel=lookup_table(kernels),
        device_of_queue=lookup_table({queue: device for queue, (device, _) in queues.items()}),
        process_of_thread=lookup_table({thread: process or 0 for thread, process, *_ in threads}),
        queues=with_keys("queue", queue_labels),
        devices=with_keys("device", dict(read("SELECT id, name FROM device"))),
        threads=with_keys("thread", thread_labels),
        processes=with_keys("process", processes),
        sites=_site_names(stack_frames(read(_SITES_SQL))),
    )


def _site_names(frames: Mapping[int, StackFrame]) -> dict[int, Name]:
    """Return the names of sites: the nearest line of each that belongs to no installed package."""
    return {site: (frames[program_site(site, frames)].place,) * 2 for site in frames}


_QUEUES_SQL: Final = (
    "SELECT q.id, q.device_id, d.name FROM queue q LEFT JOIN device d ON d.id = q.device_id"
)
_SITES_SQL: Final = "SELECT id, file, line, function, outer_site_id FROM site"
_THREADS_SQL: Final = "SELECT id, process_id, coalesce(name, ''), native_id FROM thread"


def lookup_table(pairs: Mapping[int, int]) -> Int64s:
    """Return an array that maps each key to its value, and every other index to 0."""
    table = np.zeros(max(pairs, default=0) + 1, np.int64)
    for number, target in pairs.items():
        table[number] = target
    return table


def process_label(pid: int, rank: int | None) -> str:
    """Return the label of a process for people."""
    return f"process {pid}" + (f", rank {rank}" if rank is not None else "")


def thread_label(name: str, native_id: int) -> str:
    """Return the label of a thread for people."""
    return f"{name or 'thread'} ({native_id})"


class _NameNumbers:
    """Names, numbered in the order in which they first occur. Number 0 is the empty name."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def in_order(self) -> list[str]:
        return list(self._numbers)
