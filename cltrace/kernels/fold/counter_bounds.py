"""Constant bounds of a loop's counter, which say how many trips the loop has."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cltrace.kernels.flow.canonical_loops import CanonicalLoop

_MAX_TRIPS: Final = 256
_PREDICATES: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
    "ult": operator.lt,
    "ule": operator.le,
    "ugt": operator.gt,
    "uge": operator.ge,
}


@dataclass(frozen=True, slots=True)
class CounterBounds:
    """Values of a counter: the loop's comparison with `limit` sees `first`, then `step` more per trip.

    The counter is on the left of the comparison if it `is_left`.
    """

    first: int
    step: int
    limit: int
    is_left: bool

    def trips_of(self, loop: CanonicalLoop) -> int | None:
        """Return the trips of a loop that the counter ends, None if there are too many."""
        compare = _PREDICATES.get(loop.comparison.predicate)
        if compare is None:
            return None
        value = self.first
        for trips in range(1, _MAX_TRIPS + 1):
            operands = (value, self.limit) if self.is_left else (self.limit, value)
            if compare(*operands) != loop.continues_when:
                return trips
            value += self.step
        return None
