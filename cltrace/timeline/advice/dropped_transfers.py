"""Rule about non-blocking transfers that block, because their events are dropped."""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
)
from cltrace.timeline.advice.sequences import until_next
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.replay import Change


def dropped_transfers(evidence: Evidence) -> list[Proposal]:
    """Find non-blocking transfers for which pyopencl waits, because nothing keeps their events."""
    commands = evidence.activity.commands
    waits = waits_of_dropped_events(evidence)
    call_of = dict(zip(_awaited(evidence, waits).tolist(), waits.tolist(), strict=True))
    is_ours = np.zeros(len(commands), np.bool_)
    is_ours[list(call_of)] = True
    is_ours[evidence.dropped] = True
    is_ours &= ~commands.is_blocking & commands.is_placed & _waits_next(evidence, call_of)
    chosen = np.flatnonzero(is_ours)
    pending_ns = np.maximum(commands.end_ns - commands.return_ns, 0)
    proposals = []
    for place, members in evidence.by_place(commands.site[chosen], chosen):
        if len(members) < MIN_OCCURRENCES:
            continue
        own = np.array([call_of[each] for each in members.tolist() if each in call_of], np.int64)
        waited = int(pending_ns[members].sum())
        change = Change(unawaited=members, removed_calls=own, moved=until_next(members))
        proposals.append(
            Proposal(
                rule="dropped-event",
                title="Transfers wait although they do not block",
                place=place,
                times=len(members),
                metrics=(
                    metric_count("transfers whose events are dropped", len(members)),
                    metric_ns("the host waited for", waited),
                ),
                remedy=Remedy(
                    "Keep the event until the transfer has ended: pyopencl waits when it is dropped. "
                    "Fill another array meanwhile.",
                    "cl.enqueue_copy(queue, x, a, is_blocking=False)",
                    "copied = cl.enqueue_copy(queue, x, a, is_blocking=False)",
                ),
                change=change,
            )
        )
    return proposals


def waits_of_dropped_events(evidence: Evidence) -> Int64s:
    """Return the calls, as positions, in which pyopencl waits for transfers whose events are dropped.

    They are the last ones for these events. Where calls are recorded by hooks, they are not visible.
    """
    commands, calls = evidence.activity.commands, evidence.activity.calls
    call, command = evidence.activity.waits.T
    is_single = np.bincount(call, minlength=len(calls))[call] == 1
    is_below = np.isin(calls.process[call], list(evidence.pyopencl_below))
    is_transfer = commands.is_kind("read", "write")[command]
    chosen = np.flatnonzero(
        is_single & is_below & is_transfer & calls.is_api(Api.clWaitForEvents)[call]
    )
    order = chosen[np.lexsort((calls.enter_ns[call[chosen]], command[chosen]))]
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = command[order][1:] != command[order][:-1]
    waits: Int64s = call[order[is_last]]
    return waits


def _awaited(evidence: Evidence, waits: Int64s) -> Int64s:
    """Return the command that each of the calls waits for."""
    of_call = np.full(len(evidence.activity.calls), -1)
    call, command = evidence.activity.waits.T
    of_call[call] = command
    return of_call[waits]


def _waits_next(evidence: Evidence, call_of: dict[int, int]) -> Bools:
    """Return a mask of the commands whose wait is the next thing that their thread does.

    A program that waits for a transfer later, and keeps the event, makes the same call.
    """
    activity = evidence.activity
    commands, calls = activity.commands, activity.calls
    is_next = np.zeros(len(commands), np.bool_)
    is_next[evidence.dropped] = True
    enter = np.concatenate([commands.enter_ns, calls.enter_ns])
    order = np.lexsort((enter, np.concatenate([commands.thread, calls.thread])))
    following = np.full(len(order), -1)
    following[order[:-1]] = order[1:]
    for command, call in call_of.items():
        is_next[command] |= following[command] == len(commands) + call
    return is_next
