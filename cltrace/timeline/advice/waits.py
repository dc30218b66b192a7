"""Rules about the host waiting for the device."""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.advice.model import FEW, Advice, Material, by_site, seen_count, seen_ns
from cltrace.timeline.points import Bools, Int64s

_FETCHES = ("read", "map")
"""Commands whose results the host gets by waiting."""


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
    is_wait = calls.are(Api.clFinish, Api.clWaitForEvents) & (calls.status == 0)
    chosen = np.flatnonzero(is_wait & ~_waits_for_something_new(material))
    took = (calls.return_ns - calls.enter_ns)[chosen]
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
        for site, times, cost_ns in by_site(material.activity, calls.site[chosen], took)
        if times >= FEW
    ]


def unneeded_waits(material: Material) -> list[Advice]:
    """Waits after which the host takes nothing from the device before it enqueues more."""
    waits = material.needs.waits
    chosen = np.flatnonzero((waits.call >= 0) & ~_is_last_of_thread(material))
    chosen = chosen[~_brings_results(material)[chosen]]
    ends = material.activity.commands.end_ns[waits.command[chosen]]
    waited = np.maximum(ends - waits.enter_ns[chosen], 0)
    chosen, waited = chosen[waited > 0], waited[waited > 0]
    return [
        Advice(
            "unneeded-wait",
            "The host waits for kernels only",
            site,
            times,
            cost_ns,
            (
                seen_count("waits without a read or map", times),
                seen_ns("in which only the device worked", cost_ns),
            ),
            "let the queue's order, or wait_for=, keep the order; wait only where results are read",
        )
        for site, times, cost_ns in by_site(material.activity, waits.site[chosen], waited)
        if times >= FEW
    ]


def _waits_for_something_new(material: Material) -> Bools:
    """Which calls waited for a command that no earlier call of any thread had waited for."""
    waits, commands = material.needs.waits, material.activity.commands
    seen_by_queue: dict[int, int] = {}
    is_new = np.zeros(len(material.activity.calls), np.bool_)
    ends = commands.end_ns[waits.command].tolist()
    queues = commands.queue[waits.command].tolist()
    for call, end, queue in zip(waits.call.tolist(), ends, queues, strict=True):
        if end > seen_by_queue.get(queue, -(2**62)):
            seen_by_queue[queue] = end
            if call >= 0:
                is_new[call] = True
    is_unknown = ~np.isin(np.arange(len(is_new)), waits.call)
    has_commands = np.isin(material.activity.calls.queue, commands.queue[~commands.is_placed])
    return is_new | (is_unknown & has_commands)


def _brings_results(material: Material) -> Bools:
    """Whether a read or a map had been enqueued since the thread's last wait.

    A kernel may also have written memory that the host shares.
    """
    commands, waits = material.activity.commands, material.needs.waits
    is_fetch = commands.are(*_FETCHES) & ~commands.is_blocking
    shares = any(one.kind == "svm" for one in material.memory.values())
    fetches = commands.enter_ns[is_fetch]
    before = _previous_return(waits.thread, waits.enter_ns, waits.return_ns)
    count = np.searchsorted(fetches, waits.enter_ns) - np.searchsorted(fetches, before)
    brings: Bools = (count > 0) | shares
    return brings


def _previous_return(thread: Int64s, enter_ns: Int64s, return_ns: Int64s) -> Int64s:
    """When the last wait of the same thread had returned; long ago for the first."""
    previous = np.full(len(thread), -(2**62))
    for one in np.unique(thread).tolist():
        here = np.flatnonzero(thread == one)
        previous[here[1:]] = np.minimum(return_ns[here[:-1]], enter_ns[here[1:]])
    return previous


def _is_last_of_thread(material: Material) -> Bools:
    """Which waits have no command of their thread behind them: a program ends with one."""
    commands, waits = material.activity.commands, material.needs.waits
    last = {
        one: int(commands.enter_ns[commands.thread == one].max())
        for one in np.unique(commands.thread).tolist()
    }
    latest = np.array([last.get(one, -(2**62)) for one in waits.thread.tolist()], np.int64)
    is_last: Bools = waits.return_ns >= latest
    return is_last
