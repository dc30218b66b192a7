"""Rule about waits that synchronise on kernels only."""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    MIN_OCCURRENCES,
    Evidence,
    Metric,
    Proposal,
    Remedy,
    metric_count,
    metric_ns,
)
from cltrace.timeline.advice.sequences import first_proofs
from cltrace.timeline.columns import NEVER, Bools, Int64s
from cltrace.timeline.dependencies import HostWaits
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union
from cltrace.timeline.replay import Change


def unneeded_waits(evidence: Evidence) -> list[Proposal]:
    """Find waits that synchronise on kernels or fills only, after which the host enqueues more."""
    if evidence.shares_memory_with_host:
        return []  # kernels may write memory that the host reads, and those are not recorded
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    chosen = np.flatnonzero((waits.call >= 0) & ~_is_last_of_thread(evidence))
    chosen = chosen[_awaits_kernels_only(evidence.activity, waits)[chosen]]
    chosen = chosen[~_measures(evidence)[chosen]]
    waited = np.maximum(commands.end_ns[waits.command] - waits.enter_ns, 0)
    chosen = chosen[waited[chosen] > 0]
    return [
        Proposal(
            rule="unneeded-wait",
            title="The host waits for kernels only",
            place=place,
            times=len(members),
            metrics=_metrics(evidence, members, int(waited[members].sum())),
            remedy=Remedy(
                "Leave the wait out: the queue keeps the order. Wait where results are read, and use "
                "wait_for= between queues.",
                "kernel(queue, size, None, x); queue.finish()",
                "kernel(queue, size, None, x)",
            ),
            change=Change(removed_calls=waits.call[members]),
            # A call that finds the device idle may also have to wake the driver's threads.
            most=Change(removed_calls=waits.call[members], quick=_next_commands(evidence, members)),
        )
        for place, members in evidence.by_place(waits.site[chosen], chosen)
        if len(members) >= MIN_OCCURRENCES
    ]


def _next_commands(evidence: Evidence, members: Int64s) -> Int64s:
    """Return the command that the thread of each wait enqueued next."""
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    following = [np.empty(0, np.int64)]
    of_thread = dict(groups(commands.thread))
    for thread, own in groups(waits.thread[members], members):
        enqueued = of_thread.get(thread, np.empty(0, np.int64))
        at = np.searchsorted(commands.enter_ns[enqueued], waits.return_ns[own])
        following.append(enqueued[at[at < len(enqueued)]])
    return np.unique(np.concatenate(following))


def _metrics(evidence: Evidence, members: Int64s, waited_ns: int) -> tuple[Metric, ...]:
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    awaited = waits.command[members]
    ends = commands.end_ns[awaited]
    alone = int(alone_ns(evidence.activity, awaited, waits.enter_ns[members], ends).sum())
    metrics = (
        metric_count("waits that synchronise on kernels or fills only", len(members)),
        metric_ns("the host was idle for", waited_ns),
    )
    return (*metrics, metric_ns("no other device worked for", alone)) if alone else metrics


def alone_ns(activity: Activity, awaited: Int64s, begin_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return for how much of each time no other device than that of a command worked; ns.

    `awaited` are the commands. Only devices of the same process count: 0 where it uses a single one.
    """
    commands = activity.commands
    alone = np.zeros(len(awaited), np.int64)
    placed = commands.is_placed & (commands.device > 0)
    for device, members in groups(commands.device[awaited]):
        process = commands.process[awaited[members[0]]]
        others = placed & (commands.process == process) & (commands.device != device)
        if others.any():
            busy = union(commands.start_ns[others], commands.end_ns[others])
            begin, end = begin_ns[members], end_ns[members]
            alone[members] = np.maximum(end - begin - (busy.until(end) - busy.until(begin)), 0)
    return alone


def _measures(evidence: Evidence) -> Bools:
    """Return a mask of waits for single events of queues that the program profiles.

    The time of a command can be read once it is complete, and a measurement wants nothing beside it.
    """
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    is_profiled = np.isin(commands.queue[waits.command], list(evidence.profiled_queues))
    is_single = evidence.activity.calls.is_api(Api.clWaitForEvents)[waits.call]
    mask: Bools = is_profiled & is_single & (waits.call >= 0)
    return mask


def _awaits_kernels_only(activity: Activity, waits: HostWaits) -> Bools:
    """Return a mask of waits that are the first proof of completion of kernels and the like only.

    Such commands change device memory only. A read or map brings results to the host. A write makes the
    host's array usable again.
    """
    is_of_host = ~activity.commands.is_kind("kernel", "fill", "marker", "barrier")
    concerns_host = first_proofs(activity, waits, is_of_host)
    kernels_only: Bools = first_proofs(activity, waits, ~is_of_host) & ~concerns_host
    return kernels_only


def _is_last_of_thread(evidence: Evidence) -> Bools:
    """Return a mask of waits after which their thread enqueues nothing, as at the end of a program."""
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    last = {
        thread: int(commands.enter_ns[members].max()) for thread, members in groups(commands.thread)
    }
    latest = np.array([last.get(thread, -NEVER) for thread in waits.thread.tolist()], np.int64)
    is_last: Bools = waits.return_ns >= latest
    return is_last
