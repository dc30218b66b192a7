"""Segments of a fitted clock, made of the pieces of its map."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from cltrace.events.clocks import UNBOUNDED_NS, ClockSegment
from cltrace.events.kinds import ClockState
from cltrace.timeline.clock_fit.piece import Piece
from cltrace.timeline.clock_fit.points import TimeOrigin


def make_segments(
    pieces: Sequence[Piece], frame: TimeOrigin, device_id: int, limit: tuple[int, int]
) -> list[ClockSegment]:
    """Return the segments of the pieces of a map."""
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


def count_commands(count: int, property_name: str) -> str:
    """Return a count of commands with a property, in words."""
    if count == 1:
        return f"1 command has {property_name}"
    return f"{count} commands have {property_name}"


def unaligned_segment(device_id: int, reason: str, rejected: int) -> ClockSegment:
    """Return the segment of a clock that nothing relates to the host's."""
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


def bounded_or_unaligned(segment: ClockSegment) -> ClockSegment:
    """Return the segment, or an unaligned one in its place if its error has no bound.

    So it is if too few stamps, or stamps all at one time, leave the rate open.
    """
    if max(segment.half_width_ns, segment.bound_ns) < UNBOUNDED_NS and isfinite(
        segment.drift_within
    ):
        return segment
    unaligned = unaligned_segment(segment.device_id, "its stamps leave its rate open", 0)
    return replace(
        unaligned,
        from_enter_host_ns=segment.from_enter_host_ns,
        to_enter_host_ns=segment.to_enter_host_ns,
        from_device_ns=segment.from_device_ns,
        to_device_ns=segment.to_device_ns,
        observations=segment.observations,
    )


def limit_to(segment: ClockSegment, limit: tuple[int, int]) -> ClockSegment:
    """Return the segment for the commands whose calls were entered between two times."""
    return replace(segment, from_enter_host_ns=limit[0], to_enter_host_ns=limit[1])


def add_doubts(segment: ClockSegment, reasons: Sequence[str], rejected: int) -> ClockSegment:
    """Return the segment with further reasons to doubt it; with any, it is no longer proven."""
    if not reasons or segment.state is ClockState.UNALIGNED:
        return segment
    return replace(
        segment,
        state=ClockState.CONDITIONAL,
        rejected=segment.rejected + rejected,
        reason="; ".join(filter(None, [segment.reason, *reasons])),
    )
