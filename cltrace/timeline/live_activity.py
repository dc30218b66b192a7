"""Activity of a recording that is under way: launches and busy time of devices, poll by poll."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cltrace.events.records import Device, Kernel, Queue
from cltrace.events.tables import CALLS, CIRCUMSTANCES, LAUNCHES, STAMPS
from cltrace.spool.reader import ProcessSpool, read_parts
from cltrace.timeline.columns import Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.rollup import busy_ns


@dataclass(frozen=True, slots=True)
class KernelSnapshot:
    """Launches of a kernel since the last poll. `median_ns` is `None` where no duration came in."""

    name: str
    launches: int
    total_launches: int
    median_ns: float | None


@dataclass(frozen=True, slots=True)
class ActivitySnapshot:
    """Activity since the last poll.

    `busy_ns` is by device name, from the stamps that came in since then. It is the mean of several
    devices of one name and of several processes.
    """

    kernels: tuple[KernelSnapshot, ...]
    busy_ns: Mapping[str, int]
    processes: int
    total_calls: int


class LiveActivity:
    """Reader of a recording's parts that returns the new activity at each poll."""

    def __init__(self, parts: Path) -> None:
        self._parts = parts
        self._rows_read: dict[Path, tuple[int, int]] = {}
        self._total_launches: dict[str, int] = {}

    def poll(self) -> ActivitySnapshot:
        """Return the activity since the last poll. Raises: `SpoolError`."""
        launches: dict[str, int] = {}
        durations: dict[str, list[Int64s]] = {}
        busy: dict[str, list[int]] = {}
        spools = [spool for spool in read_parts(self._parts) if spool.all_records]
        calls = 0
        for spool in spools:
            calls += len(spool.rows(LAUNCHES)) + len(spool.rows(CALLS))
            self._read_new_rows(spool, launches, durations, busy)
        for name, count in launches.items():
            self._total_launches[name] = self._total_launches.get(name, 0) + count
        kernels = [
            KernelSnapshot(name, launches.get(name, 0), count, _median(durations.get(name, [])))
            for name, count in self._total_launches.items()
        ]
        kernels.sort(key=lambda kernel: (-kernel.launches, -kernel.total_launches, kernel.name))
        means = {name: sum(times) // len(times) for name, times in busy.items()}
        return ActivitySnapshot(tuple(kernels), means, len(spools), calls)

    def _read_new_rows(
        self,
        spool: ProcessSpool,
        launches: dict[str, int],
        durations: dict[str, list[Int64s]],
        busy: dict[str, list[int]],
    ) -> None:
        """Add a process's new rows to `launches`, `durations` and `busy`."""
        # Stamps first: the launch of each stamp is written by then.
        stamps, rows = spool.rows(STAMPS), spool.rows(LAUNCHES)
        first, first_stamp = self._rows_read.get(spool.directory, (0, 0))
        facts = _Circumstances(spool)
        rows = rows[: first + facts.count_recorded(rows[first:, LAUNCHES.index("circumstance_id")])]
        self._rows_read[spool.directory] = (len(rows), len(stamps))
        for name, count in facts.count_launches(rows[first:, LAUNCHES.index("circumstance_id")]):
            launches[name] = launches.get(name, 0) + count
        new = stamps[first_stamp:]
        of_launch = new[(new[:, 0] & 1 == 0) & (new[:, 0] >> 1 < len(rows))]
        circumstance = rows[of_launch[:, 0] >> 1, LAUNCHES.index("circumstance_id")]
        start, end = of_launch[:, 3], of_launch[:, 4]
        for name, members in facts.by_kernel(circumstance):
            durations.setdefault(name, []).append((end - start)[members])
        for name, members in facts.by_device(circumstance):
            busy.setdefault(name, []).append(busy_ns(start[members], end[members]))


class _Circumstances:
    """Kernels and devices of launches, by the number of their circumstance."""

    def __init__(self, spool: ProcessSpool) -> None:
        kernels = {kernel.id: kernel.name for kernel in spool.records(Kernel)}
        devices = {device.id: device.name for device in spool.records(Device)}
        queues = {queue.handle: devices.get(queue.device_id, "?") for queue in spool.records(Queue)}
        rows = spool.rows(CIRCUMSTANCES)
        numbers = rows[:, CIRCUMSTANCES.index("circumstance_id")].tolist()
        kernel_ids = rows[:, CIRCUMSTANCES.index("kernel_id")].tolist()
        queue_handles = rows[:, CIRCUMSTANCES.index("queue_handle")].tolist()
        self._kernel = {
            number: kernels[kernel]
            for number, kernel in zip(numbers, kernel_ids, strict=True)
            if kernel in kernels
        }
        self._device = {
            number: queues.get(queue, "?")
            for number, queue in zip(numbers, queue_handles, strict=True)
        }

    def count_recorded(self, circumstances: Int64s) -> int:
        """Return the length of the prefix whose circumstances are recorded.

        A circumstance may be written after a launch that refers to it.
        """
        is_recorded = np.isin(circumstances, list(self._kernel))
        return len(is_recorded) if is_recorded.all() else int(is_recorded.argmin())

    def count_launches(self, circumstances: Int64s) -> list[tuple[str, int]]:
        """Return each kernel's number of launches."""
        return [(name, len(members)) for name, members in self.by_kernel(circumstances)]

    def by_kernel(self, circumstances: Int64s) -> list[tuple[str, Int64s]]:
        """Return the positions of each kernel's launches."""
        return _group_by_name(circumstances, self._kernel)

    def by_device(self, circumstances: Int64s) -> list[tuple[str, Int64s]]:
        """Return the positions of each device's launches."""
        return _group_by_name(circumstances, self._device)


def _group_by_name(numbers: Int64s, names: Mapping[int, str]) -> list[tuple[str, Int64s]]:
    positions: dict[str, list[Int64s]] = {}
    for number, members in groups(numbers):
        if number in names:
            positions.setdefault(names[number], []).append(members)
    return [(name, np.concatenate(parts)) for name, parts in positions.items()]


def _median(parts: list[Int64s]) -> float | None:
    values = np.concatenate(parts) if parts else np.empty(0)
    return float(np.median(values)) if len(values) else None
