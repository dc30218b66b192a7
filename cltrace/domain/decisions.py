"""The decision where an iteration runs, and the size from which a device wins (Pöppl 2014, fig. 1.2)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cltrace.domain.iterations import Iteration
from cltrace.domain.language.number_types import NumberType
from cltrace.domain.language.reader import Arguments
from cltrace.domain.language.tree import ArrayType
from cltrace.domain.place_times import (
    DeviceTimes,
    PlaceTime,
    Residency,
    RunPlace,
    host_times,
)
from cltrace.domain.shapes import Box, Domain, Projection
from cltrace.errors import IterationError

SIZE_EXPONENTS: Final = tuple(range(10, 27))
"""Exponents of the numbers of elements that are compared, as in the thesis: 2^10 to 2^26."""
MAX_SAMPLE_BYTES: Final = 1 << 30
"""Limit on the arrays that are made up for samples on the host."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Predicted times at all places, the fastest first."""

    times: tuple[PlaceTime, ...]

    @property
    def place(self) -> RunPlace:
        """The place with the least predicted time."""
        return self.times[0].place

    @property
    def is_certain(self) -> bool:
        """Return whether the intervals of host and device do not overlap."""
        other = next(
            (each for each in self.times if each.place.is_host != self.place.is_host), None
        )
        return other is None or self.times[0].interval_ns[1] < other.interval_ns[0]


@dataclass(frozen=True, slots=True)
class SizedDecision:
    """A decision for a domain of another size."""

    domain: Domain
    decision: Decision


def decide(
    iteration: Iteration,
    device: DeviceTimes,
    arrays: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, np.generic],
    residency: Residency,
) -> Decision:
    """Return the predicted times of an iteration at all places. Raises: `KernelError`."""
    times = [device.predict(iteration, residency), *host_times(iteration, arrays, scalars)]
    return Decision(tuple(sorted(times, key=lambda each: each.time_ns)))


def decide_over_sizes(
    iteration: Iteration,
    device: DeviceTimes,
    residency: Residency,
    exponents: Sequence[int] = SIZE_EXPONENTS,
) -> Iterator[SizedDecision]:
    """Yield the decision for domains of 2^exponent elements, with made-up contents of arrays.

    Samples on the host are of arrays of at most 1 GiB in all; larger sizes are left out.
    """
    for exponent in exponents:
        sized = resized(iteration, exponent)
        total_bytes = sum(array.size_bytes for array in sized.arguments.arrays.values())
        if total_bytes + sized.result_type.size_bytes > MAX_SAMPLE_BYTES:
            return
        arrays = made_up_arrays(sized.arguments.arrays)
        scalars = made_up_scalars(sized.arguments.scalars)
        yield SizedDecision(sized.domain, decide(sized, device, arrays, scalars, residency))


def winning_size(decisions: Sequence[SizedDecision]) -> float | None:
    """Return the number of elements from which the device is faster for all larger sizes compared.

    Between two sizes, times are interpolated on logarithmic scales. None if the device is not the fastest
    for the largest size.
    """
    ratios = [
        (math.log(each.domain.elements), math.log(_ratio(each.decision))) for each in decisions
    ]
    if not ratios or ratios[-1][1] >= 0:
        return None
    for (size, ratio), (next_size, next_ratio) in zip(
        reversed(ratios[:-1]), reversed(ratios), strict=False
    ):
        if ratio >= 0:
            return math.exp(size + (next_size - size) * ratio / (ratio - next_ratio))
    return float(decisions[0].domain.elements)


def _ratio(decision: Decision) -> float:
    """Return the time of the device over the least time of the host."""
    device = min(each.time_ns for each in decision.times if not each.place.is_host)
    host = min(each.time_ns for each in decision.times if each.place.is_host)
    return device / host


def resized(iteration: Iteration, exponent: int) -> Iteration:
    """Return an iteration over about 2^exponent elements, whose arrays grow with the domain.

    A dimension of an array grows as the domain's dimension of the same size does. Sizes of the domain
    are powers of two, unless they are equal and the function needs that, as for a transposed array.
    """
    domain = iteration.domain
    if isinstance(domain, Projection):
        per_element = 1 if domain.elements == domain.extent else 2
        extent = round((per_element << exponent) ** (1 / per_element)) + per_element - 1
        return _with_domain(iteration, Projection(domain.kind, extent))
    rank = len(domain.extents)
    powers = tuple(1 << ((exponent + place) // rank) for place in range(rank))
    grown = _with_domain(iteration, Box(powers))
    if len(set(domain.extents)) == rank or len(set(powers)) == 1:
        return grown
    try:
        _ = grown.tree
    except IterationError:
        return _with_domain(iteration, Box((round(2.0 ** (exponent / rank)),) * rank))
    return grown


def _with_domain(iteration: Iteration, domain: Domain) -> Iteration:
    before, extents = iteration.domain, domain.extents
    changed = dict(zip(before.extents, extents, strict=True))
    arrays = {
        name: ArrayType(name, array.dtype, _grown(array.shape, before, extents, changed))
        for name, array in iteration.arguments.arrays.items()
    }
    arguments = Arguments(arrays, iteration.arguments.scalars, iteration.arguments.constants)
    return replace(iteration, domain=domain, arguments=arguments)


def _grown(
    shape: tuple[int, ...], domain: Domain, extents: tuple[int, ...], changed: Mapping[int, int]
) -> tuple[int, ...]:
    if shape == domain.extents:
        return extents
    return tuple(changed.get(extent, extent) for extent in shape)


def made_up_arrays(arrays: Mapping[str, ArrayType]) -> Mapping[str, NDArray[Any]]:
    """Return arrays with the thesis's contents: 10 x + (9 − y) for two indices, small numbers else."""
    return {name: _made_up(array) for name, array in arrays.items()}


def _made_up(array: ArrayType) -> NDArray[Any]:
    if len(array.shape) == 2:
        rows, columns = np.ogrid[: array.shape[0], : array.shape[1]]
        matrix: NDArray[Any] = (10 * rows + (9 - columns)).astype(array.dtype)
        return matrix
    # As the thesis's local array: 1, 1.5, 2 and so on.
    numbers = np.arange(array.size) % 4096 * 0.5 + 1
    return numbers.astype(array.dtype).reshape(array.shape)


def made_up_scalars(scalars: Mapping[str, NumberType]) -> Mapping[str, np.generic]:
    """Return the number 1 for each argument by value, by the names of their variables."""
    return {f"arg_{name}": np.dtype(kind.dtype).type(1) for name, kind in scalars.items()}
