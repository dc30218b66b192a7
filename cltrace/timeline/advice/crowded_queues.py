"""Rule about kernels of several queues that are slower at the same time than one after the other."""

from collections.abc import Iterator

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
    typical_ns,
)
from cltrace.timeline.busy import run_beside_others
from cltrace.timeline.columns import Float64s, Int64s
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union
from cltrace.timeline.replay import Change


def crowded_queues(evidence: Evidence) -> list[Proposal]:
    """Find kernels of which a model says that one after the other they would have been faster."""
    commands = evidence.activity.commands
    crowded = evidence.neighbours.crowded
    if not crowded:
        return []
    placed = np.flatnonzero(run_beside_others(commands))
    is_crowded = np.array([each in crowded for each in evidence.launched(placed)], np.bool_)
    members_of = groups(commands.device[placed[is_crowded]], placed[is_crowded])
    return [
        _proposal(evidence, members)
        for _, members in members_of
        if len(members) >= MIN_OCCURRENCES and len(np.unique(commands.queue[members])) > 1
    ]


def _proposal(evidence: Evidence, members: Int64s) -> Proposal:
    commands = evidence.activity.commands
    start, end = commands.start_ns[members], commands.end_ns[members]
    by_start = members[np.argsort(start, kind="stable")]
    expected, least, most = _changes(evidence, by_start)
    return Proposal(
        rule="crowded-device",
        title="Kernels of several queues are slower at the same time than one after the other",
        place=evidence.main_place(members),
        times=len(members),
        metrics=(
            metric_count("launches beside others", len(members)),
            metric_ns("took", union(start, end).total_ns),
            typical_ns("a launch, beside the others", float(np.median(end - start))),
            typical_ns(
                "a launch, predicted alone",
                float(np.median((end - start) * _shares(evidence, members, "expected"))),
            ),
        ),
        remedy=Remedy(
            "Launch them in one queue: what one of them reads then stays in the cache.",
            "a(first, size, None, x); b(second, size, None, y)",
            "a(queue, size, None, x); b(queue, size, None, y)",
        ),
        change=expected,
        least=least,
        most=most,
    )


def _changes(evidence: Evidence, by_start: Int64s) -> Iterator[Change]:
    """Yield the changes by which commands follow one another: the expected one, the least, the most."""
    for bound in ("expected", "high", "low"):
        yield Change(
            scaled=by_start,
            scales=_shares(evidence, by_start, bound),
            freed=by_start,
            followed=np.stack([by_start[1:], by_start[:-1]], axis=1),
        )


def _shares(evidence: Evidence, members: Int64s, bound: str) -> Float64s:
    """Return the share of its time that each command would take alone."""
    crowded = evidence.neighbours.crowded
    launches = evidence.launched(members)
    return np.array([getattr(crowded[launch], bound) for launch in launches], np.float64)
