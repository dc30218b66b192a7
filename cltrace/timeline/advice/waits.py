"""Rules about the host waiting for the device."""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    HOST_MEMORY,
    MIN_OCCURRENCES,
    Advice,
    Evidence,
    metric_count,
    metric_ns,
    sum_by_site,
)
from cltrace.timeline.columns import NEVER, Bools, Int64s
from cltrace.timeline.dependencies import HostWaits
from cltrace.timeline.grouping import groups
from cltrace.timeline.intervals import union

_AT_ONCE_NS = 50_000
"""A call that waits for nothing returns within this time."""


def blocking_writes(evidence: Evidence) -> list[Advice]:
    """Find blocking writes: the host waits for a copy whose result it does not need."""
    commands = evidence.activity.commands
    chosen = np.flatnonzero(commands.is_kind("write") & commands.is_blocking)
    waited = (commands.return_ns - commands.enter_ns)[chosen]
    return [
        Advice(
            rule="blocking-write",
            title="The host waits for writes",
            site=site,
            times=times,
            cost_ns=cost_ns,
            metrics=(metric_count("blocking writes", times), metric_ns("in the calls", cost_ns)),
            remedy="pass is_blocking=False and keep the array unchanged until a later command has run",
        )
        for site, times, cost_ns in sum_by_site(evidence.activity, commands.site[chosen], waited)
        if times >= MIN_OCCURRENCES
    ]


def idle_waits(evidence: Evidence) -> list[Advice]:
    """Find `finish` and `wait` calls for commands that were already known to be complete."""
    calls = evidence.activity.calls
    took = calls.return_ns - calls.enter_ns
    # A call that took long waited for something outside of the trace: a user event, another process.
    is_idle = _was_all_complete(evidence.activity) & (took <= _AT_ONCE_NS)
    chosen = np.flatnonzero(is_idle & ~_is_of_dropped_event(evidence))
    return [
        Advice(
            rule="redundant-wait",
            title="Waits for completed commands",
            site=site,
            times=times,
            cost_ns=cost_ns,
            metrics=(metric_count("waits for commands already known to be complete", times),),
            remedy="leave the call out: an earlier wait or blocking call has done its work",
        )
        for site, times, cost_ns in sum_by_site(evidence.activity, calls.site[chosen], took[chosen])
        if times >= MIN_OCCURRENCES
    ]


def unneeded_waits(evidence: Evidence) -> list[Advice]:
    """Find waits that synchronise on kernels or fills only, after which the host enqueues more."""
    if any(
        memory.kind == "svm" or memory.flags & HOST_MEMORY for memory in evidence.memory.values()
    ):
        return []  # kernels may write memory that the host reads, and those are not recorded
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    chosen = np.flatnonzero((waits.call >= 0) & ~_is_last_of_thread(evidence))
    chosen = chosen[_awaits_kernels_only(evidence.activity, waits)[chosen]]
    waited = np.maximum(commands.end_ns[waits.command[chosen]] - waits.enter_ns[chosen], 0)
    chosen, waited = chosen[waited > 0], waited[waited > 0]
    awaited = waits.command[chosen]
    alone = alone_ns(evidence.activity, awaited, waits.enter_ns[chosen], commands.end_ns[awaited])
    sites = waits.site[chosen]
    alone_of_site = {site: total for site, _, total in sum_by_site(evidence.activity, sites, alone)}
    return [
        Advice(
            rule="unneeded-wait",
            title="The host waits for kernels only",
            site=site,
            times=times,
            cost_ns=cost_ns,
            metrics=(
                metric_count("waits that synchronise on kernels or fills only", times),
                metric_ns("the host was idle for", cost_ns),
                *(
                    [metric_ns("no other device worked for", alone_of_site[site])]
                    if alone_of_site.get(site)
                    else []
                ),
            ),
            remedy="let the queue's order, or wait_for=, keep the order; wait only where results are "
            "read",
        )
        for site, times, cost_ns in sum_by_site(evidence.activity, sites, waited)
        if times >= MIN_OCCURRENCES
    ]


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


def _was_all_complete(activity: Activity) -> Bools:
    """Return a mask of waiting calls whose commands were all observed complete before the call."""
    commands, calls = activity.commands, activity.calls
    was_complete = np.zeros(len(calls), np.bool_)
    named = activity.waits
    latest = np.full(len(calls), -NEVER)
    np.maximum.at(latest, named[:, 0], commands.observed_complete_ns[named[:, 1]])
    is_named = calls.is_api(Api.clWaitForEvents) & np.isin(np.arange(len(calls)), named[:, 0])
    was_complete[is_named] = (latest <= calls.enter_ns)[is_named]
    finishes = np.flatnonzero(calls.is_api(Api.clFinish))
    of_queue = dict(groups(commands.queue))
    for queue, queue_calls in groups(calls.queue[finishes], finishes):
        members = of_queue.get(queue)
        if members is not None:
            complete_ns = np.maximum.accumulate(commands.observed_complete_ns[members])
            enter_ns = calls.enter_ns[queue_calls]
            at = np.searchsorted(commands.enter_ns[members], enter_ns) - 1
            was_complete[queue_calls] = (at >= 0) & (complete_ns[np.maximum(at, 0)] <= enter_ns)
    was_complete &= calls.status == 0
    return was_complete


def _is_of_dropped_event(evidence: Evidence) -> Bools:
    """Return a mask of the waits in which pyopencl drops the events of transfers from or to host memory.

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
    mask = np.zeros(len(calls), np.bool_)
    mask[call[order[is_last]]] = True
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


def first_proofs(activity: Activity, waits: HostWaits, chosen: Bools) -> Bools:
    """Return a mask of waits that are the first proof of completion of any of the chosen commands."""
    order = np.argsort(waits.return_ns, kind="stable")
    returned = waits.return_ns[order]
    complete_ns = activity.commands.observed_complete_ns[chosen]
    at = np.minimum(np.searchsorted(returned, complete_ns), max(len(returned) - 1, 0))
    is_first_proof = np.zeros(len(waits), np.bool_)
    if len(returned):
        is_first_proof[order[at[returned[at] == complete_ns]]] = True
    return is_first_proof


def _is_last_of_thread(evidence: Evidence) -> Bools:
    """Return a mask of waits after which their thread enqueues nothing, as at the end of a program."""
    commands, waits = evidence.activity.commands, evidence.dependencies.waits
    last = {
        thread: int(commands.enter_ns[members].max()) for thread, members in groups(commands.thread)
    }
    latest = np.array([last.get(thread, -NEVER) for thread in waits.thread.tolist()], np.int64)
    is_last: Bools = waits.return_ns >= latest
    return is_last
