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
from cltrace.predict.models import DEFAULT, MODELS, FittedModel, Prediction
from cltrace.predict.transfers import TransferModel
from cltrace.profile import DeviceProfile

_LOG: Final = logging.getLogger(__name__)
_CALL_NS: Final = 10_000.0
"""Time of a launch's call on a device that is not here; between half and twice as much."""
_SPREAD: Final = 2.0
_MEASURED: Final = 1.25
"""Factor of the bounds of times that were measured here."""


class RunPlace(StrEnum):
    """Place at which an iteration runs."""

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


@dataclass(frozen=True, slots=True)
class DeviceCalls:
    """Measured times of calls on a device that is here, in ns.

    Attributes:
        call_ns: a launch of an empty kernel, from its call to its end.
        copies: bytes, and the times of copying to a new buffer and into a new array, by ascending bytes.
    """

    call_ns: float
    copies: tuple[tuple[int, float, float], ...]

    def copy_ns(self, direction: Direction, size_bytes: int) -> float:
        """Return the time of a copy: interpolated, and beyond the largest in proportion to the size."""
        sizes = [row[0] for row in self.copies]
        times = [row[1 if direction is Direction.TO_DEVICE else 2] for row in self.copies]
        if size_bytes > sizes[-1]:
            return times[-1] * size_bytes / sizes[-1]
        logs = np.interp(np.log(max(size_bytes, 1)), np.log(sizes), np.log(times))
        return float(np.exp(logs))


COPY_SIZES: Final = tuple(1 << exponent for exponent in range(10, 27, 2))
"""Sizes of the copies that are measured."""


class DeviceTimes:
    """Predicted times on the device of a profile."""

    def __init__(self, profile: DeviceProfile, calls: DeviceCalls | None = None) -> None:
        """`calls` are measured times of its calls where the device is here.

        Raises: `ProfileError` for a profile that has no costs of launches or of transfers.
        """
        self.profile = profile
        self._model: FittedModel = MODELS[DEFAULT].for_device(profile)
        self._transfers = TransferModel.of(profile)
        self._counting = WorkloadCounter(profile.device)
        self._counts: dict[tuple[str, tuple[int, ...]], KernelCounts] = {}
        self._calls = calls

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
        size = iteration.result_type.size_bytes
        parts.append(self._call(size))
        prediction = self._model.predict(self.counts(iteration))
        time_ns = prediction.duration_ns
        parts.append(TimePart("kernel", time_ns, prediction.interval_ns or (time_ns, time_ns)))
        if not residency.keeps_result:
            parts.append(self.transfer("read the result", Direction.FROM_DEVICE, size))
        return PlaceTime(RunPlace.DEVICE, tuple(parts))

    def _call(self, result_bytes: int) -> TimePart:
        """Return the time of a launch's call, and of the memory of its result where it is known."""
        if self._calls is None:
            return TimePart("call", _CALL_NS, (_CALL_NS / _SPREAD, _CALL_NS * _SPREAD))
        # To write to new memory takes longer than to write to memory that was used before.
        new_ns = self._calls.copy_ns(Direction.TO_DEVICE, result_bytes)
        used_ns = self._modelled(Direction.TO_DEVICE, result_bytes).duration_ns
        time_ns = self._calls.call_ns + max(0.0, new_ns - used_ns)
        return TimePart("call", time_ns, (time_ns / _MEASURED, time_ns * _MEASURED))

    def _modelled(self, direction: Direction, size_bytes: int) -> Prediction:
        transfer = Transfer(direction, HostMemory.PAGEABLE, size_bytes)
        return self._transfers.predict(transfer)

    def transfer(self, name: str, direction: Direction, size_bytes: int) -> TimePart:
        """Predict a transfer of ordinary memory of the host. Raises: `ProfileError`."""
        if self._calls is not None:
            time_ns = self._calls.copy_ns(direction, size_bytes)
            return TimePart(name, time_ns, (time_ns / _MEASURED, time_ns * _MEASURED))
        prediction = self._modelled(direction, size_bytes)
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
        elements, dtype = iteration.domain.elements, iteration.tree.result_dtype

        def run(first: int, last: int) -> None:
            # A new result each time: its pages are part of the time.
            program.runner(arrays, scalars, np.empty(elements, dtype))(first, last)

        first_rows = round(CHUNK / program.row_positions) or 1
        yield _place_time(RunPlace.C, sample_time(run, program.rows, min(first_rows, program.rows)))


def _sample_numpy(
    iteration: Iteration, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, np.generic]
) -> SampledTime:
    domain = iteration.domain
    evaluation = ChunkEvaluation(iteration.tree, domain, arrays, scalars, NoObserver())
    dtype = iteration.tree.result_dtype

    def run(first: int, last: int) -> None:
        result = np.empty(domain.elements, dtype)
        for begin in range(first, last, CHUNK):
            end = min(begin + CHUNK, last)
            result[begin:end] = evaluation.evaluate(begin, end)

    return sample_time(run, domain.elements, 256)


def _place_time(place: RunPlace, sampled: SampledTime) -> PlaceTime:
    return PlaceTime(place, (TimePart("computation", sampled.time_ns, sampled.interval_ns),))
