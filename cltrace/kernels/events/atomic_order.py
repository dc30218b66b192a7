"""Order of accesses through atomic operations: locks, counters of finished work-groups, flags.

What one side did before an atomic operation comes before what another side does after a later operation
at the same location, as that may have read what the first one has left. Operations of one step run in
the order of the work-items.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.events.records import EventKind, LaunchEvents

IsOrdered = Callable[[int, int, int, int], bool]
"""A test of an access by an actor at a step, and of a later one by another actor at another step."""


def find_atomic_order(events: LaunchEvents, actor: NDArray[np.int64]) -> IsOrdered | None:
    """Return a test of the order of accesses, None without atomic operations.

    `actor` has the actor of each work-item: itself, or its work-group.
    """
    accesses = events.accesses
    is_atomic = np.asarray([site.kind is EventKind.ATOMIC for site in events.sites], np.bool_)
    positions = np.flatnonzero(is_atomic[accesses.site]) if len(events.sites) else np.zeros(0, int)
    if not len(positions):
        return None
    rows, num_items = accesses.row[positions], len(events.items.item)
    by_actor: dict[int, dict[tuple[int, int], list[int]]] = {}
    for who, memory, offset, moment in zip(
        actor[rows].tolist(),
        accesses.memory[positions].tolist(),
        accesses.offset_bytes[positions].tolist(),
        (accesses.step[positions] * num_items + rows).tolist(),
        strict=True,
    ):
        by_actor.setdefault(who, {}).setdefault((memory, offset), []).append(moment)
    return lambda first, begin, second, end: _are_ordered(
        by_actor.get(first, {}), (begin + 1) * num_items, by_actor.get(second, {}), end * num_items
    )


def _are_ordered(
    first: Mapping[tuple[int, int], list[int]],
    begin: int,
    second: Mapping[tuple[int, int], list[int]],
    end: int,
) -> bool:
    """Return True if both operate at one location between two moments, in their order."""
    for location, moments in first.items():
        released = bisect_left(moments, begin)
        others = second.get(location)
        if others is None or released == len(moments) or moments[released] >= end:
            continue
        acquired = bisect_left(others, moments[released] + 1)
        if acquired < len(others) and others[acquired] < end:
            return True
    return False
