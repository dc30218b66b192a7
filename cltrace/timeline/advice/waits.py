"""Rules about the host waiting for the device."""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Activity
from cltrace.timeline.advice.model import (
    FEW,
    HOST_MEMORY,
    Advice,
    Material,
    by_site,
    seen_count,
    seen_ns,
)
from cltrace.timeline.clock_fit.points import NEVER, Bools
from cltrace.timeline.dependencies import HostWaits
from cltrace.timeline.grouping import groups

_AT_ONCE_NS = 50_000
"""A call that waits for nothing returns within this."""


def blocking_writes(material: Material) -> list[Advice]:
    """Blocking writes: the host waits for a copy whose result it does not need."""
    commands = material.activity.commands
    chosen = np.flatnonzero(commands.are("write") & commands.is_blocking)
    waited = (commands.return_ns - commands.enter_ns)[chosen]
    return [
        Advice(
            "blocking-write",
            "The host waits for writes",
            site,
            times,
            cost_ns,
            (seen_count("blocking writes", times), seen_ns("in the calls", cost_ns)),
            "pass is_blocking=False and keep the array unchanged until a later command has run",
        )
        for site, times, cost_ns in by_site(material.activity, commands.site[chosen], waited)
        if times >= FEW
    ]


def idle_waits(material: Material) -> list[Advice]:
    """`finish` or `wait` when all that it waits for was known to be done."""
    calls = material.activity.calls
    took = calls.return_ns - calls.enter_ns
    # One that took long waited for something that is not in the trace: a user event, another process.
    chosen = np.flatnonzero(_all_was_known(material.activity) & (took <= _AT_ONCE_NS))
    return [
        Advice(
            "redundant-wait",
            "Waits for nothing",
            site,
            times,
            cost_ns,
            (seen_count("waits for what was known to be complete", times),),
            "leave the call out: an earlier wait or blocking call has done its work",
        )
        for site, times, cost_ns in by_site(material.activity, calls.site[chosen], took[chosen])
        if times >= FEW
    ]


def unneeded_waits(material: Material) -> list[Advice]:
    """Waits that tell the host of nothing but kernels, after which it goes on enqueuing."""
    if any(one.kind == "svm" or one.flags & HOST_MEMORY for one in material.memory.values()):
        return []  # kernels may write memory that the host looks at: which, is not known
    commands, waits = material.activity.commands, material.needs.waits
    chosen = np.flatnonzero((waits.call >= 0) & ~_is_last_of_thread(material))
    chosen = chosen[_tells_of_kernels_only(material.activity, waits)[chosen]]
    waited = np.maximum(commands.end_ns[waits.command[chosen]] - waits.enter_ns[chosen], 0)
    chosen, waited = chosen[waited > 0], waited[waited > 0]
    return [
        Advice(
            "unneeded-wait",
            "The host waits for kernels only",
            site,
            times,
            cost_ns,
            (
                seen_count("waits that told of no transfer", times),
                seen_ns("in which only the device worked", cost_ns),
            ),
            "let the queue's order, or wait_for=, keep the order; wait only where results are read",
        )
        for site, times, cost_ns in by_site(material.activity, waits.site[chosen], waited)
        if times >= FEW
    ]


def _all_was_known(activity: Activity) -> Bools:
    """Which waiting calls were entered when all that they wait for was known to be complete."""
    commands, calls = activity.commands, activity.calls
    is_known = np.zeros(len(calls), np.bool_)
    named = activity.waits
    latest = np.full(len(calls), -NEVER)
    np.maximum.at(latest, named[:, 0], commands.known_ns[named[:, 1]])
    is_named = calls.are(Api.clWaitForEvents) & np.isin(np.arange(len(calls)), named[:, 0])
    is_known[is_named] = (latest <= calls.enter_ns)[is_named]
    finishes = np.flatnonzero(calls.are(Api.clFinish))
    of_queue = dict(groups(commands.queue))
    for queue, here in groups(calls.queue[finishes], finishes):
        members = of_queue.get(queue)
        if members is not None:
            known = np.maximum.accumulate(commands.known_ns[members])
            at = np.searchsorted(commands.enter_ns[members], calls.enter_ns[here]) - 1
            is_known[here] = (at >= 0) & (known[np.maximum(at, 0)] <= calls.enter_ns[here])
    is_known &= calls.status == 0
    return is_known


def _tells_of_kernels_only(activity: Activity, waits: HostWaits) -> Bools:
    """Which waits are the first to tell the host of some commands, all of them kernels or the like.

    A read or map brings results. A write tells that the host's array may be used again.
    """
    commands = activity.commands
    order = np.argsort(waits.return_ns, kind="stable")
    returned = waits.return_ns[order]
    at = np.minimum(np.searchsorted(returned, commands.known_ns), max(len(returned) - 1, 0))
    tells = np.zeros(len(waits), np.bool_)
    concerns_host = np.zeros(len(waits), np.bool_)
    if len(returned):
        is_told = returned[at] == commands.known_ns
        is_of_host = ~commands.are("kernel", "fill", "marker", "barrier")
        tells[order[at[is_told]]] = True
        concerns_host[order[at[is_told & is_of_host]]] = True
    only: Bools = tells & ~concerns_host
    return only


def _is_last_of_thread(material: Material) -> Bools:
    """Which waits have no command of their thread behind them: a program ends with one."""
    commands, waits = material.activity.commands, material.needs.waits
    last = {
        thread: int(commands.enter_ns[members].max()) for thread, members in groups(commands.thread)
    }
    latest = np.array([last.get(one, -NEVER) for one in waits.thread.tolist()], np.int64)
    is_last: Bools = waits.return_ns >= latest
    return is_last
