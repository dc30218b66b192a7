"""Times of a trace at which launches ran at once, without counting any of them twice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Segments:
    """Times at which the same launches ran at once.

    `by_set` is the total time in ns by the launches' groups, in ascending order; a group that ran
    several launches at once stands in it several times.
    """

    by_set: Mapping[tuple[int, ...], int]

    @property
    def total_ns(self) -> int:
        """Time at which any two launches ran at once, each nanosecond once."""
        return sum(time for groups, time in self.by_set.items() if len(groups) > 1)


def segments_of(
    start_ns: NDArray[np.int64], end_ns: NDArray[np.int64], groups: Sequence[int]
) -> Segments:
    """Return the times at which launches ran at once, from their starts and ends on one device's clock.

    `groups` has the group of each launch. Launches without a duration are left out.
    """
    totals: dict[tuple[int, ...], int] = {}
    for running, time_ns in _sweep(start_ns, end_ns):
        key = tuple(sorted(groups[launch] for launch in running))
        totals[key] = totals.get(key, 0) + time_ns
    return Segments(totals)


def _sweep(
    start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
) -> Iterator[tuple[frozenset[int], int]]:
    """Yield the launches that run between each start or end and the next, with the time between."""
    lasting = np.flatnonzero(end_ns > start_ns).tolist()
    # At the same time, what ends goes before what starts.
    edges = sorted(
        [(int(start_ns[at]), 1, at) for at in lasting]
        + [(int(end_ns[at]), 0, at) for at in lasting]
    )
    running: set[int] = set()
    before_ns = 0
    for time_ns, is_start, launch in edges:
        if running and time_ns > before_ns:
            yield frozenset(running), time_ns - before_ns
        before_ns = time_ns
        if is_start:
            running.add(launch)
        else:
            running.discard(launch)
