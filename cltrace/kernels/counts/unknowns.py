"""Unknown parts of a launch: the addresses, branches and selections that contents decide."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cltrace.kernels.arguments import Argument, BufferArgument, ImageArgument, integer_of
from cltrace.kernels.counts.assumed_trips import AssumedTrips, find_assumed_trips
from cltrace.kernels.counts.kernel_analysis import KernelAnalysis
from cltrace.kernels.execute.lanes import NDRange
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import Site
from cltrace.kernels.flow.dependencies import UNKNOWN_ROOT, Root
from cltrace.kernels.flow.group_values import LaneValues
from cltrace.kernels.flow.id_quotients import find_id_quotients
from cltrace.kernels.flow.known_conditions import KnownParts, find_known_parts
from cltrace.kernels.flow.near_places import find_near_places
from cltrace.kernels.flow.rare_conditions import find_rare_targets
from cltrace.kernels.flow.taint import Taint
from cltrace.kernels.ir.instructions import Access, Select
from cltrace.kernels.ir.types import PRIVATE
from cltrace.kernels.ir.uses import operands_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknowns:
    """Unknown parts of a launch.

    Attributes:
        sites: numbers of the sites with an unknown address.
        near_sites: those of `sites` that access images, or places near those of a work-item's ids.
        sites_beside: those with known addresses in private variables, where others are unknown.
        blocks: blocks that end in an unknown branch.
        selects: slots of values that an unknown condition selects.
        known_parts: what is known of the conditions of unknown branches, by block.
        rare_targets: by block of `blocks` whose branch rarely goes to one of its targets, the number of
            this target.
        shared_sites: by site of `sites` whose addresses differ by known distances between neighbouring
            work-items, the number of these: those of a work-group, or of its rows.
        shared_blocks: the same by block of `blocks` whose branch neighbours take together.
        shared_selects: the same by value of `selects` of which neighbours select the same.
        assumed_trips: by loop that contents end, its average trips, where something tells them.
    """

    sites: frozenset[int]
    near_sites: frozenset[int]
    sites_beside: frozenset[int]
    blocks: frozenset[int]
    selects: frozenset[int]
    known_parts: Mapping[int, KnownParts]
    rare_targets: Mapping[int, int]
    shared_sites: Mapping[int, int]
    shared_blocks: Mapping[int, int]
    shared_selects: Mapping[int, int]
    assumed_trips: Mapping[int, AssumedTrips]


def find_unknowns(
    analysis: KernelAnalysis, arguments: Sequence[Argument], ndrange: NDRange
) -> Unknowns:
    """Return what is unknown in a launch of a kernel."""
    kernel = analysis.sliced_kernel
    roots = frozenset(_unknown_roots(arguments))
    taint = analysis.taint_of(roots)
    neighbours = _neighbours(analysis, roots, arguments, ndrange.local_size)
    sites = [
        site for site in kernel.sites if taint.reaches((site.pointer, *site.indices), site.block)
    ]
    unknown_sites = frozenset(site.number for site in sites)
    has_private = not unknown_sites.isdisjoint(_private_sites(kernel))
    return Unknowns(
        sites=unknown_sites,
        near_sites=frozenset(_near_sites(analysis, sites, arguments, taint)),
        sites_beside=_private_sites(kernel) - unknown_sites if has_private else frozenset(),
        blocks=taint.blocks,
        selects=taint.selects,
        known_parts=find_known_parts(kernel.function, kernel.graph, taint),
        rare_targets=find_rare_targets(kernel.function, taint.blocks),
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
        assumed_trips=find_assumed_trips(analysis, arguments, ndrange, taint),
    )


def _near_sites(
    analysis: KernelAnalysis, sites: Sequence[Site], arguments: Sequence[Argument], taint: Taint
) -> Iterator[int]:
    """Yield the numbers of the sites that access images, or what lies around the place of ids."""
    images = {
        index for index, argument in enumerate(arguments) if isinstance(argument, ImageArgument)
    }
    roots = analysis.dependencies.roots
    near = find_near_places(analysis.dependencies, taint) if sites else frozenset()
    for site in sites:
        is_image = site.indices and images.issuperset(roots.get(site.pointer, {UNKNOWN_ROOT}))
        is_read = site.access is Access.READ and site.space != PRIVATE
        if is_image or (is_read and site.pointer in near):
            yield site.number


def _private_sites(kernel: PreparedKernel) -> frozenset[int]:
    return frozenset(site.number for site in kernel.sites if site.space == PRIVATE)


def _unknown_roots(arguments: Sequence[Argument]) -> list[Root]:
    """Return the roots whose contents the launch does not provide."""
    roots: list[Root] = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, BufferArgument | ImageArgument) and argument.contents is None:
            roots.append(index)
    if any(isinstance(argument, BufferArgument) for argument in arguments) and roots:
        roots.append(UNKNOWN_ROOT)
    return roots


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
    analysis: KernelAnalysis,
    roots: frozenset[Root],
    arguments: Sequence[Argument],
    local_size: tuple[int, ...],
) -> Sequence[tuple[int, LaneValues]]:
    """Return what differs between the work-items of a team, a row and a group, each with their number.

    Larger ones come later.
    """
    flat = frozenset(number for number in range(3) if _local_size(local_size, number) == 1)
    row, group = _local_size(local_size, 0), math.prod(local_size)
    found = []
    for size, quotients in sorted(_teams(analysis, arguments).items()):
        if 1 < size < row and row % size == 0:
            lanes = analysis.lane_values_of(roots, flat | {1, 2}, frozenset(quotients))
            found.append((size, lanes))
    if 1 < row < group:
        found.append((row, analysis.lane_values_of(roots, flat | {1, 2})))
    return (*found, (group, analysis.lane_values_of(roots, flat)))


def _teams(analysis: KernelAnalysis, arguments: Sequence[Argument]) -> Mapping[int, list[int]]:
    """Return the quotients of ids that work-items of a team have in common, by the size of a team."""
    teams: dict[int, list[int]] = {}
    for quotient in find_id_quotients(analysis.dependencies):
        size = quotient.number
        if quotient.argument is not None:
            size = integer_of(arguments[quotient.argument]) or 0
        teams.setdefault(size, []).append(quotient.result)
    return teams


def _local_size(local_size: tuple[int, ...], dimension: int) -> int:
    """Return the local size in a dimension: 1 for one that the launch does not have."""
    return local_size[dimension] if dimension < len(local_size) else 1
