"""Map from device time to the host's clock.

Every command bounds its device's clock at no cost: it was queued between the entry and the return of
the call that enqueued it, and it had ended when a call that waited for it returned. The map is the
straightest line through all of these bounds, in pieces where the clock's rate changes. The room that the
bounds leave is the map's largest error. Commands that contradict the others are rejected and reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.events.clocks import UNBOUNDED_NS, ClockSegment
from cltrace.events.kinds import ClockState, StampFault
from cltrace.timeline.clock_fit.epochs import Epochs, find_epochs
from cltrace.timeline.clock_fit.pieces import Piece, fit_pieces
from cltrace.timeline.clock_fit.points import ClockObservations, TimeOrigin, compute_points
from cltrace.timeline.clock_fit.stretches import divide
from cltrace.timeline.columns import NEVER, Bools, Float64s, Int64s

_MIN_GAP_NS: Final = 20.0
"""Bounds that contradict each other by less do so because readings of clocks are inexact."""
_MIN_STRAIGHT_SHARE: Final = 0.7
"""Share of the time that a clock must run at constant rates to be told from a curve."""


@dataclass(frozen=True, slots=True)
class FittedClock:
    """Segments of a device's clock, in order, and the `StampFault` bits of each observation."""

    segments: tuple[ClockSegment, ...]
    faults: Int64s


def fit_clock(
    observations: ClockObservations, *, device_id: int, quantum_ns: int = 1, unusable: int = 0
) -> FittedClock:
    """Fit the clock of a device to the observations of its commands.

    Args:
        observations: The commands whose stamps can be used.
        device_id: The device's number, for the segments.
        quantum_ns: The step in which the device's stamps move.
        unusable: The number of further commands whose stamps are impossible by themselves.
    """
    if not len(observations):
        reason = "no command has stamps that can be used"
        return FittedClock((_unaligned(device_id, reason, unusable),), np.empty(0, np.int64))
    epochs = find_epochs(observations, quantum_ns)
    faults = np.where(epochs.is_foreign, int(StampFault.FOREIGN), 0)
    if not epochs.count:
        reason = "its stamps do not follow the host's time"
        segment = _unaligned(device_id, reason, unusable + len(observations))
        return FittedClock((segment,), faults)
    segments: list[ClockSegment] = []
    limits = _epoch_limits(observations, epochs.epoch, epochs.count)
    for number, limit in enumerate(limits):
        members = np.flatnonzero((epochs.epoch == number) & ~epochs.is_foreign)
        fitted = _fit_epoch(observations[members], device_id, quantum_ns, limit)
        faults[members] |= fitted.faults
        segments += fitted.segments
    reasons, rejected = _clock_doubts(epochs, unusable)
    return FittedClock(
        tuple(_add_doubts(segment, reasons, rejected) for segment in segments), faults
    )


def _clock_doubts(epochs: Epochs, unusable: int) -> tuple[list[str], int]:
    """Return the reasons to doubt every segment of a clock, and the number of rejected commands."""
    reasons = []
    foreign = int(epochs.is_foreign.sum())
    if epochs.count > 1:
        times = "once" if epochs.count == 2 else f"{epochs.count - 1} times"
        reasons.append(f"its counter was reset {times}")
    if foreign:
        reasons.append(_count_commands(foreign, "stamps that do not fit those around them"))
    if unusable:
        reasons.append(_count_commands(unusable, "stamps that cannot be right"))
    return reasons, foreign + unusable


def _fit_epoch(
    observations: ClockObservations, device_id: int, quantum_ns: int, limit: tuple[int, int]
) -> FittedClock:
    """Fit the segments of one epoch."""
    faults = np.zeros(len(observations), np.int64)
    if not len(observations):
        return FittedClock((), faults)
    trusts_queued = _is_one_clock(observations, quantum_ns)
    frame = TimeOrigin(int(observations.queued_device_ns[0]), int(observations.enter_host_ns[0]))
    points = compute_points(observations, frame, quantum_ns=quantum_ns, trusts_queued=trusts_queued)
    division = divide(points)
    if not division.stretches:
        reason = "no line fits the host's observations"
        empty = _unaligned(device_id, reason, len(observations))
        return FittedClock((_limit_to(empty, limit),), faults | int(StampFault.FOREIGN))
    stamps = (
        observations.queued_device_ns,
        observations.start_device_ns,
        observations.end_device_ns,
    )
    wanted_ns = np.sort(np.concatenate([frame.times(column) for column in stamps]))
    pieces = fit_pieces(points[~division.rejected], division, wanted_ns)
    rejected = np.unique(points.command[division.rejected])
    segments = _make_segments(pieces, frame, device_id, limit)
    doubts = _map_doubts(pieces)
    segments = [_add_doubts(segment, doubts, 0) for segment in segments]
    segments = [_add_rejections(segment, observations, rejected) for segment in segments]
    if not trusts_queued:
        reason = "QUEUED is of another clock than START and END, and was not used"
        segments = [_add_doubts(segment, [reason], 0) for segment in segments]
    faults[rejected] |= _find_contradictions(observations[rejected], segments)
    return FittedClock(tuple(segments), faults)


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


def _is_one_clock(observations: ClockObservations, quantum_ns: int) -> bool:
    """Return whether QUEUED to END on the device fits into the time that the host observed."""
    is_observed = observations.observed_host_ns != NEVER
    if not is_observed.any():
        return True
    host_ns = observations.observed_host_ns - observations.enter_host_ns
    device_ns = observations.end_device_ns - observations.queued_device_ns
    on_host = host_ns[is_observed].astype(np.float64)
    on_device = device_ns[is_observed].astype(np.float64)
    return bool((on_device > 1.001 * on_host + 2 * quantum_ns).mean() < 0.5)


def _epoch_limits(
    observations: ClockObservations, epoch: Int64s, count: int
) -> list[tuple[int, int]]:
    """Return the entry times of each epoch's first call and of the next epoch's; open at both ends."""
    firsts = [
        int(observations.enter_host_ns[epoch == number].min(initial=UNBOUNDED_NS))
        for number in range(count)
    ]
    return list(zip([-UNBOUNDED_NS, *firsts[1:]], [*firsts[1:], UNBOUNDED_NS], strict=True))


def _make_segments(
    pieces: Sequence[Piece], frame: TimeOrigin, device_id: int, limit: tuple[int, int]
) -> list[ClockSegment]:
    begins = [-UNBOUNDED_NS, *(frame.device_ns + round(piece.begin_ns) for piece in pieces[1:])]
    segments = []
    for piece, begin, end in zip(pieces, begins, [*begins[1:], UNBOUNDED_NS], strict=True):
        anchor_ns = round(piece.begin_ns)
        host_ns = anchor_ns + piece.offset_ns + piece.slope * anchor_ns
        segments.append(
            ClockSegment(
                device_id=device_id,
                state=ClockState.PROVEN if piece.is_straight else ClockState.CONDITIONAL,
                is_straight=piece.is_straight,
                from_enter_host_ns=limit[0],
                to_enter_host_ns=limit[1],
                from_device_ns=begin,
                to_device_ns=end,
                anchor_device_ns=frame.device_ns + anchor_ns,
                anchor_host_ns=frame.host_ns + round(host_ns),
                drift=piece.slope,
                drift_within=piece.drift_within,
                half_width_ns=piece.half_width_ns,
                bound_ns=piece.bound_ns,
                observations=piece.observations,
                rejected=0,
                reason="" if piece.is_straight else "its rate changes here",
                quantum_ns=1,
            )
        )
    return segments


def _count_commands(count: int, property_name: str) -> str:
    if count == 1:
        return f"1 command has {property_name}"
    return f"{count} commands have {property_name}"


def _unaligned(device_id: int, reason: str, rejected: int) -> ClockSegment:
    return ClockSegment(
        device_id=device_id,
        state=ClockState.UNALIGNED,
        is_straight=False,
        from_enter_host_ns=-UNBOUNDED_NS,
        to_enter_host_ns=UNBOUNDED_NS,
        from_device_ns=-UNBOUNDED_NS,
        to_device_ns=UNBOUNDED_NS,
        anchor_device_ns=0,
        anchor_host_ns=0,
        drift=0.0,
        drift_within=0.0,
        half_width_ns=0.0,
        bound_ns=0.0,
        observations=0,
        rejected=rejected,
        reason=reason,
        quantum_ns=1,
    )


def _limit_to(segment: ClockSegment, limit: tuple[int, int]) -> ClockSegment:
    return replace(segment, from_enter_host_ns=limit[0], to_enter_host_ns=limit[1])


def _add_doubts(segment: ClockSegment, reasons: Sequence[str], rejected: int) -> ClockSegment:
    """Return the segment with further reasons to doubt it; with any, it is no longer proven."""
    if not reasons or segment.state is ClockState.UNALIGNED:
        return segment
    return replace(
        segment,
        state=ClockState.CONDITIONAL,
        rejected=segment.rejected + rejected,
        reason="; ".join(filter(None, [segment.reason, *reasons])),
    )


def _add_rejections(
    segment: ClockSegment, observations: ClockObservations, rejected: Int64s
) -> ClockSegment:
    """Count the rejected commands whose time from QUEUED to END overlaps with the segment."""
    queued, end = observations.queued_device_ns[rejected], observations.end_device_ns[rejected]
    is_inside = (end >= segment.from_device_ns) & (queued < segment.to_device_ns)
    count = int(is_inside.sum())
    reasons = [_count_commands(count, "bounds that contradict the others")] if count else []
    return _add_doubts(segment, reasons, count)


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


@dataclass(frozen=True, slots=True)
class ClockMap:
    """Map from one device's clock to the host's."""

    segments: tuple[ClockSegment, ...]

    def host_ns(self, device_ns: Int64s, enter_host_ns: Int64s) -> Int64s:
        """Return stamps on the host's clock, of commands whose calls were entered at `enter_host_ns`.

        Shape (n,). `NEVER` where the clock is unaligned.
        """
        host_ns = np.full(len(device_ns), NEVER)
        for segment, members in self._members(device_ns, enter_host_ns):
            since = device_ns[members] - segment.anchor_device_ns
            drifted = np.round(since * segment.drift).astype(np.int64)
            host_ns[members] = segment.anchor_host_ns + since + drifted
        return host_ns

    def bound_ns(self, device_ns: Int64s, enter_host_ns: Int64s) -> Float64s:
        """Return the largest error of `host_ns`; infinite where the clock is unaligned."""
        bounds = np.full(len(device_ns), np.inf)
        for segment, members in self._members(device_ns, enter_host_ns):
            bounds[members] = segment.bound_ns
        return bounds

    def is_proven(self, device_ns: Int64s, enter_host_ns: Int64s) -> Bools:
        """Return a mask of the stamps whose bound is proven."""
        proven = np.zeros(len(device_ns), np.bool_)
        for segment, members in self._members(device_ns, enter_host_ns):
            proven[members] = segment.state is ClockState.PROVEN
        return proven

    def _members(
        self, device_ns: Int64s, enter_host_ns: Int64s
    ) -> list[tuple[ClockSegment, Int64s]]:
        """Return the aligned segments, each with the positions of its stamps."""
        members = []
        for segment in self.segments:
            if segment.state is ClockState.UNALIGNED:
                continue
            is_inside = (
                (device_ns >= segment.from_device_ns)
                & (device_ns < segment.to_device_ns)
                & (enter_host_ns >= segment.from_enter_host_ns)
                & (enter_host_ns < segment.to_enter_host_ns)
            )
            members.append((segment, np.flatnonzero(is_inside)))
        return members


def clock_maps(segments: tuple[ClockSegment, ...]) -> dict[int, ClockMap]:
    """Return the clock maps of devices, by device number."""
    devices = sorted({segment.device_id for segment in segments})
    return {
        device: ClockMap(tuple(segment for segment in segments if segment.device_id == device))
        for device in devices
    }
