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
from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay import Change

_LARGE_BYTES: Final = 1 << 20
_SHARED: Final = (0.0, 0.15, 0.0)
"""Shares of a copy's time that remain where a processor works in the host's memory: expected, at most, at
least. Mapping takes a few microseconds."""
_PINNED: Final = (0.5, 0.9, 0.2)
"""Shares of a copy's time that remain with pinned memory: pageable copies run at a fifth to nine tenths
of its rate, by driver and board."""
_MAP: Final = Remedy(
    "Let the device work in the host's memory: map the buffer, or create it with USE_HOST_PTR.",
    "cl.enqueue_copy(queue, x, a)",
    "a, _ = cl.enqueue_map_buffer(queue, x, cl.map_flags.WRITE, 0, shape, dtype)",
)
_PIN: Final = Remedy(
    "Keep the host array in pinned memory, a mapped ALLOC_HOST_PTR buffer, which is copied directly.",
    "a = np.empty(shape, dtype)",
    "a, _ = cl.enqueue_map_buffer(queue, pinned, cl.map_flags.WRITE, 0, shape, dtype)",
)


def copied_host_memory(evidence: Evidence) -> list[Proposal]:
    """Find large copies of pageable memory, in programs that use no other memory of the host."""
    commands = evidence.activity.commands
    if any(memory.flags & HOST_MEMORY for memory in evidence.memory.values()):
        return []  # the program has pinned memory, and the arrays in it are not recorded
    is_large = commands.is_kind("read", "write") & (commands.size_bytes >= _LARGE_BYTES)
    proposals = []
    for number, device in evidence.devices.items():
        chosen = np.flatnonzero(is_large & commands.is_placed & (commands.device == number))
        shares, remedy = (_SHARED, _MAP) if device.kind == "CPU" else (_PINNED, _PIN)
        proposals += [
            replace(_proposal(evidence, place, members, shares, remedy), cause=f"device {number}")
            for place, members in evidence.by_place(commands.site[chosen], chosen)
            if len(members) >= MIN_OCCURRENCES
        ]
    return proposals


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
