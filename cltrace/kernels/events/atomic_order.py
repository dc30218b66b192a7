"""Order of accesses through atomic operations: locks, counters of finished work-groups, flags.

A work-item that reads what another one's atomic operation has left goes on after it. So an access before
an atomic operation of one side comes before an access after a later atomic operation of the other side
at the same location.
"""

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
    by_actor: dict[int, dict[tuple[int, int], list[int]]] = {}
    rows = accesses.row[positions]
    for who, memory, offset, step in zip(
        actor[rows].tolist(),
        accesses.memory[positions].tolist(),
        accesses.offset_bytes[positions].tolist(),
        accesses.step[positions].tolist(),
        strict=True,
    ):
        by_actor.setdefault(who, {}).setdefault((memory, offset), []).append(step)
    return lambda first, begin, second, end: _are_ordered(
        by_actor.get(first, {}), begin, by_actor.get(second, {}), end
    )


def _are_ordered(
    first: Mapping[tuple[int, int], list[int]],
    begin: int,
    second: Mapping[tuple[int, int], list[int]],
    end: int,
) -> bool:
    """Return True if both operate at one location between two steps, the first one before the second."""
    for location, steps in first.items():
        released = next((step for step in steps if begin <= step <= end), None)
        if released is not None:
            acquired = (step for step in second.get(location, ()) if released <= step <= end)
            if next(acquired, None) is not None:
                return True
    return False
