"""Rule about waits for commands that were complete already."""

from typing import Final

import numpy as np

from cltrace.timeline.advice.dropped_transfers import waits_of_dropped_events
from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Proposal,
    Remedy,
    metric_count,
)
from cltrace.timeline.advice.sequences import were_complete
from cltrace.timeline.replay import Change

_AT_ONCE_NS: Final = 50_000
"""A call that waits for nothing returns within this time."""


def redundant_waits(evidence: Evidence) -> list[Proposal]:
    """Find `finish` and `wait` calls for commands that were already known to be complete."""
    calls = evidence.activity.calls
    took = calls.return_ns - calls.enter_ns
    # A call that took long waited for something outside of the trace: a user event, another process.
    is_idle = were_complete(evidence.activity) & (took <= _AT_ONCE_NS)
    is_idle[waits_of_dropped_events(evidence)] = False
    chosen = np.flatnonzero(is_idle)
    return [
        Proposal(
            rule="redundant-wait",
            title="Waits for completed commands",
            place=place,
            times=len(members),
            metrics=(
                metric_count("waits for commands already known to be complete", len(members)),
            ),
            remedy=Remedy(
                "Leave the call out: an earlier wait or blocking call has done its work.",
                "event.wait(); queue.finish()",
                "event.wait()",
            ),
            change=Change(removed_calls=members),
        )
        for place, members in evidence.by_place(calls.site[chosen], chosen)
        if len(members) >= MIN_OCCURRENCES
    ]
