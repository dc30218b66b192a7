"""Data races and diverging barriers, from the accesses of work-items between barriers.

Two accesses of the same bytes by different work-items race if one of them is a plain write and nothing
orders them: no barrier between them within a work-group whose flags name their memory, and no atomic
operations of both sides. A plain read beside an atomic operation gets the value before or after it, and
is no race. An order of the work-items of a warp is not assumed.

Source: OpenCL 3.0, section 3.3.6 (memory consistency).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.atomic_order import IsOrdered, find_atomic_order
from cltrace.kernels.events.records import EventKind, LaunchEvents

_SHARED_SPACES: Final = frozenset({"global", "local"})
_MAX_ORDERED: Final = 20_000
"""Places in memory that are looked at in kernels whose atomic operations may order accesses."""
_MAX_ORDERED_ACCESSES: Final = 1_000
"""Accesses of such a place that are looked at."""
_MAX_UNITS: Final = 1 << 26
"""Accessed units of a memory object whose races are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Unordered accesses of the same bytes at two sites.

    Attributes:
        sites: positions in `LaunchEvents.sites`. The first one writes.
        memory: the position in `LaunchEvents.memories`.
        locations: the number of places in memory where they race.
        items: global ids of two work-items that race.
        offset_bytes: where these do.
        epoch: the number of barriers that the first has passed before.
        is_within_group: True if the two are of one work-group.
        has_barrier: True if barriers stand between them, none of which orders accesses of this memory.
    """

    sites: tuple[int, int]
    memory: int
    locations: int
    items: tuple[int, int]
    offset_bytes: int
    epoch: int
    is_within_group: bool
    has_barrier: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergingBarrier:
    """A barrier that not all work-items of a work-group reach.

    Attributes:
        site: the position in `LaunchEvents.sites`.
        groups: the number of work-groups in which this happens.
        group: one of these.
        arrived: the number of its work-items that reach the barrier.
        items: the number of all its work-items.
    """

    site: int
    groups: int
    group: int
    arrived: int
    items: int


@dataclass(frozen=True, slots=True)
class _Accesses:
    """Accesses of units of shared memory, by run and within it in the order of execution.

    The accesses of a run are of one unit. Those by different actors race.
    """

    event: NDArray[np.int64]
    run: NDArray[np.int64]
    actor: NDArray[np.int64]
    is_write: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Orders:
    """Orders by atomic operations, of work-items and of work-groups; None without such operations."""

    of_items: IsOrdered | None
    of_groups: IsOrdered | None


@dataclass(frozen=True, slots=True)
class RaceSearch:
    """The races of a launch, those of the most locations first.

    `incomplete` names the memory objects of which not all accesses were looked at.
    """

    races: Sequence[Race]
    incomplete: tuple[str, ...]


def find_races(events: LaunchEvents) -> RaceSearch:
    """Look for races of recorded accesses."""
    races: list[Race] = []
    incomplete: list[str] = []
    orders = _Orders(
        find_atomic_order(events, np.arange(len(events.items.item))),
        find_atomic_order(events, events.items.group),
    )
    for memory, described in enumerate(events.memories):
        positions = np.flatnonzero(events.accesses.memory == memory)
        if described.space not in _SHARED_SPACES or not _is_write(events, positions).any():
            continue
        if _count_units(events, positions) > _MAX_UNITS:
            incomplete.append(described.name)
            continue
        races.extend(_races_in(events, memory, positions, orders))
        if orders.of_items is not None and len(positions) > _MAX_ORDERED:
            incomplete.append(described.name)
    return RaceSearch(
        sorted(races, key=lambda race: (-race.locations, race.sites)), tuple(incomplete)
    )


def _is_write(events: LaunchEvents, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    by_site = np.asarray([site.kind is EventKind.WRITE for site in events.sites], np.bool_)
    return by_site[events.accesses.site[positions]]


def _races_in(
    events: LaunchEvents, memory: int, positions: NDArray[np.int64], orders: _Orders
) -> Iterator[Race]:
    """Yield the races of one memory object: those within work-groups, then those between them."""
    items, space = events.items, events.memories[memory].space
    index, unit = _split_units(events, positions)
    event = positions[index]
    row = events.accesses.row[event]
    group = items.group[row]
    epoch = _ordered_epochs(events, space)[event]
    within = _make_runs(events, event, row, (unit, group, epoch))
    pairs = _racing_pairs(within, events, orders.of_items)
    yield from _describe(events, memory, pairs, within_group=True)
    if space != "local":
        across = _make_runs(events, event, group, (unit,))
        pairs = _racing_pairs(across, events, orders.of_groups)
        yield from _describe(events, memory, pairs, within_group=False)


def _ordered_epochs(events: LaunchEvents, space: str) -> NDArray[np.int64]:
    """Return, for each event, the number of barriers before it that order accesses of a space."""
    accesses = events.accesses
    is_barrier = np.asarray([site.kind.is_barrier for site in events.sites], np.bool_)
    orders = np.asarray([site.kind.orders(space) for site in events.sites], np.bool_)
    barriers = np.flatnonzero(is_barrier[accesses.site])
    order = np.lexsort((accesses.epoch[barriers], accesses.row[barriers]))
    barriers = barriers[order]
    # A work-item has one barrier of each epoch, so those before an event stand one after another.
    passed = np.concatenate([[0], np.cumsum(orders[accesses.site[barriers]])])
    begin = np.searchsorted(accesses.row[barriers], np.arange(len(events.items.item)))
    first = begin[accesses.row]
    before = np.minimum(first + accesses.epoch, len(barriers))
    counts: NDArray[np.int64] = passed[before] - passed[first]
    return counts


def _make_runs(
    events: LaunchEvents,
    event: NDArray[np.int64],
    actor: NDArray[np.int64],
    keys: tuple[NDArray[np.int64], ...],
) -> _Accesses:
    """Return accesses in runs of equal keys."""
    order = np.lexsort((event, *keys))
    is_new = np.zeros(len(order), np.bool_)
    for key in keys:
        is_new |= np.diff(key[order], prepend=-1) != 0
    return _Accesses(
        event[order], np.cumsum(is_new) - 1, actor[order], _is_write(events, event[order])
    )


def _unit_bytes(
    events: LaunchEvents, positions: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Return the largest unit that divides all offsets and sizes of accesses, and these sizes."""
    sizes = np.asarray([site.access_bytes for site in events.sites], np.int64)
    lengths = np.maximum(sizes[events.accesses.site[positions]], 1)
    offsets = events.accesses.offset_bytes[positions]
    return int(np.gcd(np.gcd.reduce(offsets), np.gcd.reduce(lengths))) or 1, lengths


def _count_units(events: LaunchEvents, positions: NDArray[np.int64]) -> int:
    unit_bytes, lengths = _unit_bytes(events, positions)
    return int((lengths // unit_bytes).sum())


def _split_units(
    events: LaunchEvents, positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the accesses by units of memory that none of them divides: (index, unit)."""
    unit_bytes, lengths = _unit_bytes(events, positions)
    offsets = events.accesses.offset_bytes[positions]
    counts = lengths // unit_bytes
    index = np.repeat(np.arange(len(positions)), counts)
    rank = np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)
    return index, offsets[index] // unit_bytes + rank


def _racing_pairs(
    accesses: _Accesses, events: LaunchEvents, is_ordered: IsOrdered | None
) -> NDArray[np.int64]:
    """Return racing events of each run that has such: shape (pairs, 2), the first one a write.

    Without atomic operations these are the first write and the first access of each site by another
    actor; with them, the first two accesses that they do not order.
    """
    actor, run, event = accesses.actor, accesses.run, accesses.event
    write = _first_of_runs(accesses.is_write, run, int(run[-1]) + 1)
    is_other = (write[run] >= 0) & (actor != actor[write[run]])
    other = np.flatnonzero(is_other)
    if is_ordered is None:
        num_sites = len(events.sites)
        keys = run[other] * num_sites + events.accesses.site[event[other]]
        _, first = np.unique(keys, return_index=True)
        other = other[first]
        return np.stack([event[write[run[other]]], event[other]], axis=1)
    runs = np.unique(run[other])[:_MAX_ORDERED]
    begins, ends = np.searchsorted(run, runs), np.searchsorted(run, runs, "right")
    step = events.accesses.step[event]
    pairs = [
        _unordered_pair(accesses, step, begin, end, is_ordered)
        for begin, end in zip(begins, ends, strict=True)
    ]
    return np.asarray([pair for pair in pairs if pair is not None], np.int64).reshape(-1, 2)


def _unordered_pair(
    accesses: _Accesses, step: NDArray[np.int64], begin: int, end: int, is_ordered: IsOrdered
) -> tuple[int, int] | None:
    """Return the first two accesses of a run that atomic operations do not order, None without any."""
    write = -1
    reads: list[int] = []
    for position in range(begin, min(end, begin + _MAX_ORDERED_ACCESSES)):
        earlier = [
            *([write] if write >= 0 else []),
            *(reads if accesses.is_write[position] else []),
        ]
        for other in earlier:
            actors = int(accesses.actor[other]), int(accesses.actor[position])
            steps = int(step[other]), int(step[position])
            if actors[0] != actors[1] and not is_ordered(actors[0], steps[0], actors[1], steps[1]):
                first = other if accesses.is_write[other] else position
                second = position if first == other else other
                return int(accesses.event[first]), int(accesses.event[second])
        if accesses.is_write[position]:
            write, reads = position, []
        else:
            reads.append(position)
    return None


def _first_of_runs(
    mask: NDArray[np.bool_], run: NDArray[np.int64], num_runs: int
) -> NDArray[np.int64]:
    """Return the index of the first entry of each run for which `mask` holds, -1 without one."""
    first = np.full(num_runs, -1, np.int64)
    index = np.flatnonzero(mask)[::-1]
    first[run[index]] = index
    return first


def _describe(
    events: LaunchEvents, memory: int, pairs: NDArray[np.int64], *, within_group: bool
) -> Iterator[Race]:
    """Yield the races of pairs of events, one for each pair of sites."""
    accesses = events.accesses
    if not len(pairs):
        return
    sites = accesses.site[pairs]
    distinct, first, counts = np.unique(sites, axis=0, return_index=True, return_counts=True)
    for numbers, at, count in zip(distinct.tolist(), first, counts, strict=True):
        leading, other = pairs[at]
        yield Race(
            sites=(numbers[0], numbers[1]),
            memory=memory,
            locations=int(count),
            items=(
                int(events.items.item[accesses.row[leading]]),
                int(events.items.item[accesses.row[other]]),
            ),
            offset_bytes=int(accesses.offset_bytes[leading]),
            epoch=int(accesses.epoch[leading]),
            is_within_group=within_group,
            has_barrier=within_group and bool(accesses.epoch[leading] != accesses.epoch[other]),
        )


def find_diverging_barriers(events: LaunchEvents) -> Sequence[DivergingBarrier]:
    """Return the barriers that some work-items of a work-group do not reach, in the source's order."""
    accesses, items = events.accesses, events.items
    is_barrier = np.asarray([site.kind.is_barrier for site in events.sites], np.bool_)
    positions = np.flatnonzero(is_barrier[accesses.site]) if len(events.sites) else np.zeros(0, int)
    group_numbers, group_items = np.unique(items.group, return_counts=True)
    group = np.searchsorted(group_numbers, items.group[accesses.row[positions]])
    keys = np.stack([group, accesses.epoch[positions], accesses.site[positions]], axis=1)
    if not len(keys):
        return ()
    distinct, arrived = np.unique(keys, axis=0, return_counts=True)
    partial = arrived < group_items[distinct[:, 0]]
    barriers = []
    for site in np.unique(distinct[partial, 2]).tolist():
        rows = np.flatnonzero(partial & (distinct[:, 2] == site))
        barriers.append(
            DivergingBarrier(
                site=site,
                groups=len(np.unique(distinct[rows, 0])),
                group=int(group_numbers[distinct[rows[0], 0]]),
                arrived=int(arrived[rows[0]]),
                items=int(group_items[distinct[rows[0], 0]]),
            )
        )
    return barriers
