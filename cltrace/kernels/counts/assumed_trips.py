"""Trips of loops that unknown contents end, from what is known of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.kernels.arguments import Argument, BufferArgument, integer_of
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.execute.lanes import NDRange
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.flow.distances import LinearForm, LinearForms
from cltrace.kernels.flow.known_conditions import ConditionParts
from cltrace.kernels.flow.segments import Segment, Step
from cltrace.kernels.flow.taint import Taint, leaves_loop
from cltrace.kernels.ir.instructions import Branch, Compare

_MAX_TRIPS: Final = 4096
"""Trips that are executed at most, as a few arrays are as long as all memory."""
_EQUAL: Final = frozenset({"eq", "oeq", "ueq"})
_UNEQUAL: Final = frozenset({"ne", "one", "une"})
_UP_TO: Final = frozenset({"sle", "ule", "sge", "uge", "ole", "oge"})
_STRICT: Final = frozenset({"slt", "ult", "sgt", "ugt", "olt", "ogt"})


@dataclass(frozen=True, slots=True)
class AssumedTrips:
    """The average trips of a loop, and the reason to assume them, as a part of a sentence.

    `is_exact` where no contents change them by more than one.
    """

    count: int
    reason: str
    is_exact: bool = False


def find_assumed_trips(
    analysis: KernelAnalysis, arguments: Sequence[Argument], ndrange: NDRange, taint: Taint
) -> Mapping[int, AssumedTrips]:
    """Return the average trips of loops that unknown contents end, by loop, where something tells them.

    A loop over segments of an array has their average length. One that goes on while contents are equal
    ends at its first trip. One between numbers that are a known distance apart has that many trips.
    """
    found: dict[int, AssumedTrips] = {}
    if not taint.blocks:
        return found
    for loop in _loops_while_equal(analysis, taint):
        found[loop] = AssumedTrips(1, "as contents are seldom equal")
    for loop, segments in analysis.segments.items():
        lengths = list(_segment_trips(segments, arguments, ndrange.local_size))
        if lengths:
            trips = min(max(min(lengths), 1), _MAX_TRIPS)
            found[loop] = AssumedTrips(trips, "by the sizes of the arrays")
    for loop, trips in _trips_between(analysis, arguments, taint):
        found[loop] = AssumedTrips(trips, "by the distance of its ends", is_exact=True)
    return found


def _trips_between(
    analysis: KernelAnalysis, arguments: Sequence[Argument], taint: Taint
) -> Iterator[tuple[int, int]]:
    """Yield the loops between unknown numbers that are a known distance apart, with their trips."""
    kernel, forms = analysis.sliced_kernel, None
    for loop in analysis.loops.values():
        (leaving,) = [
            block
            for block in kernel.graph.loops[loop.number].blocks
            if kernel.graph.loop_of[block] == loop.number and leaves_loop(kernel.graph, block)
        ]
        if leaving not in taint.blocks:
            continue
        forms = forms or LinearForms(analysis.dependencies, _numbers(kernel, arguments), taint)
        trips = _trips_of(loop, kernel, forms)
        if trips is not None:
            is_tested_first = (
                leaving == loop.header and len(kernel.graph.loops[loop.number].blocks) > 1
            )
            count = trips + (not is_tested_first)
            yield loop.number, min(max(count, 1), _MAX_TRIPS)


def _numbers(kernel: PreparedKernel, arguments: Sequence[Argument]) -> Mapping[int, float]:
    """Return the values of a kernel that are numbers: constants, and arguments."""
    numbers: dict[int, float] = {}
    for item in kernel.function.constants:
        if isinstance(item.value, int | float) and math.isfinite(item.value):
            numbers[item.slot] = float(item.value)
    for parameter, argument in zip(kernel.function.parameters, arguments, strict=False):
        if isinstance(argument, int | float | np.number) and np.isfinite(argument):
            numbers[parameter.slot] = float(argument)
    return numbers


def _trips_of(loop: CanonicalLoop, kernel: PreparedKernel, forms: LinearForms) -> int | None:
    """Return how often a loop goes on at its test; None where that depends on more than numbers."""
    comparison, following = loop.comparison, dict(loop.affine)
    distance = forms.of(comparison.right).plus(forms.of(comparison.left), -1.0)
    blocks = kernel.graph.loops[loop.number].blocks
    for phi in kernel.function.blocks[loop.header].phis:
        first = [slot for block, slot in phi.incoming if block not in blocks]
        if phi.result not in following or len(first) != 1:
            continue
        counter = LinearForm({phi.result: 1.0})
        step = forms.of(following[phi.result]).plus(counter, -1.0)
        times = -distance.terms.get(phi.result, 0.0)
        if not times or not step.is_number or not step.low:
            continue
        distance = distance.plus(counter.plus(forms.of(first[0]), -1.0), times)
        if distance.is_number:
            return _count(loop, distance, times * step.low)
    return None


def _count(loop: CanonicalLoop, distance: LinearForm, step: float) -> int | None:
    """Return how often a counter goes on that has a distance to go; None for too large numbers."""
    steps = (distance.low + distance.high) / 2 / step
    if not math.isfinite(steps):
        return None
    predicate = loop.comparison.predicate
    is_up_to = predicate in (_UP_TO if loop.continues_when else _STRICT)
    if distance.low < distance.high:
        return round(steps + is_up_to)
    return math.floor(steps) + 1 if is_up_to else math.ceil(steps)


def _segment_trips(
    segments: Sequence[Segment], arguments: Sequence[Argument], local_size: tuple[int, ...]
) -> Iterator[int]:
    """Yield the trips over an average segment, by each of its arrays."""
    for segment in segments:
        begins, elements = arguments[segment.begins], arguments[segment.elements]
        if isinstance(begins, BufferArgument) and isinstance(elements, BufferArgument):
            times = _times(segment.step, arguments, local_size)
            num_begins = max(begins.size_bytes // segment.begin_bytes, 1)
            length_bytes = elements.size_bytes / num_begins
            yield math.ceil(length_bytes / (segment.trip_bytes * times))


def _times(step: Step, arguments: Sequence[Argument], local_size: tuple[int, ...]) -> int:
    """Return what a step is besides its number: 1 for a dimension that the launch does not have."""
    if step.argument is not None:
        return max(abs(integer_of(arguments[step.argument]) or 1), 1)
    if step.dimension is None or not 0 <= step.dimension < len(local_size):
        return 1
    return local_size[step.dimension]


def _loops_while_equal(analysis: KernelAnalysis, taint: Taint) -> Iterator[int]:
    """Yield the loops that go on only while two values are equal that are not constants."""
    kernel, definitions = analysis.sliced_kernel, analysis.dependencies.definitions
    constants = {item.slot for item in kernel.function.constants}
    conditions = ConditionParts(kernel.function)
    for block in taint.blocks:
        terminator = kernel.function.blocks[block].terminator
        if not isinstance(terminator, Branch) or not leaves_loop(kernel.graph, block):
            continue
        loop = kernel.graph.loop_of[block]
        stays = terminator.then in kernel.graph.loops[loop].blocks
        for part in conditions.of(terminator.condition, decides=not stays):
            item = definitions.get(part)
            if (
                isinstance(item, Compare)
                and item.predicate in (_EQUAL if stays else _UNEQUAL)
                and constants.isdisjoint((item.left, item.right))
                and taint.reaches((part,), block)
            ):
                yield loop
