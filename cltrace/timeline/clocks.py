"""Device time on the host's clock: the one place where the two meet.

Every command bounds its device's clock for nothing: it was queued between the entry and the return
of the call that enqueued it, and it had ended when a call returned that waited for it. The map is the
straightest line through all of these bounds, in pieces where the clock's rate changes; how much room
the bounds leave is how far off the map can be. What contradicts the rest is rejected and said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cltrace.events.clocks import ALWAYS, ClockSegment
from cltrace.events.kinds import ClockState, StampFault
from cltrace.timeline.clock_fit.epochs import epochs_of
from cltrace.timeline.clock_fit.pieces import Piece, pieces_of
from cltrace.timeline.clock_fit.points import (
    NEVER,
    Bools,
    Float64s,
    Frame,
    Int64s,
    Observations,
    points_of,
)
from cltrace.timeline.clock_fit.stretches import divide

_GAP_NS: Final = 20.0
"""Bounds that contradict each other by less do so because readings of clocks are not that exact."""
_STRAIGHT_SHARE: Final = 0.7
"""How much of the time a clock must run at constant rates for these to be told from a curve."""


@dataclass(frozen=True, slots=True)
class FittedClock:
    """A device's clock: its segments in order, and the `StampFault` bits of each observation."""

    segments: tuple[ClockSegment, ...]
    faults: Int64s


def fit_clock(
    seen: Observations, *, device_id: int, quantum_ns: int = 1, unusable: int = 0
) -> FittedClock:
    """The clock of a device, from the observations of its commands.

    `quantum_ns` is the step in which its stamps move. `unusable` is how many more commands had stamps
    that cannot be right by themselves.
    """
    if not len(seen):
        reason = "no command has stamps that can be used"
        return FittedClock((_unaligned(device_id, reason, unusable),), np.empty(0, np.int64))
    epochs = epochs_of(seen, quantum_ns)
    faults = np.where(epochs.is_foreign, int(StampFault.FOREIGN), 0)
    if not epochs.count:
        reason = "its stamps do not follow the host's time"
        return FittedClock((_unaligned(device_id, reason, unusable + len(seen)),), faults)
    found: list[ClockSegment] = []
    limits = _epoch_limits(seen, epochs.epoch, epochs.count)
    for number, limit in enumerate(limits):
        members = np.flatnonzero((epochs.epoch == number) & ~epochs.is_foreign)
        fitted = _fit_epoch(seen[members], device_id, quantum_ns, limit)
        faults[members] |= fitted.faults
        found += fitted.segments
    reasons = []
    foreign = int(epochs.is_foreign.sum())
    if epochs.count > 1:
        times = "once" if epochs.count == 2 else f"{epochs.count - 1} times"
        reasons.append(f"its counter was set anew {times}")
    if foreign:
        reasons.append(_commands(foreign, "stamps of another time"))
    if unusable:
        reasons.append(_commands(unusable, "stamps that cannot be right"))
    return FittedClock(tuple(_doubted(one, reasons, foreign + unusable) for one in found), faults)


def _fit_epoch(
    seen: Observations, device_id: int, quantum_ns: int, limit: tuple[int, int]
) -> FittedClock:
    """The segments of one epoch."""
    faults = np.zeros(len(seen), np.int64)
    if not len(seen):
        return FittedClock((), faults)
    trusts_queued = _is_one_clock(seen, quantum_ns)
    frame = Frame(int(seen.queued_device_ns[0]), int(seen.enter_host_ns[0]))
    points = points_of(seen, frame, quantum_ns=quantum_ns, trusts_queued=trusts_queued)
    division = divide(points)
    if not division.stretches:
        reason = "no line fits what the host saw of it"
        empty = _unaligned(device_id, reason, len(seen))
        return FittedClock((_within(empty, limit),), faults | int(StampFault.FOREIGN))
    stamps = (seen.queued_device_ns, seen.start_device_ns, seen.end_device_ns)
    wanted_ns = np.sort(np.concatenate([frame.times(one) for one in stamps]))
    pieces = pieces_of(points[~division.rejected], division, wanted_ns)
    rejected = np.unique(points.command[division.rejected])
    segments = _segments(pieces, frame, device_id, limit)
    doubts = _doubts(pieces)
    segments = [_doubted(one, doubts, 0) for one in segments]
    segments = [_with_rejections(one, seen, rejected) for one in segments]
    if not trusts_queued:
        reason = "QUEUED is of another clock than START and END, and was not used"
        segments = [_doubted(one, [reason], 0) for one in segments]
    faults[rejected] |= _contradictions(seen[rejected], segments)
    return FittedClock(tuple(segments), faults)


def _doubts(pieces: Sequence[Piece]) -> list[str]:
    """Why no piece of a map can be relied on, if there is a reason."""
    jump_ns = max(one.gap_ns for one in pieces)
    straight_ns = sum(one.end_ns - one.begin_ns for one in pieces if one.is_straight)
    whole_ns = pieces[-1].end_ns - pieces[0].begin_ns
    reasons = []
    if jump_ns > _GAP_NS:
        reasons.append(f"the clock jumps by {jump_ns:.0f} ns")
    if straight_ns < _STRAIGHT_SHARE * whole_ns:
        reasons.append("its rate changes all the time")
    return reasons


def _is_one_clock(seen: Observations, quantum_ns: int) -> bool:
    """Whether commands take no longer on the device, from QUEUED to END, than the host saw them take."""
    is_seen = seen.observed_host_ns != NEVER
    if not is_seen.any():
        return True
    on_host = (seen.observed_host_ns - seen.enter_host_ns)[is_seen].astype(np.float64)
    on_device = (seen.end_device_ns - seen.queued_device_ns)[is_seen].astype(np.float64)
    return bool((on_device > 1.001 * on_host + 2 * quantum_ns).mean() < 0.5)


def _epoch_limits(seen: Observations, epoch: Int64s, count: int) -> list[tuple[int, int]]:
    """For each epoch the entry times of its first call and of the next epoch's; open at both ends."""
    firsts = [int(seen.enter_host_ns[epoch == one].min(initial=ALWAYS)) for one in range(count)]
    return list(zip([-ALWAYS, *firsts[1:]], [*firsts[1:], ALWAYS], strict=True))


def _segments(
    pieces: Sequence[Piece], frame: Frame, device_id: int, limit: tuple[int, int]
) -> list[ClockSegment]:
    begins = [-ALWAYS, *(frame.device_ns + round(one.begin_ns) for one in pieces[1:])]
    found = []
    for piece, begin, end in zip(pieces, begins, [*begins[1:], ALWAYS], strict=True):
        anchor_ns = round(piece.begin_ns)
        host_ns = anchor_ns + piece.offset_ns + piece.slope * anchor_ns
        found.append(
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
    return found


def _commands(count: int, what: str) -> str:
    return f"1 command has {what}" if count == 1 else f"{count} commands have {what}"


def _unaligned(device_id: int, reason: str, rejected: int) -> ClockSegment:
    return ClockSegment(
        device_id=device_id,
        state=ClockState.UNALIGNED,
        is_straight=False,
        from_enter_host_ns=-ALWAYS,
        to_enter_host_ns=ALWAYS,
        from_device_ns=-ALWAYS,
        to_device_ns=ALWAYS,
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


def _within(segment: ClockSegment, limit: tuple[int, int]) -> ClockSegment:
    return replace(segment, from_enter_host_ns=limit[0], to_enter_host_ns=limit[1])


def _doubted(segment: ClockSegment, reasons: Sequence[str], rejected: int) -> ClockSegment:
    """The segment, no longer proven if there are reasons to doubt it."""
    if not reasons or segment.state is ClockState.UNALIGNED:
        return segment
    return replace(
        segment,
        state=ClockState.CONDITIONAL,
        rejected=segment.rejected + rejected,
        reason="; ".join(filter(None, [segment.reason, *reasons])),
    )


def _with_rejections(segment: ClockSegment, seen: Observations, rejected: Int64s) -> ClockSegment:
    """The segment with the rejected commands whose life overlaps with it."""
    queued, end = seen.queued_device_ns[rejected], seen.end_device_ns[rejected]
    is_here = (end >= segment.from_device_ns) & (queued < segment.to_device_ns)
    count = int(is_here.sum())
    reasons = [_commands(count, "bounds that contradict the others")] if count else []
    return _doubted(segment, reasons, count)


def _contradictions(seen: Observations, segments: Sequence[ClockSegment]) -> Int64s:
    """What rejected commands contradict most: the entry, the return, or the completion."""
    placed = ClockMap(tuple(segments))
    queued = placed.host_ns(seen.queued_device_ns, seen.enter_host_ns)
    end = placed.host_ns(seen.end_device_ns, seen.enter_host_ns)
    off = np.stack(
        [seen.enter_host_ns - queued, queued - seen.return_host_ns, end - seen.observed_host_ns]
    )
    kinds = np.array(
        [StampFault.BEFORE_ENQUEUE, StampFault.AFTER_RETURN, StampFault.AFTER_COMPLETION], np.int64
    )
    return kinds[off.argmax(axis=0)] if len(queued) else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class ClockMap:
    """The map from one device's clock to the host's."""

    segments: tuple[ClockSegment, ...]

    def host_ns(self, device_ns: Int64s, enter_host_ns: Int64s) -> Int64s:
        """Stamps, of commands whose calls were entered at `enter_host_ns`, on the host's clock.

        Shape (n,). `NEVER` where the clock is unaligned.
        """
        placed = np.full(len(device_ns), NEVER)
        for segment, members in self._members(device_ns, enter_host_ns):
            since = device_ns[members] - segment.anchor_device_ns
            drifted = np.round(since * segment.drift).astype(np.int64)
            placed[members] = segment.anchor_host_ns + since + drifted
        return placed

    def bound_ns(self, device_ns: Int64s, enter_host_ns: Int64s) -> Float64s:
        """How far off `host_ns` can be; infinite where the clock is unaligned."""
        bounds = np.full(len(device_ns), np.inf)
        for segment, members in self._members(device_ns, enter_host_ns):
            bounds[members] = segment.bound_ns
        return bounds

    def is_proven(self, device_ns: Int64s, enter_host_ns: Int64s) -> Bools:
        """Whether the bound is proven."""
        proven = np.zeros(len(device_ns), np.bool_)
        for segment, members in self._members(device_ns, enter_host_ns):
            proven[members] = segment.state is ClockState.PROVEN
        return proven

    def _members(
        self, device_ns: Int64s, enter_host_ns: Int64s
    ) -> list[tuple[ClockSegment, Int64s]]:
        """The aligned segments, each with the stamps that it is for."""
        found = []
        for one in self.segments:
            if one.state is ClockState.UNALIGNED:
                continue
            is_here = (
                (device_ns >= one.from_device_ns)
                & (device_ns < one.to_device_ns)
                & (enter_host_ns >= one.from_enter_host_ns)
                & (enter_host_ns < one.to_enter_host_ns)
            )
            found.append((one, np.flatnonzero(is_here)))
        return found


def clock_maps(segments: tuple[ClockSegment, ...]) -> dict[int, ClockMap]:
    """The maps of devices, by number."""
    devices = sorted({segment.device_id for segment in segments})
    return {
        device: ClockMap(tuple(one for one in segments if one.device_id == device))
        for device in devices
    }
