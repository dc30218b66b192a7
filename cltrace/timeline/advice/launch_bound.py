"""Rule about loops of launches that the device waits for."""

from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import Evidence, Place, Proposal, Remedy, typical_ns
from cltrace.timeline.advice.sequences import ANY_TIME_NS, MAX_LOOP_NS, runs_of
from cltrace.timeline.blocked_enqueues import MIN_BLOCKED_NS
from cltrace.timeline.columns import Int64s, median_of
from cltrace.timeline.grouping import groups
from cltrace.timeline.memory_moves import slow_moves
from cltrace.timeline.replay import Change
from cltrace.trace.commands import FIRST_LAUNCH

_MIN_LAUNCHES: Final = 64
_IDLE_SHARE: Final = 0.5
_MIN_SPAN_SHARE: Final = 0.2


def launch_bound_loops(evidence: Evidence) -> list[Proposal]:
    """Find loops of short kernels in which the device mostly waits for the next launch."""
    commands = evidence.activity.commands
    moves = evidence.moves
    launches = np.flatnonzero(
        commands.is_kind("kernel") & commands.is_placed & (commands.flags & FIRST_LAUNCH == 0)
    )
    # Where the call moved memory of another device, that kept the device waiting, not the launch.
    launches = np.setdiff1d(launches, moves.command[slow_moves(moves, MIN_BLOCKED_NS)])
    waited_ns = _launch_waits(evidence.activity)
    proposals = []
    for place, members in evidence.by_place(commands.site[launches], launches):
        worked_ns = int((commands.end_ns - commands.start_ns)[members].sum())
        idle_ns = int(waited_ns[members].sum())
        span_ns = int(commands.end_ns[members].max() - commands.start_ns[members].min())
        is_much = idle_ns >= max(_IDLE_SHARE * (worked_ns + idle_ns), _MIN_SPAN_SHARE * span_ns)
        if len(members) >= _MIN_LAUNCHES and is_much:
            proposals.append(_proposal(evidence, place, members, waited_ns))
    return proposals


def _proposal(evidence: Evidence, place: Place, members: Int64s, waited_ns: Int64s) -> Proposal:
    commands = evidence.activity.commands
    runs = list(runs_of(evidence.activity, members))
    merged = np.concatenate([run[1:] for run in runs])
    fused = np.concatenate([run[1::2] for run in runs])
    took = float(np.median(commands.duration_ns[members]))
    return Proposal(
        rule="launch-bound",
        title="The device waits for launches",
        place=place,
        times=len(members),
        metrics=(
            typical_ns("a kernel takes", took),
            typical_ns("the device waits for it", median_of(waited_ns[members].astype(np.float64))),
        ),
        remedy=Remedy(
            "Do more per launch: one launch over all rows, a loop inside the kernel, or fused kernels.",
            "for row in range(n): kernel(queue, (width,), None, x, np.int32(row))",
            "kernel(queue, (width, n), None, x)",
        ),
        change=_merged(evidence, merged),
        least=_merged(evidence, fused),
        most=Change(
            removed=merged, saved_commands=merged, saved_ns=np.full(len(merged), ANY_TIME_NS)
        ),
    )


def _merged(evidence: Evidence, later: Int64s) -> Change:
    """Return the change that makes launches parts of those before them."""
    commands = evidence.activity.commands
    gaps = np.diff(np.sort(commands.enter_ns[later]))
    usual = int(np.median(gaps)) if len(gaps) else 0
    saved = np.full(len(later), min(usual, MAX_LOOP_NS))
    return Change(merged=later, saved_commands=later, saved_ns=saved)


def _launch_waits(activity: Activity) -> Int64s:
    """Return the time that the device was idle before each command because of its launch, in ns.

    A gap in which the program did other work for longer than a launch takes is not counted as such.
    """
    commands = activity.commands
    waited = np.zeros(len(commands), np.int64)
    placed = np.flatnonzero(commands.is_placed)
    for _, members in groups(commands.device[placed], placed):
        members = members[np.argsort(commands.start_ns[members], kind="stable")]
        busy_until = np.maximum.accumulate(commands.end_ns[members])[:-1]
        following = members[1:]
        gap = np.maximum(commands.start_ns[following] - busy_until, 0)
        program = np.clip(commands.enter_ns[following] - busy_until, 0, gap)
        waited[following] = np.where(program <= MAX_LOOP_NS, gap, gap - program)
    return waited
