"""What a launch leaves unknown: the addresses, branches and selections that contents decide."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.arguments import Argument, BufferArgument, ImageArgument
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, Root
from cltrace.kernels.flow.group_values import LaneValues
from cltrace.kernels.flow.known_conditions import KnownParts, find_known_parts
from cltrace.kernels.flow.segments import Segment
from cltrace.kernels.ir.instructions import Select
from cltrace.kernels.ir.uses import operands_of

_MAX_SEGMENT_TRIPS: Final = 4096
"""Trips that are executed at most, as a few arrays are as long as all memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknowns:
    """Unknown parts of a launch.

    Attributes:
        sites: numbers of the sites with an unknown address.
        blocks: blocks that end in an unknown branch.
        selects: slots of values that an unknown condition selects.
        known_parts: what is known of the conditions of unknown branches, by block.
        shared_sites: by site of `sites` whose addresses differ by known distances between neighbouring
            work-items, the number of these: those of a work-group, or of its rows.
        shared_blocks: the same by block of `blocks` whose branch neighbours take together.
        shared_selects: the same by value of `selects` of which neighbours select the same.
        segment_trips: by loop over segments of an array, their average trips by the sizes of both arrays.
    """

    sites: frozenset[int]
    blocks: frozenset[int]
    selects: frozenset[int]
    known_parts: Mapping[int, KnownParts]
    shared_sites: Mapping[int, int]
    shared_blocks: Mapping[int, int]
    shared_selects: Mapping[int, int]
    segment_trips: Mapping[int, int]


def find_unknowns(
    analysis: KernelAnalysis, arguments: Sequence[Argument], local_size: tuple[int, ...]
) -> Unknowns:
    """Return what is unknown in a launch of a kernel."""
    kernel = analysis.sliced_kernel
    roots = frozenset(_unknown_roots(arguments))
    taint = analysis.taint_of(roots)
    neighbours = _neighbours(analysis, roots, local_size)
    sites = [
        site for site in kernel.sites if taint.reaches((site.pointer, *site.indices), site.block)
    ]
    return Unknowns(
        sites=frozenset(site.number for site in sites),
        blocks=taint.blocks,
        selects=taint.selects,
        known_parts=find_known_parts(kernel.function, kernel.graph, taint),
        shared_sites={
            site.number: count
            for count, lanes in neighbours
            for site in sites
            if not site.indices and not lanes.is_scattered((site.pointer,), site.block)
        },
        shared_blocks={
            number: count
            for count, lanes in neighbours
            for number in taint.blocks
            if not lanes.varies(operands_of(kernel.function.blocks[number].terminator), number)
        },
        shared_selects=_find_shared_selects(analysis, taint.selects, neighbours),
        segment_trips={
            loop: trips
            for loop, segments in (analysis.segments.items() if taint.blocks else ())
            if (trips := _average_trips(segments, arguments, local_size)) is not None
        },
    )


def _unknown_roots(arguments: Sequence[Argument]) -> list[Root]:
    """Return the roots whose contents the launch does not provide."""
    roots: list[Root] = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, BufferArgument | ImageArgument) and argument.contents is None:
            roots.append(index)
    if any(isinstance(argument, BufferArgument) for argument in arguments) and roots:
        roots.append(UNKNOWN_ROOT)
    return roots


def _average_trips(
    segments: Sequence[Segment], arguments: Sequence[Argument], local_size: tuple[int, ...]
) -> int | None:
    """Return the trips of a loop over an average segment, by the smallest of its arrays."""
    trips = []
    for segment in segments:
        begins, elements = arguments[segment.begins], arguments[segment.elements]
        if isinstance(begins, BufferArgument) and isinstance(elements, BufferArgument):
            lanes = _local_size(local_size, segment.step_dimension)
            num_begins = max(begins.size_bytes // segment.begin_bytes, 1)
            length_bytes = elements.size_bytes / num_begins
            trips.append(math.ceil(length_bytes / (segment.trip_bytes * lanes)))
    return min(max(min(trips), 1), _MAX_SEGMENT_TRIPS) if trips else None


def _find_shared_selects(
    analysis: KernelAnalysis,
    selects: frozenset[int],
    neighbours: Sequence[tuple[int, LaneValues]],
) -> dict[int, int]:
    return {
        item.result: count
        for count, lanes in neighbours
        for number, item in analysis.dependencies.instructions
        if isinstance(item, Select)
        and item.result in selects
        and not lanes.varies((item.condition,), number)
    }


def _neighbours(
    analysis: KernelAnalysis, roots: frozenset[Root], local_size: tuple[int, ...]
) -> Sequence[tuple[int, LaneValues]]:
    """Return what differs between the work-items of a row, and of a group, each with their number."""
    flat = frozenset(number for number in range(3) if _local_size(local_size, number) == 1)
    row, group = _local_size(local_size, 0), math.prod(local_size)
    of_group = (group, analysis.lane_values_of(roots, flat))
    if not 1 < row < group:
        return (of_group,)
    return ((row, analysis.lane_values_of(roots, flat | {1, 2})), of_group)


def _local_size(local_size: tuple[int, ...], dimension: int | None) -> int:
    """Return the local size in a dimension: 1 for none, and in one that the launch does not have."""
    if dimension is None or not 0 <= dimension < len(local_size):
        return 1
    return local_size[dimension]
