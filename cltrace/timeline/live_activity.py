"""Watching a recording that is under way: what was launched, how busy devices were, look by look."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cltrace.events.records import Device, Kernel, Launch, Queue
from cltrace.events.tables import CALLS, CIRCUMSTANCES, LAUNCHES, STAMPS
from cltrace.spool.reader import ProcessSpool, read_parts
from cltrace.timeline.clock_fit.points import Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.rollup import busy_ns


@dataclass(frozen=True, slots=True)
class KernelGlance:
    """What a kernel did since the last look. `median_ns` is `None` where no duration came in."""

    name: str
    launches: int
    launches_in_all: int
    median_ns: float | None


@dataclass(frozen=True, slots=True)
class Glance:
    """What went on since the last look.

    `busy_ns` is by device name, of stamps that came in meanwhile; of several devices of one name, and of
    several processes, the mean.
    """

    kernels: tuple[KernelGlance, ...]
    busy_ns: Mapping[str, int]
    processes: int
    calls_in_all: int


class Watch:
    """Looks at a recording's parts again and again, each time at what is new."""

    def __init__(self, parts: Path) -> None:
        self._parts = parts
        self._seen: dict[Path, tuple[int, int]] = {}
        self._in_all: dict[str, int] = {}

    def look(self) -> Glance:
        """What went on since the last look. Raises: `SpoolError`."""
        launches: dict[str, int] = {}
        durations: dict[str, list[Int64s]] = {}
        busy: dict[str, list[int]] = {}
        spools = [spool for spool in read_parts(self._parts) if spool.all_records]
        calls = 0
        for spool in spools:
            calls += len(spool.rows(LAUNCHES)) + len(spool.rows(CALLS))
            self._look_at(spool, launches, durations, busy)
        for name, count in launches.items():
            self._in_all[name] = self._in_all.get(name, 0) + count
        glances = [
            KernelGlance(name, launches.get(name, 0), count, _median(durations.get(name, [])))
            for name, count in self._in_all.items()
        ]
        glances.sort(key=lambda one: (-one.launches, -one.launches_in_all, one.name))
        means = {name: sum(each) // len(each) for name, each in busy.items()}
        return Glance(tuple(glances), means, len(spools), calls)

    def _look_at(
        self,
        spool: ProcessSpool,
        launches: dict[str, int],
        durations: dict[str, list[Int64s]],
        busy: dict[str, list[int]],
    ) -> None:
        # Stamps first: each is of a launch that is written by then.
        stamps, rows = spool.rows(STAMPS), spool.rows(LAUNCHES)
        first, first_stamp = self._seen.get(spool.directory, (0, 0))
        facts = _Circumstances(spool)
        rows = rows[: first + facts.known(rows[first:, LAUNCHES.index("circumstance_id")])]
        self._seen[spool.directory] = (len(rows), len(stamps))
        for name, count in facts.counted(rows[first:, LAUNCHES.index("circumstance_id")]):
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
    """What the circumstances of launches are, by number: their kernels and devices."""

    def __init__(self, spool: ProcessSpool) -> None:
        kernels = {one.id: one.name for one in spool.records(Kernel)}
        launches = {one.id: kernels.get(one.kernel_id, "?") for one in spool.records(Launch)}
        devices = {one.id: one.name for one in spool.records(Device)}
        queues = {one.handle: devices.get(one.device_id, "?") for one in spool.records(Queue)}
        rows = spool.rows(CIRCUMSTANCES)
        numbers = rows[:, CIRCUMSTANCES.index("circumstance_id")].tolist()
        launch = rows[:, CIRCUMSTANCES.index("launch_id")].tolist()
        queue = rows[:, CIRCUMSTANCES.index("queue_handle")].tolist()
        self._kernel = {
            one: launches[which]
            for one, which in zip(numbers, launch, strict=True)
            if which in launches
        }
        self._device = {
            one: queues.get(which, "?") for one, which in zip(numbers, queue, strict=True)
        }

    def known(self, circumstances: Int64s) -> int:
        """How many of the first are known: what a number means may be written after it is used."""
        is_known = np.isin(circumstances, list(self._kernel))
        return len(is_known) if is_known.all() else int(is_known.argmin())

    def counted(self, circumstances: Int64s) -> list[tuple[str, int]]:
        """How often each kernel occurs."""
        return [(name, len(members)) for name, members in self.by_kernel(circumstances)]

    def by_kernel(self, circumstances: Int64s) -> list[tuple[str, Int64s]]:
        """The positions of each kernel's launches."""
        return _by_name(circumstances, self._kernel)

    def by_device(self, circumstances: Int64s) -> list[tuple[str, Int64s]]:
        """The positions of each device's launches."""
        return _by_name(circumstances, self._device)


def _by_name(numbers: Int64s, names: Mapping[int, str]) -> list[tuple[str, Int64s]]:
    found: dict[str, list[Int64s]] = {}
    for number, members in groups(numbers):
        if number in names:
            found.setdefault(names[number], []).append(members)
    return [(name, np.concatenate(parts)) for name, parts in found.items()]


def _median(parts: list[Int64s]) -> float | None:
    values = np.concatenate(parts) if parts else np.empty(0)
    return float(np.median(values)) if len(values) else None
