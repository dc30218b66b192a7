"""What the launches and transfers of a trace should take, held against what they took."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.errors import KernelError
from cltrace.events.workloads import DIRECTION_OF, Direction, HostMemory, Transfer
from cltrace.kernels import KernelCounts
from cltrace.kernels.compiler import Compiler
from cltrace.kernels.counts.traced_launches import TracedCounts, TracedLaunch, traced_launches
from cltrace.kernels.counts.workloads import machine_of
from cltrace.predict.models import DEFAULT, MODELS, Cache, FittedModel, Prediction
from cltrace.predict.transfers import Transfers
from cltrace.profile import DeviceProfile
from cltrace.trace.reader import Trace

_TIMES: Final = """
    SELECT launch_id, duration_ns FROM v_command
    WHERE launch_id IS NOT NULL AND duration_ns IS NOT NULL ORDER BY command_id
"""
_ORDER: Final = "SELECT launch_id FROM v_command WHERE launch_id IS NOT NULL ORDER BY command_id"
_TRANSFERS: Final = """
    SELECT kind, size_bytes, duration_ns
    FROM v_command WHERE kind IN ('read', 'write') AND size_bytes > 0 ORDER BY command_id
"""
_SIZES: Final = "SELECT buffer_id, size_bytes FROM v_buffer"
_MOST_ORDER: Final = 1_000_000
"""So many launches are followed to see what caches hold."""


@dataclass(frozen=True, slots=True)
class PredictedLaunch:
    """Launches that have the same to do: what they took in the median, and what they should take.

    `launch` is one of their configurations with the calls of all, `launch_ids` are the numbers of these.
    `measured_ns` is None where no call has a device time. `cache` is what the launches before it leave in
    the device's caches. `counts` are what it has to do there.
    """

    launch: TracedLaunch
    launch_ids: tuple[int, ...]
    measured_ns: float | None
    total_ns: float
    cache: Cache
    prediction: Prediction
    counts: KernelCounts

    @property
    def is_outside(self) -> bool:
        """Whether what was measured is outside of what the model says."""
        bounds = self.prediction.interval_ns
        if self.measured_ns is None or bounds is None:
            return False
        return not bounds[0] <= self.measured_ns <= bounds[1]


@dataclass(frozen=True, slots=True)
class PredictedTransfers:
    """Transfers of one direction and size: how many, in the median what they took and should take."""

    direction: Direction
    size_bytes: int
    calls: int
    measured_ns: float | None
    total_ns: float
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class PredictedTrace:
    """The predictions of a trace. `refused` are kernels, their calls, and why there is none for them."""

    profile: DeviceProfile
    model: str
    launches: tuple[PredictedLaunch, ...]
    transfers: tuple[PredictedTransfers, ...]
    refused: tuple[tuple[str, int, str], ...]


def predicted_trace(
    trace: Trace, profile: DeviceProfile, model: str = DEFAULT, *, most_s: float | None = None
) -> PredictedTrace:
    """Predict all launches and transfers of a trace on the device of a profile.

    Launches that are not counted after `most_s` seconds are among the refused; None for no limit.
    Raises: `ProfileError` if the profile is not fitted, `TraceError`.
    """
    fitted = MODELS[model].fitted(profile)
    machine = machine_of(profile.device)
    counting = TracedCounts(machine, Compiler())
    times = _times(trace)
    launches = list(traced_launches(trace))
    warmth = _warmth(trace, launches, machine.shared_cache_bytes)
    groups: dict[tuple[str, int], _Group] = {}
    refused: list[tuple[str, int, str]] = []
    began = monotonic()
    for launch in launches:
        if most_s is not None and monotonic() - began > most_s:
            refused.append((launch.kernel, launch.calls, "`cltrace predict` takes the time for it"))
            continue
        try:
            _, counts = counting.count(launch)
        except (KernelError, MemoryError) as error:
            refused.append((launch.kernel, launch.calls, str(error)))
            continue
        groups.setdefault((launch.kernel, id(counts)), _Group(counts, [])).launches.append(launch)
    found = (group.predicted(times, group.cache(warmth), fitted) for group in groups.values())
    return PredictedTrace(
        profile, model, tuple(found), tuple(_transfers(trace, profile)), tuple(refused)
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Launch configurations that have to do the same: they differ in numbers that decide nothing."""

    counts: KernelCounts
    launches: list[TracedLaunch]

    def cache(self, warmth: Mapping[int, int]) -> Cache:
        """What caches hold when they begin, most of the times."""
        votes = sum(warmth.get(one.launch_id, 0) for one in self.launches)
        return Cache.COLD if votes < 0 else Cache.WARM

    def predicted(
        self, times: Mapping[int, NDArray[np.int64]], cache: Cache, model: FittedModel
    ) -> PredictedLaunch:
        """All of them as one."""
        known = [times[one.launch_id] for one in self.launches if one.launch_id in times]
        taken = np.concatenate(known) if known else np.zeros(0, np.int64)
        return PredictedLaunch(
            launch=replace(self.launches[0], calls=sum(one.calls for one in self.launches)),
            launch_ids=tuple(one.launch_id for one in self.launches),
            measured_ns=float(np.median(taken)) if len(taken) else None,
            total_ns=float(taken.sum()),
            cache=cache,
            prediction=model.predict(self.counts, cache),
            counts=self.counts,
        )


def _times(trace: Trace) -> Mapping[int, NDArray[np.int64]]:
    """The durations of each launch configuration in ns."""
    rows = np.asarray(
        [
            row
            for row in trace.iterate(_TIMES)
            if isinstance(row[0], int) and isinstance(row[1], int)
        ],
        np.int64,
    ).reshape(-1, 2)
    order = np.argsort(rows[:, 0], kind="stable")
    rows = rows[order]
    launches, begins = np.unique(rows[:, 0], return_index=True)
    return {
        int(launch): part
        for launch, part in zip(launches, np.split(rows[:, 1], begins[1:]), strict=False)
    }


def _warmth(trace: Trace, launches: Sequence[TracedLaunch], held_bytes: int) -> Mapping[int, int]:
    """By configuration: how many more launches find their memory in the shared cache than do not.

    It keeps what was used last, as much as fits: a launch is warm whose memory is mostly there.
    """
    sizes = {
        buffer: size
        for buffer, size in trace.iterate(_SIZES)
        if isinstance(buffer, int) and isinstance(size, int)
    }
    used = {launch.launch_id: launch.buffers for launch in launches}
    votes: dict[int, int] = {}
    recent: OrderedDict[int, int] = OrderedDict()
    total = 0
    for number, (launch_id,) in enumerate(trace.iterate(_ORDER)):
        if number >= _MOST_ORDER:
            break
        buffers = used.get(launch_id, ()) if isinstance(launch_id, int) else ()
        wanted = sum(sizes.get(buffer, 0) for buffer in buffers)
        there = sum(recent.get(buffer, 0) for buffer in buffers)
        if isinstance(launch_id, int):
            is_warm = wanted == 0 or there * 2 >= wanted or wanted > held_bytes
            votes[launch_id] = votes.get(launch_id, 0) + (1 if is_warm else -1)
        for buffer in buffers:
            total += sizes.get(buffer, 0) - recent.pop(buffer, 0)
            recent[buffer] = sizes.get(buffer, 0)
        while total > held_bytes and recent:
            total -= recent.popitem(last=False)[1]
    return votes


def _transfers(trace: Trace, profile: DeviceProfile) -> Iterator[PredictedTransfers]:
    """Reads and writes by direction and size. Host memory is taken for pageable, as it mostly is."""
    if not profile.points("transfers", f"{HostMemory.PAGEABLE} {Direction.TO_DEVICE}"):
        return
    model = Transfers.of(profile)
    times: dict[tuple[Direction, int], list[int]] = {}
    for kind, size, taken in trace.iterate(_TRANSFERS):
        if isinstance(size, int):
            mine = times.setdefault((DIRECTION_OF[str(kind)], size), [])
            mine.append(taken if isinstance(taken, int) and taken > 0 else 0)
    for (direction, size), all_taken in times.items():
        known = [taken for taken in all_taken if taken]
        yield PredictedTransfers(
            direction=direction,
            size_bytes=size,
            calls=len(all_taken),
            measured_ns=float(np.median(known)) if known else None,
            total_ns=float(sum(known)),
            prediction=model.predict(Transfer(direction, HostMemory.PAGEABLE, size)),
        )
