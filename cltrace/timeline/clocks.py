"""Map from device time to the host's clock.

Every command bounds its device's clock at no cost: it was queued between the entry and the return of
the call that enqueued it, and it had ended when a call that waited for it returned. The map is the
straightest line through all of these bounds, in pieces where the clock's rate changes. The room that the
bounds leave is the map's largest error. Commands that contradict the others are rejected and reported.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cltrace.events.clocks import UNBOUNDED_NS, ClockSegment
from cltrace.events.kinds import StampFault
from cltrace.timeline.clock_fit.epoch_fit import EpochFit, EpochObservations, fit_epoch
from cltrace.timeline.clock_fit.epochs import EpochDivision, divide_epochs
from cltrace.timeline.clock_fit.points import ClockObservations
from cltrace.timeline.clock_fit.segments import (
    add_doubts,
    bounded_or_unaligned,
    count_commands,
    unaligned_segment,
)
from cltrace.timeline.clock_fit.sources import MemoryObservations, ObservationSource
from cltrace.timeline.columns import Int64s
from cltrace.trace.distinct_values import sort_distinct
from cltrace.trace.scratch import MemoryScratch, Scratch


@dataclass(frozen=True, slots=True)
class FittedClock:
    """Segments of a device's clock, in order, and the `StampFault` bits of each observation."""

    segments: tuple[ClockSegment, ...]
    faults: Int64s


@dataclass(frozen=True, slots=True)
class StoredClock:
    """Segments of a device's clock, in order, and the faults of its observations.

    `fault_parts` yields rows of `position` and `StampFault` bits of the observations that have any, in
    the order of observations.
    """

    segments: tuple[ClockSegment, ...]
    fault_parts: Callable[[], Iterator[Int64s]]


def fit_clock(
    observations: ClockObservations, *, device_id: int, quantum_ns: int = 1, unusable: int = 0
) -> FittedClock:
    """Fit the clock of a device to observations in memory, as `fit_stored_clock` does."""
    count = len(observations)
    numbered = replace(observations, position=np.arange(count))
    fitted = fit_stored_clock(
        MemoryObservations(numbered),
        MemoryScratch(),
        device_id=device_id,
        quantum_ns=quantum_ns,
        unusable=unusable,
    )
    faults = np.zeros(count, np.int64)
    for rows in fitted.fault_parts():
        faults[rows[:, 0]] = rows[:, 1]
    return FittedClock(fitted.segments, faults)


def fit_stored_clock(
    source: ObservationSource,
    scratch: Scratch,
    *,
    device_id: int,
    quantum_ns: int = 1,
    unusable: int = 0,
) -> StoredClock:
    """Fit the clock of a device to the observations of its commands.

    Args:
        source: The commands whose stamps can be used.
        scratch: Place of the points, which may be too many for the memory.
        device_id: The device's number, for the segments.
        quantum_ns: The step in which the device's stamps move.
        unusable: The number of further commands whose stamps are impossible by themselves.
    """
    if not len(source):
        reason = "no command has stamps that can be used"
        return StoredClock((unaligned_segment(device_id, reason, unusable),), lambda: iter(()))
    division = divide_epochs(source, quantum_ns)
    if not division.count:
        reason = "its stamps do not follow the host's time"
        segment = unaligned_segment(device_id, reason, unusable + len(source))
        return StoredClock((segment,), lambda: _fault_parts(source, division, []))
    facts = _count_epochs(source, division)
    segments: list[ClockSegment] = []
    fits: list[EpochFit] = []
    for number, limit in enumerate(_epoch_limits(facts.first_enter_ns)):
        epoch = EpochObservations(source, division, number, facts.counts[number])
        fits.append(fit_epoch(epoch, scratch, device_id, quantum_ns, limit))
        segments += map(bounded_or_unaligned, fits[-1].segments)
    reasons, rejected = _clock_doubts(division.count, facts.foreign, unusable)
    return StoredClock(
        tuple(add_doubts(segment, reasons, rejected) for segment in segments),
        lambda: _fault_parts(source, division, fits),
    )


@dataclass(frozen=True, slots=True)
class _EpochFacts:
    """Earliest entry of each epoch's calls, and the numbers of its own and of all foreign ones."""

    first_enter_ns: list[int]
    counts: list[int]
    foreign: int


def _count_epochs(source: ObservationSource, division: EpochDivision) -> _EpochFacts:
    firsts, counts, foreign = [UNBOUNDED_NS] * division.count, [0] * division.count, 0
    parts = zip(source.parts(), division.parts(source), strict=True)
    for (_, observations), (_, epochs, is_foreign) in parts:
        foreign += int(is_foreign.sum())
        for epoch in sort_distinct(epochs).tolist():
            members = epochs == epoch
            earliest = int(observations.enter_host_ns[members].min())
            firsts[epoch] = min(firsts[epoch], earliest)
            counts[epoch] += int((members & ~is_foreign).sum())
    return _EpochFacts(firsts, counts, foreign)


def _fault_parts(
    source: ObservationSource, division: EpochDivision, fits: list[EpochFit]
) -> Iterator[Int64s]:
    """Yield the positions and the faults of the observations that have any."""
    parts = zip(source.parts(), division.parts(source), strict=True)
    for (numbers, observations), (_, epoch, is_foreign) in parts:
        faults = np.where(is_foreign, int(StampFault.FOREIGN), 0)
        for number, fit in enumerate(fits):
            if fit.is_foreign:
                faults[epoch == number] = int(StampFault.FOREIGN)
                continue
            at = np.searchsorted(numbers, fit.rejected[:, 0])
            at = np.minimum(at, len(numbers) - 1)
            here = numbers[at] == fit.rejected[:, 0]
            faults[at[here]] |= fit.rejected[here, 1]
        faulty = np.flatnonzero(faults)
        yield np.stack([observations.position[faulty], faults[faulty]], axis=1)


def _clock_doubts(epochs: int, foreign: int, unusable: int) -> tuple[list[str], int]:
    """Return the reasons to doubt every segment of a clock, and the number of rejected commands."""
    reasons = []
    if epochs > 1:
        times = "once" if epochs == 2 else f"{epochs - 1} times"
        reasons.append(f"its counter was reset {times}")
    if foreign:
        reasons.append(count_commands(foreign, "stamps that do not fit those around them"))
    if unusable:
        reasons.append(count_commands(unusable, "stamps that cannot be right"))
    return reasons, foreign + unusable


def _epoch_limits(firsts: list[int]) -> list[tuple[int, int]]:
    """Return the entry times of each epoch's first call and of the next epoch's; open at both ends."""
    return list(zip([-UNBOUNDED_NS, *firsts[1:]], [*firsts[1:], UNBOUNDED_NS], strict=True))
