"""Graph of a run: nodes, what they depend on, and how long each dependency takes."""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.dependencies import NONE, Dependencies
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay.host import HostEvents
from cltrace.timeline.replay.latencies import StartLags, WaitLags, start_lags, wait_lags
from cltrace.timeline.replay.threads import find_handovers


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNodes:
    """Nodes of the host, by event; those of a thread together. Shape (h,) each.

    An *arrival* is the entry of a call that followed another thread or process, or of a thread's first
    call. The
    other nodes are returns of events that wait.
    """

    event: Int64s
    is_arrival: Bools
    before_enter: Int64s
    """The last node at or before the entry of each event, by event."""
    before_return: Int64s
    """The last node at or before the return of each event, by event."""

    def __len__(self) -> int:
        return len(self.event)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGraph:
    """Run as a graph that `replay` evaluates.

    The ends of commands are nodes, and so are `nodes` of the host. `start` are the dependencies of
    commands on others, `waits` those of waits on commands, each with its lag. `handovers` are pairs of an
    arrival, as a place among `nodes`, and an event of another thread or process that it follows.
    """

    activity: Activity
    events: HostEvents
    nodes: HostNodes
    start: StartLags
    waits: WaitLags
    handovers: Int64s
    queue_predecessor: Int64s
    begin_ns: int
    end_ns: int
    """The recorded end: the last return of a call, or end of a command."""


def build_run_graph(activity: Activity, dependencies: Dependencies, events: HostEvents) -> RunGraph:
    """Return the graph of a run. `events` are those of its threads."""
    commands = activity.commands
    handovers = find_handovers(events, activity.children)
    nodes = _host_nodes(events, handovers[:, 0])
    enter = events.enter_ns[events.event_of_command]
    ends = commands.end_ns[commands.is_placed]
    arrival = np.searchsorted(2 * nodes.event + ~nodes.is_arrival, 2 * handovers[:, 0])
    return RunGraph(
        activity=activity,
        events=events,
        nodes=nodes,
        start=start_lags(commands, enter, _predecessors(activity, dependencies)),
        waits=wait_lags(commands, events, nodes.before_return),
        handovers=np.stack([arrival, handovers[:, 1]], axis=1),
        queue_predecessor=dependencies.queue_predecessor,
        begin_ns=int(events.enter_ns.min(initial=0 if not len(events) else 2**62)),
        end_ns=max(int(events.return_ns.max(initial=0)), int(ends.max(initial=0))),
    )


def _host_nodes(events: HostEvents, after_others: Int64s) -> HostNodes:
    """Return the nodes of the host: arrivals, and returns of the events that wait."""
    first = np.flatnonzero(np.diff(events.thread, prepend=-1))
    arrivals = np.union1d(first, after_others)
    waits = np.unique(events.awaited[:, 0])
    keys = np.sort(np.concatenate([2 * arrivals, 2 * waits + 1]))
    places = 2 * np.arange(len(events))
    return HostNodes(
        event=keys // 2,
        is_arrival=keys % 2 == 0,
        before_enter=np.searchsorted(keys, places, side="right") - 1,
        before_return=np.searchsorted(keys, places + 1, side="right") - 1,
    )


def _predecessors(activity: Activity, dependencies: Dependencies) -> Int64s:
    """Return pairs of a command and one that it follows, each once. Shape (m, 2)."""
    chains = [dependencies.queue_predecessor, dependencies.device_predecessor]
    chains.append(_order_of_devices(activity))
    parts = [np.empty((0, 2), np.int64), dependencies.edges]
    for chain in chains:
        later = np.flatnonzero(chain >= 0)
        parts.append(np.stack([later, chain[later]], axis=1))
    pairs = np.concatenate(parts)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(pairs, axis=0)


def _order_of_devices(activity: Activity) -> Int64s:
    """Return the command that ran before each one on a device that never ran two at once; else `NONE`."""
    commands = activity.commands
    before = np.full(len(commands), NONE)
    placed = np.flatnonzero(commands.is_placed)
    for _, members in groups(commands.device[placed], placed):
        if len(np.unique(commands.queue[members])) < 2:
            continue
        members = members[np.lexsort((commands.end_ns[members], commands.start_ns[members]))]
        bound_ns = np.maximum(commands.bound_ns[members], 0)
        until = np.maximum.accumulate(commands.end_ns[members])[:-1]
        if (commands.start_ns[members[1:]] >= until - bound_ns[1:]).all():
            before[members[1:]] = members[:-1]
    return before
