"""Tally of events per set of lanes.

The same set of lanes runs the blocks of a loop many times. Adding its lanes per group to a counter takes
longer than counting to two, so events are tallied per set, and added when the counters are read.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from cltrace.kernels.execute.lanes import Lanes

_MAX_WAITING_LANES: Final = 1 << 18


class LaneTally:
    """Numbers of events per set of lanes that have not been added to counters yet."""

    def __init__(
        self,
        add: Callable[[Lanes, Mapping[int, int]], None],
        max_waiting_lanes: int = _MAX_WAITING_LANES,
    ) -> None:
        """`add` adds the events of a set of lanes to counters: the number of each by its key.

        Sets of together `max_waiting_lanes` lanes are added before further ones are kept.
        """
        self._add = add
        self._max_waiting_lanes = max_waiting_lanes
        self._numbers: dict[Lanes, defaultdict[int, int]] = {}
        self._waiting_lanes = 0

    def count(self, event: int, lanes: Lanes) -> None:
        """Count an event of a set of lanes."""
        numbers = self._numbers.get(lanes)
        if numbers is None:
            if self._waiting_lanes >= self._max_waiting_lanes:
                self.flush()
            numbers = self._numbers[lanes] = defaultdict(int)
            self._waiting_lanes += lanes.count
        numbers[event] += 1

    def flush(self) -> None:
        """Add all events to the counters."""
        for lanes, numbers in self._numbers.items():
            self._add(lanes, numbers)
        self._numbers.clear()
        self._waiting_lanes = 0
