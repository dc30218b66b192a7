"""Loops of which some trips can be skipped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cltrace.kernels.counts.assumptions import ScenarioRedirection
from cltrace.kernels.execute.lanes import Lanes
from cltrace.kernels.execute.lowering import lower
from cltrace.kernels.execute.sites import SiteTable
from cltrace.kernels.execute.state import ExecutionState, Frame, Step
from cltrace.kernels.flow.canonical_loops import CanonicalLoop
from cltrace.kernels.values import Array, Value


class SkippableLoop(Protocol):
    """A loop of which some trips can be skipped."""

    @property
    def number(self) -> int:
        """The index of the loop in the graph."""

    def trips_left(self, frame: Frame, lanes: Lanes, state: ExecutionState) -> int:
        """Return the remaining trips of the lane that leaves first; 0 if they are unknown."""

    def skip_trips(self, frame: Frame, lanes: Lanes, state: ExecutionState, trips: int) -> bool:
        """Advance lanes by some trips. Return True if they move by different distances."""


class AffineLoop:
    """A canonical loop, whose affine values advance by a constant amount per trip."""

    def __init__(self, loop: CanonicalLoop) -> None:
        self.number = loop.number
        self._loop = loop
        self._steps = _lower_loop_steps(loop)

    def trips_left(self, frame: Frame, lanes: Lanes, state: ExecutionState) -> int:
        """Derive the remaining trips from the loop's comparison in this trip and in the next."""
        this_trip = self._run_trip(frame, lanes, state)
        next_frame = list(frame)
        for slot, next_slot in self._loop.affine:
            next_frame[slot] = this_trip[next_slot]
        following_trip = self._run_trip(next_frame, lanes, state)
        return _remaining_trips(self._loop, this_trip, following_trip)

    def skip_trips(self, frame: Frame, lanes: Lanes, state: ExecutionState, trips: int) -> bool:
        """Advance the affine values."""
        next_frame = self._run_trip(frame, lanes, state)
        steps = {slot: next_frame[next_slot] - frame[slot] for slot, next_slot in self._loop.affine}
        for slot, step in steps.items():
            frame[slot] = frame[slot] + step * np.int64(trips).astype(step.dtype)
        return any(type(step) is np.ndarray and (step != step[0]).any() for step in steps.values())

    def _run_trip(self, frame: Frame, lanes: Lanes, state: ExecutionState) -> Frame:
        """Return a copy of the frame after one trip."""
        scratch = list(frame)
        for step in self._steps:
            step(scratch, lanes, state)
        return scratch


@dataclass(frozen=True, slots=True)
class AssumedLoop:
    """A loop with one exit block and an assumed number of trips."""

    number: int
    block: int
    redirection: ScenarioRedirection
    affine_loop: AffineLoop | None
    """The loop's affine values, if it is canonical apart from its comparison."""

    def trips_left(self, frame: Frame, lanes: Lanes, state: ExecutionState) -> int:
        """Return the assumed remaining trips."""
        del frame, state
        return self.redirection.trips_left(self.block, lanes)

    def skip_trips(self, frame: Frame, lanes: Lanes, state: ExecutionState, trips: int) -> bool:
        """Count the trips as run, and advance the affine values."""
        self.redirection.skip_trips(self.block, lanes, trips)
        return (
            self.affine_loop.skip_trips(frame, lanes, state, trips)
            if self.affine_loop is not None
            else False
        )


def _lower_loop_steps(loop: CanonicalLoop) -> Sequence[Step]:
    table = SiteTable(0, {})
    steps = [lower(instruction, loop.header, table) for instruction in loop.step_instructions]
    return [step for step in steps if step is not None]


def _remaining_trips(loop: CanonicalLoop, this_trip: Frame, following_trip: Frame) -> int:
    """Return the trips until the comparison changes, from its operands in this trip and in the next.

    The result is limited to the trips in which the operands stay in the range of their types; 0 if it
    is unknown.
    """
    comparison = loop.comparison
    is_unsigned = comparison.predicate[0] == "u"
    left, right = (
        _as_compared(this_trip[slot], is_unsigned) for slot in (comparison.left, comparison.right)
    )
    next_left, next_right = (
        _as_compared(following_trip[slot], is_unsigned)
        for slot in (comparison.left, comparison.right)
    )
    predicate = comparison.predicate[-2:]
    if not loop.continues_when:
        predicate = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}[
            predicate
        ]
    operands = (left, right, next_left, next_right)
    if left.dtype.kind in "iu" and not any(operand.ndim for operand in operands):
        return _remaining_trips_of_all(predicate, left.dtype, *map(int, operands))
    left_step, right_step = _signed_step(next_left, left), _signed_step(next_right, right)
    trips = _trips_while(predicate, _gap(left, right), left_step - right_step)
    trips_in_range = np.minimum(
        _trips_in_range(left, left_step), _trips_in_range(right, right_step)
    )
    min_trips = float(np.min(np.minimum(trips, trips_in_range)))
    return int(min_trips) if np.isfinite(min_trips) and min_trips > 0 else 0


def _remaining_trips_of_all(
    predicate: str, dtype: np.dtype[Any], left: int, right: int, next_left: int, next_right: int
) -> int:
    """Return the remaining trips of lanes that all compare the same integers, in the same arithmetic.

    Python's numbers are several times as fast as numpy's scalars.
    """
    bounds = np.iinfo(dtype)
    half = 1 << (bounds.bits - 1)

    def signed_step(following: int, current: int) -> float:
        return float((following - current + half) % (2 * half) - half)

    def trips_in_range(value: int, step: float) -> float:
        if step == 0.0:
            return math.inf
        room = int(bounds.max) - value if step > 0.0 else value - int(bounds.min)
        return float(math.floor(float(room) / abs(step)))

    left_step, right_step = signed_step(next_left, left), signed_step(next_right, right)
    gap, step = float(left - right), left_step - right_step
    closing = -gap / step if step else 0.0
    trips = 0.0
    if predicate == "ne":
        trips = closing if closing > 0.0 and closing.is_integer() else 0.0
    elif (predicate in {"lt", "le"} and gap < 0.0 < step) or (
        predicate in {"gt", "ge"} and gap > 0.0 > step
    ):
        trips = float(math.floor(closing))
    return int(min(trips, trips_in_range(left, left_step), trips_in_range(right, right_step)))


def _as_compared(value: Value, is_unsigned: bool) -> Array:  # noqa: FBT001 - the type of the comparison
    """Return an integer in the type in which it is compared."""
    array = np.asarray(value)
    if is_unsigned and array.dtype.kind == "i":
        return array.view(f"u{array.dtype.itemsize}")
    return array


def _signed_step(following: Array, current: Array) -> NDArray[np.float64]:
    """Return the change of a value in a trip, exact in the type's own arithmetic."""
    if current.dtype.kind in "iu":
        signed = f"i{current.dtype.itemsize}"
        with np.errstate(over="ignore"):
            following, current = (
                np.asarray(following.view(signed) - current.view(signed)),
                np.zeros_like(current),
            )
    step: NDArray[np.float64] = following.astype(np.float64) - current.astype(np.float64)
    return step


def _gap(left: Array, right: Array) -> NDArray[np.float64]:
    """Return the left value minus the right one, exact before the conversion to float."""
    if left.dtype.kind not in "iu":
        return _signed_step(left, right)
    unsigned_dtype = f"u{left.dtype.itemsize}"
    with np.errstate(over="ignore"):
        positive = (left.view(unsigned_dtype) - right.view(unsigned_dtype)).astype(np.float64)
        negative = (right.view(unsigned_dtype) - left.view(unsigned_dtype)).astype(np.float64)
    gap: NDArray[np.float64] = np.where(left >= right, positive, -negative)
    return gap


def _trips_in_range(value: Array, step: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the number of trips that a value stays in the range of its type."""
    if value.dtype.kind not in "iu":
        return np.full(np.broadcast(value, step).shape, np.inf)
    bounds = np.iinfo(value.dtype)
    above = _gap(np.full_like(value, bounds.max), value)
    below = _gap(value, np.full_like(value, bounds.min))
    with np.errstate(divide="ignore", invalid="ignore"):
        floored = np.where(step > 0, np.floor(above / step), np.floor(below / -step))
    trips: NDArray[np.float64] = np.where(step == 0, np.inf, floored)
    return trips


def _trips_while(
    predicate: str, gap: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how often `gap`, advanced by `step`, still satisfies a predicate against zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if predicate in {"lt", "le"}:
            trips = np.where((gap < 0) & (step > 0), np.floor(-gap / step), 0.0)
        elif predicate in {"gt", "ge"}:
            trips = np.where((gap > 0) & (step < 0), np.floor(gap / -step), 0.0)
        elif predicate == "ne":
            exact = -gap / step
            trips = np.where((step != 0) & (exact > 0) & (exact == np.floor(exact)), exact, 0.0)
        else:
            trips = np.zeros(np.broadcast(gap, step).shape)
    return trips
