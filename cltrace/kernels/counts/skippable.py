"""What is known of a loop so that many of its trips can be passed over at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.assumptions import Assumed
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.lowering import lower
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import Frame, State, Step
from cltrace.kernels.flow.canonical import CanonicalLoop
from cltrace.kernels.values import Value


class Skippable(Protocol):
    """A loop whose trips need not all be run."""

    @property
    def number(self) -> int:
        """Its place among the loops of the graph."""

    def left(self, frame: Frame, lanes: Lanes, state: State) -> int:
        """How many trips are left for the lane that leaves first; 0 where that cannot be told."""

    def move(self, frame: Frame, lanes: Lanes, state: State, trips: int) -> bool:
        """Move lanes on by some trips. Returns whether they move by different distances."""


class EvenTrips:
    """A canonical loop: what moves in it does so by the same amount in each trip."""

    def __init__(self, loop: CanonicalLoop) -> None:
        self.number = loop.number
        self._loop = loop
        self._steps = _lowered(loop)

    def left(self, frame: Frame, lanes: Lanes, state: State) -> int:
        """From the comparison by which the loop is left, in this trip and in the next."""
        now = self._computed(frame, lanes, state)
        ahead = list(frame)
        for slot, following in self._loop.affine:
            ahead[slot] = now[following]
        then = self._computed(ahead, lanes, state)
        return _remaining_trips(self._loop, now, then)

    def move(self, frame: Frame, lanes: Lanes, state: State, trips: int) -> bool:
        """Advances the affine values."""
        after = self._computed(frame, lanes, state)
        moved = {slot: after[following] - frame[slot] for slot, following in self._loop.affine}
        for slot, step in moved.items():
            frame[slot] = frame[slot] + step * np.int64(trips).astype(step.dtype)
        return any(type(step) is np.ndarray and (step != step[0]).any() for step in moved.values())

    def _computed(self, frame: Frame, lanes: Lanes, state: State) -> Frame:
        """A copy of the frame with what one trip makes of it."""
        scratch = list(frame)
        for step in self._steps:
            step(scratch, lanes, state)
        return scratch


@dataclass(frozen=True, slots=True)
class AssumedTrips:
    """A loop that is left at one block only, after a number of trips that is assumed."""

    number: int
    block: int
    assumed: Assumed
    moving: EvenTrips | None
    """What moves in it, where it is canonical but for what it compares with."""

    def left(self, frame: Frame, lanes: Lanes, state: State) -> int:
        """As many as are still assumed."""
        del frame, state
        return self.assumed.trips_left(self.block, lanes)

    def move(self, frame: Frame, lanes: Lanes, state: State, trips: int) -> bool:
        """Lets the trips have been."""
        self.assumed.pass_over(self.block, lanes, trips)
        return self.moving.move(frame, lanes, state, trips) if self.moving is not None else False


def _lowered(loop: CanonicalLoop) -> Sequence[Step]:
    table = SiteTable(0, {})
    steps = [lower(instruction, loop.header, table) for instruction in loop.computing]
    return [step for step in steps if step is not None]


def _remaining_trips(loop: CanonicalLoop, now: Frame, then: Frame) -> int:
    """The trips until the comparison changes, from its operands in this trip and in the next.

    0 where that cannot be told, such as near the end of a type's range.
    """
    comparison = loop.comparison
    unsigned = comparison.predicate[0] == "u"
    left, right = (_whole(now[slot], unsigned) for slot in (comparison.left, comparison.right))
    left_next, right_next = (
        _whole(then[slot], unsigned) for slot in (comparison.left, comparison.right)
    )
    gap = left - right
    step = (left_next - right_next) - gap
    predicate = comparison.predicate[-2:]
    if not loop.continues:
        predicate = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}[
            predicate
        ]
    trips = _trips(predicate, gap, step)
    most = float(np.min(trips))
    return int(most) if np.isfinite(most) and most > 0 else 0


def _whole(value: Value, unsigned: bool) -> NDArray[np.float64]:  # noqa: FBT001 - how it is read
    """An integer as a number that does not wrap.

    Beyond 2**53 the last bits are lost, which is safe: a margin of two trips is kept.
    """
    array = np.asarray(value)
    if unsigned and array.dtype.kind == "i":
        array = array.view(f"u{array.dtype.itemsize}")
    return array.astype(np.float64)


def _trips(
    predicate: str, gap: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How often `gap`, moving by `step`, still satisfies a predicate against zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if predicate in {"lt", "le"}:
            found = np.where((gap < 0) & (step > 0), np.floor(-gap / step), 0.0)
        elif predicate in {"gt", "ge"}:
            found = np.where((gap > 0) & (step < 0), np.floor(gap / -step), 0.0)
        elif predicate == "ne":
            exact = -gap / step
            found = np.where((step != 0) & (exact > 0) & (exact == np.floor(exact)), exact, 0.0)
        else:
            found = np.zeros(np.broadcast(gap, step).shape)
    return found
