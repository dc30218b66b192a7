"""What the numbers in commands mean: names and owners, from a spool or from a trace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from cltrace.events.records import (
    Device,
    Kernel,
    Launch,
    ProcessStarted,
    Queue,
    Site,
    Thread,
)
from cltrace.spool.reader import ProcessSpool
from cltrace.trace.commands import Int64s
from cltrace.trace.process_rows import clean
from cltrace.trace.renumbering import Numbers

Name = tuple[str, str]
"""A key for machines and a label for people."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Names by number, and arrays that lead from one number to another; 0 leads to 0.

    `kernel_names` are listed by what `kernel_of_launch` leads to; its first is no kernel.
    """

    kernel_names: list[str]
    kernel_of_launch: Int64s
    device_of_queue: Int64s
    process_of_thread: Int64s
    queues: Mapping[int, Name]
    devices: Mapping[int, Name]
    threads: Mapping[int, Name]
    processes: Mapping[int, Name]
    sites: Mapping[int, Name]


def catalogue_of_spool(spool: ProcessSpool, numbers: Numbers) -> Catalogue:
    """The catalogue of one process; keys are the trace's numbers, positions the process's own."""
    queues = {queue.id: queue.device_id for queue in spool.records(Queue)}
    devices = {one.id: clean(one.name) for one in spool.records(Device)}
    kernels = {kernel.id: clean(kernel.name) for kernel in spool.records(Kernel)}
    names = _Names()
    launches = {
        launch.id: names.number(kernels.get(launch.kernel_id, ""))
        for launch in spool.records(Launch)
    }
    threads = {one.id: (clean(one.name), one.native_id) for one in spool.records(Thread)}

    rank = next((one.rank for one in spool.records(ProcessStarted)), None)

    def key(table: str, number: int) -> str:
        return str(numbers.of(table, number))

    return Catalogue(
        kernel_names=names.listed,
        kernel_of_launch=leading(launches),
        device_of_queue=leading(queues),
        process_of_thread=leading(dict.fromkeys(threads, numbers.process_id)),
        queues={
            one: (key("queue", one), f"queue {key('queue', one)} on {devices.get(device, '')}")
            for one, device in queues.items()
        },
        devices={one: (key("device", one), name) for one, name in devices.items()},
        threads={
            one: (key("thread", one), thread_label(*thread)) for one, thread in threads.items()
        },
        processes={
            numbers.process_id: (str(numbers.process_id), process_label(spool.identity.pid, rank))
        },
        sites={one.id: (f"{clean(one.file)}:{one.line}",) * 2 for one in spool.records(Site)},
    )


def catalogue_of_rows(
    read: Callable[[str], list[tuple[Any, ...]]], moved: Mapping[str, int]
) -> Catalogue:
    """The catalogue of a trace, given what runs a query on its tables.

    `moved` is how far the numbers of each table are moved where the names will be used.
    """
    names = _Names()
    queues = {row[0]: (row[1] or 0, row[2] or "") for row in read(_QUEUES_SQL)}
    threads = {row[0]: row[1:] for row in read(_THREADS_SQL)}
    launches = {row[0]: names.number(row[1] or "") for row in read(_LAUNCHES_SQL)}

    def key(table: str, number: int) -> str:
        return str(number + moved.get(table, 0))

    def keyed(table: str, labels: Mapping[int, str]) -> dict[int, Name]:
        return {one: (key(table, one), label) for one, label in labels.items()}

    queue_labels = {
        one: f"queue {key('queue', one)} on {device}" for one, (_, device) in queues.items()
    }
    processes = {
        one: process_label(pid, rank)
        for one, pid, rank in read("SELECT id, pid, rank FROM process")
    }
    sites = {one: f"{file}:{line}" for one, file, line in read("SELECT id, file, line FROM site")}
    return Catalogue(
        kernel_names=names.listed,
        kernel_of_launch=leading(launches),
        device_of_queue=leading({one: device for one, (device, _) in queues.items()}),
        process_of_thread=leading({one: thread[0] or 0 for one, thread in threads.items()}),
        queues=keyed("queue", queue_labels),
        devices=keyed("device", dict(read("SELECT id, name FROM device"))),
        threads=keyed("thread", {one: thread_label(*last) for one, (_, *last) in threads.items()}),
        processes=keyed("process", processes),
        sites={one: (site, site) for one, site in sites.items()},
    )


_QUEUES_SQL: Final = (
    "SELECT q.id, q.device_id, d.name FROM queue q LEFT JOIN device d ON d.id = q.device_id"
)
_THREADS_SQL: Final = "SELECT id, process_id, coalesce(name, ''), native_id FROM thread"
_LAUNCHES_SQL: Final = "SELECT l.id, k.name FROM launch l LEFT JOIN kernel k ON k.id = l.kernel_id"


def leading(pairs: Mapping[int, int]) -> Int64s:
    """An array that leads from each key to its value, and from 0 to 0."""
    table = np.zeros(max(pairs, default=0) + 1, np.int64)
    for number, target in pairs.items():
        table[number] = target
    return table


def process_label(pid: int, rank: int | None) -> str:
    """What a process is called for people."""
    return f"process {pid}" + (f", rank {rank}" if rank is not None else "")


def thread_label(name: str, native_id: int) -> str:
    """What a thread is called for people."""
    return f"{name or 'thread'} ({native_id})"


class _Names:
    """Names numbered in the order they come; the first is no name."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def listed(self) -> list[str]:
        return list(self._numbers)
