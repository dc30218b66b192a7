"""Rule about large copies through memory that the driver copies once more, or could share."""

from dataclasses import replace
from typing import Final

import numpy as np

from cltrace.timeline.advice.model import (
    HOST_MEMORY,
    MIN_OCCURRENCES,
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_bytes,
    metric_count,
)
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.replay import Change

_LARGE_BYTES: Final = 1 << 20
_SHARED: Final = (0.0, 0.15, 0.0)
"""Shares of a copy's time that remain where a processor works in the host's memory: expected, at most, at
least. Mapping takes a few microseconds."""
_PINNED: Final = (0.5, 0.9, 0.2)
"""Shares of a copy's time that remain with pinned memory: pageable copies run at a fifth to nine tenths
of its rate, by driver and board."""
_MAP_TEXT: Final = (
    "Let the device work in the host's memory: map the buffer, or create it with USE_HOST_PTR."
)
_MAP: Final = {
    "write": Remedy(
        _MAP_TEXT,
        "cl.enqueue_copy(queue, x, a)",
        "a, _ = cl.enqueue_map_buffer(queue, x, cl.map_flags.WRITE, 0, shape, dtype)",
    ),
    "read": Remedy(
        _MAP_TEXT,
        "cl.enqueue_copy(queue, a, x)",
        "a, _ = cl.enqueue_map_buffer(queue, x, cl.map_flags.READ, 0, shape, dtype)",
    ),
}
"""Remedies by the direction of the copies."""
_PIN: Final = Remedy(
    "Keep the host array in pinned memory, a mapped ALLOC_HOST_PTR buffer, which is copied directly.",
    "a = np.empty(shape, dtype)",
    "access = cl.map_flags.READ | cl.map_flags.WRITE; "
    "a, _ = cl.enqueue_map_buffer(queue, pinned, access, 0, shape, dtype)",
)


def copied_host_memory(evidence: Evidence) -> list[Proposal]:
    """Find large copies of pageable memory, in programs that use no other memory of the host."""
    commands = evidence.activity.commands
    if any(memory.flags & HOST_MEMORY for memory in evidence.memory.values()):
        return []  # the program has pinned memory, and the arrays in it are not recorded
    is_large = commands.is_placed & (commands.size_bytes >= _LARGE_BYTES)
    proposals = []
    for number, device in evidence.devices.items():
        is_ours = is_large & (commands.device == number)
        if device.kind != "CPU":
            copies = is_ours & commands.is_kind("read", "write")
            proposals += _proposals(evidence, copies, _PINNED, _PIN, f"device {number}")
            continue
        for kind, remedy in _MAP.items():
            copies = is_ours & commands.is_kind(kind)
            proposals += _proposals(evidence, copies, _SHARED, remedy, f"device {number} {kind}")
    return proposals


def _proposals(
    evidence: Evidence,
    copies: Bools,
    shares: tuple[float, float, float],
    remedy: Remedy,
    cause: str,
) -> list[Proposal]:
    """Return a proposal for each place with enough of the copies; they have one cause."""
    chosen = np.flatnonzero(copies)
    return [
        replace(_proposal(evidence, place, members, shares, remedy), cause=cause)
        for place, members in evidence.by_place(evidence.activity.commands.site[chosen], chosen)
        if len(members) >= MIN_OCCURRENCES
    ]


def _proposal(
    evidence: Evidence,
    place: Place,
    members: Int64s,
    shares: tuple[float, float, float],
    remedy: Remedy,
) -> Proposal:
    expected, least, most = (
        Change(scaled=members, scales=np.full(len(members), share), direct=direct)
        for share, direct in zip(shares, (members, members[:0], members), strict=True)
    )
    moved = int(evidence.activity.commands.size_bytes[members].sum())
    return Proposal(
        rule="pageable-copy",
        title="Large copies of pageable host memory",
        place=place,
        times=len(members),
        metrics=(
            metric_count("copies of at least 1 MiB", len(members)),
            metric_bytes("together", moved),
        ),
        remedy=remedy,
        change=expected,
        least=least,
        most=most,
    )
