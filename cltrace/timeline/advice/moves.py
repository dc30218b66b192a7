"""Rule about memory that devices use in turns, which the driver moves between them."""

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Advice,
    Evidence,
    metric_bytes,
    metric_ns,
)
from cltrace.timeline.blocked_enqueues import MIN_BLOCKED_NS
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import slow_moves


def moved_memory(evidence: Evidence) -> list[Advice]:
    """Find calls that took long because another device had used their memory last."""
    moves, activity = evidence.moves, evidence.activity
    slow = np.flatnonzero(slow_moves(moves, MIN_BLOCKED_NS))
    findings = []
    for site, members in groups(activity.commands.site[moves.command[slow]], slow):
        calls = np.unique(moves.command[members])
        if len(calls) < MIN_OCCURRENCES:
            continue
        cost_ns, moved = int(moves.call_ns[members].sum()), int(moves.size_bytes[members].sum())
        findings.append(
            Advice(
                rule="moved-memory",
                title="The driver moves memory between devices in the call",
                site=activity.names.sites.get(site, ""),
                times=len(calls),
                cost_ns=cost_ns,
                metrics=(
                    metric_bytes("memory that another device used last", moved),
                    metric_ns("in the calls", cost_ns),
                ),
                remedy="keep memory on one device, and give each device its own; or copy it ahead "
                "through pinned host memory, on queues of both devices",
            )
        )
    return sorted(findings, key=lambda advice: -(advice.cost_ns or 0))
