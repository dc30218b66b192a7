"""Trips of loops that unknown contents end, from what is known of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.arguments import Argument, BufferArgument, integer_of
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.execute.lanes import NDRange
from cltrace.kernels.flow.known_conditions import ConditionParts
from cltrace.kernels.flow.segments import Segment, Step
from cltrace.kernels.flow.taint import Taint, leaves_loop
from cltrace.kernels.ir.instructions import Branch, Compare

_MAX_TRIPS: Final = 4096
"""Trips that are executed at most, as a few arrays are as long as all memory."""
_EQUAL: Final = frozenset({"eq", "oeq", "ueq"})
_UNEQUAL: Final = frozenset({"ne", "one", "une"})


@dataclass(frozen=True, slots=True)
class AssumedTrips:
    """The average trips of a loop, and the reason to assume them, as a part of a sentence."""

    count: int
    reason: str


def find_assumed_trips(
    analysis: KernelAnalysis, arguments: Sequence[Argument], ndrange: NDRange, taint: Taint
) -> Mapping[int, AssumedTrips]:
    """Return the average trips of loops that unknown contents end, by loop, where something tells them.

    A loop over segments of an array has their average length. One that goes on while contents are equal
    ends at its first trip.
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
    return found


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
