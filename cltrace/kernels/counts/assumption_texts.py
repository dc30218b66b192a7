"""Descriptions of the assumptions that counts of unknown contents rest on."""

from collections.abc import Iterator

from cltrace.kernels.counts.assumed_trips import AssumedTrips
from cltrace.kernels.counts.records import Assumption
from cltrace.kernels.counts.scenarios import (
    MAX_SCENARIO,
    MAX_TRIPS,
    MIN_SCENARIO,
    MIN_TRIPS,
    TYPICAL_TRIPS,
    scale_trips,
)
from cltrace.kernels.counts.unknown_branches import find_entry_condition, find_exits
from cltrace.kernels.counts.unknowns import Unknowns
from cltrace.kernels.execute.prepared_kernel import PreparedKernel
from cltrace.kernels.execute.state import Site
from cltrace.kernels.flow.rare_conditions import RARE_SHARE_INVERSE
from cltrace.kernels.ir.instructions import Select
from cltrace.kernels.ir.types import PRIVATE


def describe_assumptions(
    sliced_kernel: PreparedKernel, unknowns: Unknowns, group_items: int
) -> tuple[Assumption, ...]:
    """Describe the assumptions, one of each kind per place, in source order."""
    entries: dict[tuple[str, str], Assumption] = {}
    for number in sorted(unknowns.sites):
        place = sliced_kernel.sites[number].place
        what = "the address depends on unknown contents"
        meaning = _describe_address(
            group=_group(unknowns.shared_sites.get(number), group_items),
            is_private=sliced_kernel.sites[number].space == PRIVATE,
            near=_near(sliced_kernel.sites[number], is_near=number in unknowns.near_sites),
        )
        entries.setdefault((str(place), meaning), Assumption(place, what, meaning))
    for item in _selects(sliced_kernel, unknowns.selects):
        group = _group(unknowns.shared_selects.get(item.result), group_items) or "lane"
        meaning = f"half of the {group}s with each value, or all with the same"
        what = "the selected value depends on unknown contents"
        entries.setdefault((str(item.place), what), Assumption(item.place, what, meaning))
    for block in sorted(unknowns.blocks):
        place = sliced_kernel.blocks[block].terminator.place
        if find_entry_condition(sliced_kernel, block, unknowns.blocks) is not None:
            continue  # described at the loop that it guards
        if find_exits(sliced_kernel, block) is not None:
            what = "the number of trips depends on unknown contents"
            meaning = _describe_trips(
                unknowns.assumed_trips.get(sliced_kernel.graph.loop_of[block])
            )
            if block in unknowns.known_parts:
                meaning += ", or all that the loop has if these are fewer"
        else:
            what = "the branch depends on unknown contents"
            group = _group(unknowns.shared_blocks.get(block), group_items)
            meaning = _describe_branch(group, is_rare=block in unknowns.rare_targets)
        entries.setdefault((str(place), what), Assumption(place, what, meaning))
    return tuple(sorted(entries.values(), key=lambda item: (item.place.file, item.place.line)))


def _group(neighbours: int | None, group_items: int) -> str:
    """Return the name of a number of neighbours that share what is unknown, "" for none."""
    if neighbours is None:
        return ""
    return "work-group" if neighbours == group_items else "row"


def _describe_branch(group: str, *, is_rare: bool) -> str:
    if is_rare:
        return (
            f"one {group or 'warp'} in {RARE_SHARE_INVERSE} in the rarer direction, between none and all "
            f"{group or 'lane'}s in the longer one"
        )
    return (
        f"half of the {group or 'lane'}s in each direction, between none and all in the longer one"
    )


def _near(site: Site, *, is_near: bool) -> str:
    """Return what is assumed of a site whose places are near those of ids, "" for others."""
    if not is_near:
        return ""
    return "neighbouring texels" if site.indices else "places side by side, as the ids"


def _describe_address(*, group: str, is_private: bool, near: str) -> str:
    if group:
        return f"random for each {group}, whose work-items keep their distances"
    if near:
        return f"{near}, or random ones"
    # Private variables of neighbours lie side by side, so lanes at one place are coalesced.
    least = "one place for all lanes" if is_private else "coalesced addresses"
    return f"between {least} and random ones"


def _selects(sliced_kernel: PreparedKernel, slots: frozenset[int]) -> Iterator[Select]:
    for block in sliced_kernel.function.blocks:
        for item in block.instructions:
            if isinstance(item, Select) and item.result in slots:
                yield item


def _describe_trips(assumed: AssumedTrips | None) -> str:
    if assumed is None:
        return f"{TYPICAL_TRIPS} trips, between {MIN_TRIPS} and {MAX_TRIPS}"
    if assumed.is_exact:
        return f"{assumed.count} trips {assumed.reason}"
    low, high = (scale_trips(assumed.count, scenario) for scenario in (MIN_SCENARIO, MAX_SCENARIO))
    trips = "trip" if assumed.count == 1 else "trips"
    return f"{assumed.count} {trips} {assumed.reason}, between {low} and {high}"
