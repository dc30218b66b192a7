"""Rule about blocking writes."""

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
)
from cltrace.timeline.advice.sequences import until_next, waits_for_only
from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay import Change


def blocking_writes(evidence: Evidence) -> list[Proposal]:
    """Find blocking writes: the host waits for a copy whose result it does not need."""
    commands = evidence.activity.commands
    chosen = np.flatnonzero(commands.is_kind("write") & commands.is_blocking)
    return [
        _proposal(evidence, place, members)
        for place, members in evidence.by_place(commands.site[chosen], chosen)
        if len(members) >= MIN_OCCURRENCES
    ]


def _proposal(evidence: Evidence, place: Place, members: Int64s) -> Proposal:
    commands = evidence.activity.commands
    in_calls = int((commands.return_ns - commands.enter_ns)[members].sum())
    return Proposal(
        rule="blocking-write",
        title="The host waits for writes",
        place=place,
        times=len(members),
        metrics=(
            metric_count("blocking writes", len(members)),
            metric_ns("in the calls", in_calls),
        ),
        remedy=Remedy(
            "Do not block, keep the event, and wait for it before the array changes; two arrays in turn "
            "let the next one be filled meanwhile.",
            "cl.enqueue_copy(queue, x, a)",
            "copied = cl.enqueue_copy(queue, x, a, is_blocking=False)",
        ),
        change=Change(
            unblocked=members,
            removed_calls=waits_for_only(evidence.activity, members),
            moved=until_next(members),
        ),
    )
