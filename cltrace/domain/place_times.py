"""Predicted times of an iteration on a device and on the host, by parts and with intervals."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.domain.host.c_program import CProgram
from cltrace.domain.host.numpy_evaluation import CHUNK, ChunkEvaluation, NoObserver
from cltrace.domain.host.sampling import SampledTime, sample_time
from cltrace.domain.iterations import Iteration
from cltrace.errors import IterationError
from cltrace.events.workloads import Direction, HostMemory, Transfer
from cltrace.kernels import KernelCounts
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models import DEFAULT, MODELS, FittedModel
from cltrace.predict.transfers import TransferModel
from cltrace.profile import DeviceProfile

_LOG: Final = logging.getLogger(__name__)
_CALL_NS: Final = 10_000.0
"""Time of a launch's call on a device that is not here; between half and twice as much."""
_SPREAD: Final = 2.0


class RunPlace(StrEnum):
    """Where an iteration runs."""

    NUMPY = "numpy"
    """On the host, with numpy."""
    C = "C"
    """On the host, as C in threads."""
    DEVICE = "device"

    @property
    def is_host(self) -> bool:
        """True for both forms on the host."""
        return self is not RunPlace.DEVICE


@dataclass(frozen=True, slots=True)
class TimePart:
    """Part of a time, with its interval, in ns."""

    name: str
    time_ns: float
    interval_ns: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlaceTime:
    """Predicted time of an iteration at a place, by parts, in order."""

    place: RunPlace
    parts: tuple[TimePart, ...]

    @property
    def time_ns(self) -> float:
        """Sum of the parts."""
        return sum(part.time_ns for part in self.parts)

    @property
    def interval_ns(self) -> tuple[float, float]:
        """Sums of the parts' lower and upper bounds."""
        return (
            sum(part.interval_ns[0] for part in self.parts),
            sum(part.interval_ns[1] for part in self.parts),
        )


@dataclass(frozen=True, slots=True)
class Residency:
    """Data that needs no transfer.

    Attributes:
        arrays: names of the arrays that are on the device already.
        keeps_result: whether the result stays there.
    """

    arrays: frozenset[str] = frozenset()
    keeps_result: bool = False


class DeviceTimes:
    """Predicted times on the device of a profile."""

    def __init__(self, profile: DeviceProfile, call_ns: float | None = None) -> None:
        """`call_ns` is the time of a launch's call where it was measured.

        Raises: `ProfileError` for a profile that has no costs of launches or of transfers.
        """
        self.profile = profile
        self._model: FittedModel = MODELS[DEFAULT].for_device(profile)
        self._transfers = TransferModel.of(profile)
        self._counting = WorkloadCounter(profile.device)
        self._counts: dict[tuple[str, tuple[int, ...]], KernelCounts] = {}
        self._call_ns = call_ns

    def counts(self, iteration: Iteration) -> KernelCounts:
        """Return the counts of an iteration's kernel, counted once. Raises: `KernelError`."""
        work = iteration.workload(self.profile.device.max_group_items)
        key = (work.source, work.global_size)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = self._counting.count(work)
        return counts

    def predict(self, iteration: Iteration, residency: Residency) -> PlaceTime:
        """Predict the time from the call to the result on the host, or to its end on the device.

        Raises: `KernelError` for a kernel that cannot be counted.
        """
        parts = [
            self.transfer(f"copy {array.name}", Direction.TO_DEVICE, array.size_bytes)
            for array in iteration.kernel(self.profile.device.max_group_items).arrays
            if array.name not in residency.arrays
        ]
        parts.append(self._call())
        prediction = self._model.predict(self.counts(iteration))
        time_ns = prediction.duration_ns
        parts.append(TimePart("kernel", time_ns, prediction.interval_ns or (time_ns, time_ns)))
        if not residency.keeps_result:
            size = iteration.result_type.size_bytes
            parts.append(self.transfer("read the result", Direction.FROM_DEVICE, size))
        return PlaceTime(RunPlace.DEVICE, tuple(parts))

    def _call(self) -> TimePart:
        if self._call_ns is None:
            return TimePart("call", _CALL_NS, (_CALL_NS / _SPREAD, _CALL_NS * _SPREAD))
        return TimePart("call", self._call_ns, (0.8 * self._call_ns, 1.25 * self._call_ns))

    def transfer(self, name: str, direction: Direction, size_bytes: int) -> TimePart:
        """Predict a transfer of ordinary memory of the host. Raises: `ProfileError`."""
        transfer = Transfer(direction, HostMemory.PAGEABLE, size_bytes)
        prediction = self._transfers.predict(transfer)
        time_ns = prediction.duration_ns
        return TimePart(name, time_ns, prediction.interval_ns or (time_ns, time_ns))


def host_times(
    iteration: Iteration,
    arrays: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, np.generic],
    places: Collection[RunPlace] = (RunPlace.NUMPY, RunPlace.C),
) -> Iterator[PlaceTime]:
    """Yield the predicted times on the host, from samples; C only where a compiler is there.

    `arrays` are the iteration's by name, `scalars` by the names of their variables.
    """
    if RunPlace.NUMPY in places:
        yield _place_time(RunPlace.NUMPY, _sample_numpy(iteration, arrays, scalars))
    if RunPlace.C in places:
        try:
            program = CProgram(iteration.tree, iteration.domain)
        except IterationError as error:
            _LOG.info("the host's times are without C: %s", error)
            return
        result = np.empty(iteration.domain.elements, iteration.tree.result_dtype)
        run = program.runner(arrays, scalars, result)
        first_rows = round(CHUNK / program.row_positions) or 1
        yield _place_time(RunPlace.C, sample_time(run, program.rows, min(first_rows, program.rows)))


def _sample_numpy(
    iteration: Iteration, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, np.generic]
) -> SampledTime:
    domain = iteration.domain
    evaluation = ChunkEvaluation(iteration.tree, domain, arrays, scalars, NoObserver())
    result = np.empty(domain.elements, iteration.tree.result_dtype)

    def run(first: int, last: int) -> None:
        for begin in range(first, last, CHUNK):
            end = min(begin + CHUNK, last)
            result[begin:end] = evaluation.evaluate(begin, end)

    return sample_time(run, domain.elements, 256)


def _place_time(place: RunPlace, sampled: SampledTime) -> PlaceTime:
    return PlaceTime(place, (TimePart("computation", sampled.time_ns, sampled.interval_ns),))
