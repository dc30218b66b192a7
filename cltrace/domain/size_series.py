"""Times of the iterations of a directory over sizes: measured several times, and predicted (6.1.2)."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from cltrace.domain.decisions import made_up_arrays, resized
from cltrace.domain.declarations import Declarations, declared_iteration
from cltrace.domain.iterations import Iteration
from cltrace.domain.language.scopes import MAX_SOURCE_BYTES, FileScope
from cltrace.domain.random_functions import FUNCTION
from cltrace.domain.shapes import Box
from cltrace.errors import DeviceError, IterationError
from cltrace.events.workloads import Workload
from cltrace.files import read_input
from cltrace.kernels.counts.workloads import WorkloadCounter
from cltrace.predict.models import MODELS
from cltrace.profile import DeviceProfile

RUNS: Final = 5
"""Measured runs per size, as in the thesis."""
MAX_FILES: Final = 10_000
_SIDE: Final = 1024
_NODES: Final = re.compile(r"(\d{1,6}) nodes, (\d{1,6}) without those of indices")


@dataclass(frozen=True, slots=True)
class NamedIteration:
    """An iteration of a file.

    `nodes` are those of its tree with and without those of indices; None for a file that does not say so.
    """

    name: str
    iteration: Iteration
    nodes: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedTimes:
    """Measured and predicted times of an iteration over a number of elements, in ns.

    `interval_ns` is that of the prediction.
    """

    name: str
    nodes: tuple[int, int] | None
    elements: int
    measured_ns: tuple[float, ...]
    predicted_ns: float
    thesis_ns: float
    interval_ns: tuple[float, float]

    @property
    def mean_ns(self) -> float:
        """Mean of the measured times."""
        return float(np.mean(self.measured_ns))

    @property
    def deviation_ns(self) -> float:
        """Standard deviation of the measured times."""
        return float(np.std(self.measured_ns))


def read_directory(directory: Path) -> Sequence[NamedIteration]:
    """Return the function `iteration` of each Python file of a directory, by name.

    The files are not executed. Raises: `IterationError` for a directory without such files.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == ".py")
    except OSError as error:
        raise IterationError(f"{directory} cannot be read: {error.strerror}") from error
    if not 0 < len(paths) <= MAX_FILES:
        raise IterationError(
            f"{directory} has {len(paths):,} Python files: give 1 to {MAX_FILES:,}"
        )
    return [_read_file(path) for path in paths]


def _read_file(path: Path) -> NamedIteration:
    try:
        text = read_input(path, MAX_SOURCE_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise IterationError(f"{path} cannot be read: {error}") from error
    function = FileScope(text, path.name).function(FUNCTION)
    iteration = declared_iteration(function, Box((_SIDE, _SIDE)), Declarations({}, {}))
    match = _NODES.search(text)
    nodes = (int(match[1]), int(match[2])) if match is not None else None
    return NamedIteration(path.stem, iteration, nodes)


def time_series(
    iterations: Sequence[NamedIteration],
    profile: DeviceProfile,
    exponents: Sequence[int],
    time_runs: Callable[[Workload, int], Sequence[float]],
) -> Iterator[SizedTimes]:
    """Yield the times of each iteration over 2^exponent elements, in order.

    `time_runs` runs a workload a number of times and returns the times in ns. Sizes that do not fit the
    device are left out. Raises: `KernelError`, `WorkloadError`.
    """
    counting = WorkloadCounter(profile.device)
    models = {name: MODELS[name].for_device(profile) for name in ("overlap", "thesis")}
    for named in iterations:
        for exponent in exponents:
            sized = resized(named.iteration, exponent)
            largest = max(sized.result_type.size_bytes, *_array_bytes(sized))
            if largest > profile.device.max_buffer_bytes:
                continue
            arrays = made_up_arrays(sized.arguments.arrays)
            work = sized.workload(profile.device.max_group_items, arrays)
            try:
                measured = tuple(time_runs(work, RUNS))
            except DeviceError as error:
                raise DeviceError(f"{named.name}, 2^{exponent} elements: {error}") from error
            counts = counting.count(work)
            predictions = {name: model.predict(counts) for name, model in models.items()}
            predicted = predictions["overlap"]
            yield SizedTimes(
                name=named.name,
                nodes=named.nodes,
                elements=sized.domain.elements,
                measured_ns=measured,
                predicted_ns=predicted.duration_ns,
                thesis_ns=predictions["thesis"].duration_ns,
                interval_ns=predicted.interval_ns or (predicted.duration_ns,) * 2,
            )


def _array_bytes(iteration: Iteration) -> list[int]:
    return [0, *(array.size_bytes for array in iteration.arguments.arrays.values())]
