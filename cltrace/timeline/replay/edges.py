"""Dependencies of a run with a change, as edges between nodes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.replay.changes import Change
from cltrace.timeline.replay.graph import RunGraph
from cltrace.timeline.replay.host_time import HostTime
from cltrace.timeline.replay.overlapping import overlapped_pairs

_Part = tuple[Int64s, Int64s, Int64s]


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges: the target comes `weight_ns` after the source at the earliest. Shape (m,) each.

    Nodes 0 to n - 1 are ends of commands, the others the graph's nodes of the host. An edge into a
    command includes its duration. A node without an edge has its recorded time.
    """

    source: Int64s
    target: Int64s
    weight_ns: Int64s


def changed_edges(graph: RunGraph, change: Change, host: HostTime, worked_share: float) -> Edges:
    """Return the edges of a run with a change.

    `worked_share` is the part of a thread's silence before a handover that was the thread's own work.
    """
    duration, after_call, lag = changed_commands(graph, change)
    parts = [
        _edges_of_calls(graph, host, after_call + duration),
        *_edges_of_starts(graph, change, lag, duration),
        _edges_of_waits(graph, change, host),
        *_edges_of_host(graph, host, worked_share),
        *_edges_of_moved_waits(graph, change),
    ]
    source, target, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Edges(source, target, weight)


def changed_commands(graph: RunGraph, change: Change) -> tuple[Int64s, Int64s, Int64s]:
    """Return the commands' durations, their lags after the calls, and the lags of pairs; all in ns."""
    commands, start = graph.activity.commands, graph.start
    placed = commands.is_placed
    scale = np.ones(len(commands))
    np.multiply.at(scale, change.scaled, change.scales)
    duration = np.where(placed, np.maximum(commands.end_ns - commands.start_ns, 0), 0)
    duration = np.where(scale == 1, duration, np.rint(duration * scale)).astype(np.int64)
    after_call, lag = start.after_call_ns.copy(), start.lag_ns.copy()
    at_once = np.concatenate([change.removed, change.merged])
    duration[change.removed] = 0
    after_call[at_once] = np.minimum(after_call[at_once], 0)
    prompt = np.union1d(change.prompt, change.direct)
    after_call[prompt] = np.minimum(after_call, start.usual_ns)[prompt]
    later = start.pairs[:, 0]
    lag = np.where(_mask(len(commands), at_once)[later], np.minimum(lag, 0), lag)
    is_prompt = _mask(len(commands), prompt)[later]
    lag = np.where(is_prompt, np.minimum(lag, start.usual_after_ns[later]), lag)
    return duration, after_call, lag


def _mask(count: int, members: Int64s) -> Bools:
    mask = np.zeros(count, np.bool_)
    mask[members] = True
    return mask


def _edges_of_calls(graph: RunGraph, host: HostTime, after_call_ns: Int64s) -> _Part:
    """Return the edges from the host to the commands that it enqueued."""
    placed = np.flatnonzero(graph.activity.commands.is_placed)
    event = graph.events.event_of_command[placed]
    node = graph.nodes.before_enter[event]
    weight = host.until_enter_ns[event] - _until_node(graph, host)[node] + after_call_ns[placed]
    return node + len(graph.activity.commands), placed, weight


def _until_node(graph: RunGraph, host: HostTime) -> Int64s:
    """Return the threads' own time up to each node of the host."""
    until: Int64s = host.until_enter_ns[graph.nodes.event]
    return until


def _edges_of_starts(
    graph: RunGraph, change: Change, lag_ns: Int64s, duration_ns: Int64s
) -> Iterator[_Part]:
    """Yield the edges between commands."""
    later, earlier = graph.start.pairs.T
    kept = np.ones(len(later), np.bool_)
    if len(change.overlapped):
        is_overlapped = _mask(len(duration_ns), change.overlapped)
        is_chain = graph.queue_predecessor[later] == earlier
        kept = ~(is_chain & is_overlapped[later] & is_overlapped[earlier])
        new_later, new_earlier = overlapped_pairs(graph.activity, change.overlapped).T
        usual = graph.start.usual_after_ns[new_later]
        yield new_earlier, new_later, usual + duration_ns[new_later]
    if len(change.freed):
        is_freed = _mask(len(duration_ns), change.freed)
        kept &= ~is_freed[later] | _are_listed(graph, later, earlier)
        new_later, new_earlier = change.followed.T
        usual = graph.start.usual_after_ns[new_later]
        yield new_earlier, new_later, usual + duration_ns[new_later]
    yield earlier[kept], later[kept], (lag_ns + duration_ns[later])[kept]


def _are_listed(graph: RunGraph, later: Int64s, earlier: Int64s) -> Bools:
    """Return a mask of the pairs of which the later command has the earlier one in its wait list."""
    count, listed = len(graph.activity.commands), graph.activity.edges
    mask: Bools = np.isin(later * count + earlier, listed[:, 0] * count + listed[:, 1])
    return mask


def _edges_of_waits(graph: RunGraph, change: Change, host: HostTime) -> _Part:
    """Return the edges from awaited commands to the host."""
    node, command = graph.waits.pairs.T
    lag = graph.waits.lag_ns.copy()
    is_direct = np.isin(command, change.direct)
    lag[is_direct] = np.minimum(lag, graph.waits.usual_ns)[is_direct]
    kept = host.is_waiting[graph.nodes.event[node]]
    count = len(graph.activity.commands)
    return command[kept], node[kept] + count, lag[kept]


def _edges_of_host(graph: RunGraph, host: HostTime, worked_share: float) -> Iterator[_Part]:
    """Yield the edges between nodes of the host: along threads, and from one thread to another."""
    nodes, count = graph.nodes, len(graph.activity.commands)
    until = _until_node(graph, host)
    waits = np.flatnonzero(~nodes.is_arrival)
    event = nodes.event[waits]
    before = nodes.before_enter[event]
    weight = host.until_enter_ns[event] - until[before] + host.own_ns[event]
    yield before + count, waits + count, weight
    arrivals = np.flatnonzero(nodes.is_arrival)
    is_first = np.diff(graph.events.thread, prepend=-1)[nodes.event[arrivals]] != 0
    arrivals = arrivals[~is_first]
    event = nodes.event[arrivals]
    silent = host.gap_ns[event]
    waited = silent - np.rint(silent * worked_share).astype(np.int64)
    weight = host.until_enter_ns[event] - until[arrivals - 1] - waited
    # Where the event before is a node, the node before the arrival is its return.
    yield arrivals - 1 + count, arrivals + count, weight
    arrival, other = graph.handovers.T
    node = nodes.before_return[other]
    lag = graph.events.enter_ns[nodes.event[arrival]] - graph.events.return_ns[other]
    weight = host.until_return_ns[other] - until[node] + lag
    yield node + count, arrival + count, weight


def _edges_of_moved_waits(graph: RunGraph, change: Change) -> Iterator[_Part]:
    """Yield the edges of waits that take place later."""
    events, nodes, count = graph.events, graph.nodes, len(graph.activity.commands)
    for moved in change.moved:
        event = np.full(len(moved.command), -1)
        is_command, is_call = moved.until_command >= 0, moved.until_call >= 0
        event[is_command] = events.event_of_command[moved.until_command[is_command]]
        event[is_call] = events.event_of_call[moved.until_call[is_call]]
        command, event = moved.command[event >= 0], event[event >= 0]
        node = nodes.before_return[event]
        # An event that is no node waits at its thread's next one.
        node = np.where(nodes.event[node] == event, node, node + 1)
        is_there = node < len(nodes)
        node, event, command = node[is_there], event[is_there], command[is_there]
        is_same = events.thread[nodes.event[node]] == events.thread[event]
        yield command[is_same], node[is_same] + count, np.zeros(int(is_same.sum()), np.int64)
