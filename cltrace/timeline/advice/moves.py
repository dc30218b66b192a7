"""Rule about memory that devices use in turns, which the driver moves between them."""

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Proposal,
    Remedy,
    metric_bytes,
    metric_ns,
)
from cltrace.timeline.blocked_enqueues import MIN_BLOCKED_NS
from cltrace.timeline.memory_moves import slow_moves
from cltrace.timeline.replay import Change


def moved_memory(evidence: Evidence) -> list[Proposal]:
    """Find calls that took long because another device had used their memory last."""
    moves, activity = evidence.moves, evidence.activity
    slow = np.flatnonzero(slow_moves(moves, MIN_BLOCKED_NS))
    proposals = []
    for place, members in evidence.by_place(activity.commands.site[moves.command[slow]], slow):
        commands = np.unique(moves.command[members])
        if len(commands) < MIN_OCCURRENCES:
            continue
        in_calls, moved = int(moves.call_ns[members].sum()), int(moves.size_bytes[members].sum())
        proposals.append(
            Proposal(
                rule="moved-memory",
                title="The driver moves memory between devices in the call",
                place=place,
                times=len(commands),
                metrics=(
                    metric_bytes("memory that another device used last", moved),
                    metric_ns("in the calls", in_calls),
                ),
                remedy=Remedy(
                    "Keep memory on one device, and give each device its own; or copy it ahead through "
                    "pinned host memory, on queues of both devices.",
                    "first(queue_a, size, None, x); second(queue_b, size, None, x)",
                    "first(queue_a, size, None, x_a); second(queue_b, size, None, x_b)",
                ),
                change=Change(quick=commands),
                least=Change(),
            )
        )
    return proposals
