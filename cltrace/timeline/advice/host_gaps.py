"""Rule about work of the host during which devices are idle."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Place,
    Proposal,
    Remedy,
    metric_ns,
    typical_ns,
)
from cltrace.timeline.advice.sequences import CREATING_CALLS, MAX_LOOP_NS
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.dependencies import NONE
from cltrace.timeline.grouping import groups
from cltrace.timeline.host_gaps import HostGaps, find_host_gaps
from cltrace.timeline.replay import Change, MovedWaits

_MIN_IDLE_SHARE: Final = 0.5
"""Share of a loop's time in which devices wait for the host, where the host waits for none."""

_IN_TURNS: Final = Remedy(
    "Enqueue the next step before the work on the results of this one: read without blocking into two "
    "arrays in turn, and wait for a step's read in the next one. Where each step needs the work of the "
    "one before, make the work shorter.",
    "cl.enqueue_copy(queue, out, y); work(out)",
    "reads.append(cl.enqueue_copy(queue, outs[i % 2], y, is_blocking=False)); "
    "if i: reads[i - 1].wait(); work(outs[1 - i % 2])",
)
_WORK_ALONE: Final = Remedy(
    "Do this work before the loop, make it shorter, or let another thread or process run ahead with it."
)


class GapsOfLines(NamedTuple):
    """Gaps between the same two lines, as positions among the gaps, in the order of time."""

    before: Place
    after: Place
    gaps: Int64s


def host_gaps(evidence: Evidence) -> list[Proposal]:
    """Find work of the host between two calls of a loop that keeps devices idle."""
    gaps = find_host_gaps(evidence.activity, evidence.events)
    long = np.flatnonzero((gaps.idle_ns > MAX_LOOP_NS) & ~_follow_creation(evidence, gaps))
    wait, awaited = _last_waits(evidence)
    is_alone = (awaited != NONE) & (awaited == _last_enqueued(evidence))
    # The appended value is that of `NONE`: a run may have no command at all.
    is_result = np.append(evidence.activity.commands.is_kind("read", "map"), np.False_)[awaited]
    is_result &= is_alone
    proposals = []
    for loop in gaps_by_lines(evidence, gaps, long):
        before = gaps.event[loop.gaps] - 1
        in_turns, free = loop.gaps[is_result[before]], loop.gaps[~is_alone[before]]
        if not (loop.before.site and loop.after.site):
            continue
        if len(in_turns) >= MIN_OCCURRENCES:
            at = gaps.event[in_turns] - 1
            change = _waits_one_step_later(evidence, wait[at], awaited[at])
            proposals.append(_in_turns(evidence, gaps, loop._replace(gaps=in_turns), change))
        elif len(free) >= MIN_OCCURRENCES and _is_mostly_idle(evidence, gaps, free):
            proposals.append(_work_alone(evidence, gaps, loop._replace(gaps=free)))
    return proposals


def _follow_creation(evidence: Evidence, gaps: HostGaps) -> Bools:
    """Return a mask of the gaps after calls that create programs and kernels.

    There pyopencl prepares the new kernel, which a program that keeps its kernels does once.
    """
    call = evidence.events.call[gaps.event - 1]
    creates = np.append(evidence.activity.calls.is_api(*CREATING_CALLS), np.False_)
    mask: Bools = creates[np.where(call != NONE, call, -1)]
    return mask


def gaps_by_lines(evidence: Evidence, gaps: HostGaps, chosen: Int64s) -> Iterator[GapsOfLines]:
    """Yield the pairs of lines between which threads worked, of the chosen gaps."""
    for before, members in evidence.by_place(gaps.before_site[chosen], chosen):
        for after, own in evidence.by_place(gaps.after_site[members], members):
            yield GapsOfLines(before, after, own)


def _last_waits(evidence: Evidence) -> tuple[Int64s, Int64s]:
    """Return the command that ended last of those that each thread had awaited, by event, and its wait.

    First the waits, as events; both are `NONE` before a thread's first wait.
    """
    events, end_ns = evidence.events, evidence.activity.commands.end_ns
    event, command = events.awaited.T
    awaited = np.full(len(events), NONE)
    order = np.argsort(end_ns[command], kind="stable")
    awaited[event[order]] = command[order]
    waits = np.full(len(events), NONE)
    for _, members in groups(events.thread):
        own = members[awaited[members] != NONE]
        ended_ns = end_ns[awaited[own]]
        last = own[ended_ns >= np.maximum.accumulate(ended_ns)]
        waits[last] = last
        waits[members] = np.maximum.accumulate(waits[members])
    return waits, np.where(waits != NONE, awaited[waits], NONE)


def _last_enqueued(evidence: Evidence) -> Int64s:
    """Return the command that the thread of each event enqueued last, with it or before it."""
    events = evidence.events
    has_command = events.command != NONE
    last = np.maximum.accumulate(np.where(has_command, np.arange(len(events)), 0))
    return events.command[last]


def _is_mostly_idle(evidence: Evidence, gaps: HostGaps, chosen: Int64s) -> bool:
    """Return whether the chosen gaps take most of the time between the first and the last of them."""
    enter_ns = evidence.events.enter_ns[gaps.event[chosen]]
    span_ns = int(enter_ns[-1] - enter_ns[0] + gaps.work_ns[chosen[0]])
    return int(gaps.idle_ns[chosen].sum()) >= _MIN_IDLE_SHARE * span_ns


def _in_turns(evidence: Evidence, gaps: HostGaps, loop: GapsOfLines, change: Change) -> Proposal:
    """Return the proposal to work on results while the device computes the next ones."""
    return _proposal(
        gaps,
        loop,
        "The device is idle while the host works on results",
        _IN_TURNS,
        change=change,
        most=_without_work(evidence, gaps, loop),
    )


def _work_alone(evidence: Evidence, gaps: HostGaps, loop: GapsOfLines) -> Proposal:
    """Return the proposal to shorten work that nothing runs beside."""
    return _proposal(
        gaps,
        loop,
        "The device waits for the program's own work",
        _WORK_ALONE,
        change=_without_work(evidence, gaps, loop),
    )


def _proposal(
    gaps: HostGaps,
    loop: GapsOfLines,
    title: str,
    remedy: Remedy,
    *,
    change: Change,
    most: Change | None = None,
) -> Proposal:
    return Proposal(
        rule="host-gap",
        title=title,
        place=loop.before,
        until_site=loop.after.site,
        times=len(loop.gaps),
        metrics=(
            typical_ns("the host works for", float(np.median(gaps.work_ns[loop.gaps]))),
            metric_ns("no device works for", int(gaps.idle_ns[loop.gaps].sum())),
        ),
        remedy=remedy,
        change=change,
        least=Change(),
        most=most,
        # Work beside the device fills these times. That a busy device starts commands sooner is a bonus.
        limit_ns=int(gaps.idle_ns[loop.gaps].sum()),
    )


def _without_work(evidence: Evidence, gaps: HostGaps, loop: GapsOfLines) -> Change:
    """Return the change that leaves the work out."""
    events, chosen = evidence.events, gaps.event[loop.gaps]
    of_command, of_call = events.command[chosen] != NONE, events.call[chosen] != NONE
    work_ns = gaps.work_ns[loop.gaps]
    return Change(
        saved_commands=events.command[chosen[of_command]],
        saved_ns=work_ns[of_command],
        saved_calls=events.call[chosen[of_call]],
        saved_calls_ns=work_ns[of_call],
    )


def _waits_one_step_later(evidence: Evidence, waits: Int64s, results: Int64s) -> Change:
    """Return the change by which each event that waits for a result waits for that of the step before."""
    events, commands = evidence.events, evidence.activity.commands
    later = waits[1:]
    # A step may wait for its results more than once, as in a blocking read and for its event.
    until = np.full(len(commands), -1)
    until[results] = waits
    event, command = events.awaited.T
    calls = events.call[event[event <= until[command]]]
    return Change(
        unblocked=results[commands.is_blocking[results]],
        removed_calls=np.unique(calls[calls != NONE]),
        moved=(
            MovedWaits(
                results, np.append(events.command[later], NONE), np.append(events.call[later], NONE)
            ),
        ),
    )
