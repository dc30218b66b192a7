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
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.values import Array, Value


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

    Not beyond where an operand leaves the range of its type. 0 where that cannot be told.
    """
    comparison = loop.comparison
    unsigned = comparison.predicate[0] == "u"
    left, right = (_integers(now[slot], unsigned) for slot in (comparison.left, comparison.right))
    left_step = _difference(_integers(then[comparison.left], unsigned), left)
    right_step = _difference(_integers(then[comparison.right], unsigned), right)
    predicate = comparison.predicate[-2:]
    if not loop.continues:
        predicate = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}[
            predicate
        ]
    trips = _trips(predicate, _gap(left, right), left_step - right_step)
    inside = np.minimum(_within_range(left, left_step), _within_range(right, right_step))
    most = float(np.min(np.minimum(trips, inside)))
    return int(most) if np.isfinite(most) and most > 0 else 0


def _integers(value: Value, unsigned: bool) -> Array:  # noqa: FBT001 - how it is read
    """An integer in the type in which it is compared."""
    array = np.asarray(value)
    if unsigned and array.dtype.kind == "i":
        return array.view(f"u{array.dtype.itemsize}")
    return array


def _difference(then: Array, now: Array) -> NDArray[np.float64]:
    """By how much a value moves in a trip: exact, as the type's own arithmetic has it."""
    if now.dtype.kind in "iu":
        signed = f"i{now.dtype.itemsize}"
        with np.errstate(over="ignore"):
            then, now = np.asarray(then.view(signed) - now.view(signed)), np.zeros_like(now)
    found: NDArray[np.float64] = then.astype(np.float64) - now.astype(np.float64)
    return found


def _gap(left: Array, right: Array) -> NDArray[np.float64]:
    """The left value less the right one, exact before it becomes a float, with its sign."""
    if left.dtype.kind not in "iu":
        return _difference(left, right)
    whole = f"u{left.dtype.itemsize}"
    with np.errstate(over="ignore"):
        ahead = (left.view(whole) - right.view(whole)).astype(np.float64)
        behind = (right.view(whole) - left.view(whole)).astype(np.float64)
    found: NDArray[np.float64] = np.where(left >= right, ahead, -behind)
    return found


def _within_range(value: Array, step: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many trips a value stays in the range of its type."""
    if value.dtype.kind not in "iu":
        return np.full(np.broadcast(value, step).shape, np.inf)
    bounds = np.iinfo(value.dtype)
    above = _gap(np.full_like(value, bounds.max), value)
    below = _gap(value, np.full_like(value, bounds.min))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, np.floor(above / step), np.floor(below / -step))
    found: NDArray[np.float64] = np.where(step == 0, np.inf, room)
    return found


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
