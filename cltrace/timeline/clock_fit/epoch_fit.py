"""Fit of a clock within one epoch, in passes over observations that may be too many for the memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.events.clocks import ClockSegment
from cltrace.events.kinds import StampFault
from cltrace.timeline.clock_fit.epochs import EpochDivision
from cltrace.timeline.clock_fit.piece import Piece
from cltrace.timeline.clock_fit.pieces import fit_pieces
from cltrace.timeline.clock_fit.points import ClockObservations, TimeOrigin, point_rows
from cltrace.timeline.clock_fit.segments import (
    add_doubts,
    count_commands,
    limit_to,
    make_segments,
    unaligned_segment,
)
from cltrace.timeline.clock_fit.sources import (
    ObservationSource,
    PointSlice,
    SortedTimes,
    store_points,
)
from cltrace.timeline.clock_fit.stretches import Segmentation, divide
from cltrace.timeline.clock_map import ClockMap
from cltrace.timeline.columns import NEVER, Int64s
from cltrace.trace.distinct_values import sort_distinct
from cltrace.trace.scratch import Scratch

_MIN_GAP_NS: Final = 20.0
"""Bounds that contradict each other by less do so because readings of clocks are inexact."""
_MIN_STRAIGHT_SHARE: Final = 0.7
"""Share of the time that a clock must run at constant rates to be told from a curve."""


class EpochObservations:
    """Observations of one epoch of a source, without the foreign ones."""

    def __init__(
        self, source: ObservationSource, division: EpochDivision, number: int, count: int
    ) -> None:
        self._source, self._division = source, division
        self._number, self._count = number, count

    def __len__(self) -> int:
        return self._count

    def parts(self) -> Iterator[tuple[Int64s, ClockObservations]]:
        """Yield the observations, and the number of each in the whole source."""
        parts = zip(self._source.parts(), self._division.parts(self._source), strict=True)
        for (numbers, observations), (_, epoch, is_foreign) in parts:
            is_member = (epoch == self._number) & ~is_foreign
            if is_member.all():
                yield numbers, observations
            elif is_member.any():
                yield numbers[is_member], observations[is_member]

    def at(self, wanted: Int64s) -> ClockObservations:
        """Return the observations with some numbers in the source, which ascend."""
        chosen = [
            observations[np.searchsorted(numbers, wanted[np.isin(wanted, numbers)])]
            for numbers, observations in self.parts()
        ]
        names = ClockObservations.__slots__
        return ClockObservations(
            **{name: np.concatenate([getattr(part, name) for part in chosen]) for name in names}
        )


@dataclass(frozen=True, slots=True)
class EpochFit:
    """Segments of an epoch, and its rejected observations: rows of number in the source and faults.

    All observations are foreign if no line fits them.
    """

    segments: tuple[ClockSegment, ...]
    rejected: Int64s
    is_foreign: bool = False


_NONE: Final = np.empty((0, 2), np.int64)


def fit_epoch(
    epoch: EpochObservations,
    scratch: Scratch,
    device_id: int,
    quantum_ns: int,
    limit: tuple[int, int],
) -> EpochFit:
    """Fit the segments of one epoch, whose calls were entered within a `limit`."""
    if not len(epoch):
        return EpochFit((), _NONE)
    trusts_queued = _is_one_clock(epoch, quantum_ns)
    _, first = next(epoch.parts())
    frame = TimeOrigin(int(first.queued_device_ns[0]), int(first.enter_host_ns[0]))
    division = divide(
        _sort_points(epoch, scratch, frame, quantum_ns, trusts_queued=trusts_queued), scratch
    )
    if not division.stretches:
        reason = "no line fits the host's observations"
        empty = unaligned_segment(device_id, reason, len(epoch))
        return EpochFit((limit_to(empty, limit),), _NONE, is_foreign=True)
    pieces = fit_pieces(division, _sort_times(epoch, scratch, frame))
    segments = make_segments(pieces, frame, device_id, limit)
    doubts = _map_doubts(pieces)
    segments = [add_doubts(segment, doubts, 0) for segment in segments]
    numbers = _rejected_numbers(division)
    rejected = epoch.at(numbers)
    segments = [_add_rejections(segment, rejected) for segment in segments]
    if not trusts_queued:
        reason = "QUEUED is of another clock than START and END, and was not used"
        segments = [add_doubts(segment, [reason], 0) for segment in segments]
    faults = _find_contradictions(rejected, segments)
    return EpochFit(tuple(segments), np.stack([numbers, faults], axis=1))


def _sort_points(
    epoch: EpochObservations,
    scratch: Scratch,
    frame: TimeOrigin,
    quantum_ns: int,
    *,
    trusts_queued: bool,
) -> PointSlice:
    """Return the points of an epoch in the order of their times."""

    def parts() -> Iterator[Int64s]:
        for numbers, part in epoch.parts():
            yield point_rows(
                part, numbers, frame, quantum_ns=quantum_ns, trusts_queued=trusts_queued
            )

    minima = [int(rows[:, 0].min()) for rows in parts()]
    points = store_points(parts(), minima, scratch)
    return PointSlice(points, 0, len(points))


def _sort_times(epoch: EpochObservations, scratch: Scratch, frame: TimeOrigin) -> SortedTimes:
    """Return all stamps of an epoch's commands but SUBMIT, in order."""

    def parts() -> Iterator[Int64s]:
        for _, part in epoch.parts():
            stamps = (part.queued_device_ns, part.start_device_ns, part.end_device_ns)
            yield np.sort(np.concatenate(stamps))[:, None]

    minima = [
        int(min(part.queued_device_ns.min(), part.start_device_ns.min(), part.end_device_ns.min()))
        for _, part in epoch.parts()
    ]
    return SortedTimes(parts(), minima, scratch, frame)


def _rejected_numbers(division: Segmentation) -> Int64s:
    """Return the numbers of the observations with rejected points, ascending."""
    parts = [division.points.load(begin, end).command for begin, end in division.rejected]
    return sort_distinct(np.concatenate([np.empty(0, np.int64), *parts]))


def _map_doubts(pieces: Sequence[Piece]) -> list[str]:
    """Return the reasons to doubt every piece of a map."""
    jump_ns = max(piece.gap_ns for piece in pieces)
    straight_ns = sum(piece.end_ns - piece.begin_ns for piece in pieces if piece.is_straight)
    whole_ns = pieces[-1].end_ns - pieces[0].begin_ns
    reasons = []
    if jump_ns > _MIN_GAP_NS:
        reasons.append(f"the clock jumps by {jump_ns:.0f} ns")
    if straight_ns < _MIN_STRAIGHT_SHARE * whole_ns:
        reasons.append("its rate changes all the time")
    return reasons


def _is_one_clock(epoch: EpochObservations, quantum_ns: int) -> bool:
    """Return whether QUEUED to END on the device fits into the time that the host observed."""
    observed = longer = 0
    for _, part in epoch.parts():
        is_observed = part.observed_host_ns != NEVER
        on_host = (part.observed_host_ns - part.enter_host_ns)[is_observed].astype(np.float64)
        on_device = (part.end_device_ns - part.queued_device_ns)[is_observed].astype(np.float64)
        observed += len(on_host)
        longer += int((on_device > 1.001 * on_host + 2 * quantum_ns).sum())
    return not observed or longer / observed < 0.5


def _add_rejections(segment: ClockSegment, rejected: ClockObservations) -> ClockSegment:
    """Count the rejected commands whose time from QUEUED to END overlaps with the segment."""
    queued, end = rejected.queued_device_ns, rejected.end_device_ns
    is_inside = (end >= segment.from_device_ns) & (queued < segment.to_device_ns)
    count = int(is_inside.sum())
    reasons = [count_commands(count, "bounds that contradict the others")] if count else []
    return add_doubts(segment, reasons, count)


def _find_contradictions(
    observations: ClockObservations, segments: Sequence[ClockSegment]
) -> Int64s:
    """Return the bound that each rejected command breaks most: entry, return, or completion."""
    clock = ClockMap(tuple(segments))
    queued = clock.host_ns(observations.queued_device_ns, observations.enter_host_ns)
    end = clock.host_ns(observations.end_device_ns, observations.enter_host_ns)
    excess = np.stack(
        [
            observations.enter_host_ns - queued,
            queued - observations.return_host_ns,
            end - observations.observed_host_ns,
        ]
    )
    faults = np.array(
        [StampFault.BEFORE_ENQUEUE, StampFault.AFTER_RETURN, StampFault.AFTER_COMPLETION], np.int64
    )
    return faults[excess.argmax(axis=0)] if len(queued) else np.empty(0, np.int64)
