"""Evaluation of a run's graph with a change."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay.changes import NO_CHANGE, Change
from cltrace.timeline.replay.edges import Edges, changed_edges
from cltrace.timeline.replay.graph import RunGraph
from cltrace.timeline.replay.host_time import changed_host_time
from cltrace.timeline.replay.order import topological_ranks

_LONG_AGO: Final = -(2**62)


@dataclass(frozen=True, slots=True)
class Replayed:
    """Times of a replayed run, ns on the trace's axis.

    `command_end_ns` has the ends of commands; -2**62 for those that are not placed. `enter_ns` and
    `return_ns` are those of the host's events. `end_ns` is the end of the program.
    """

    command_end_ns: Int64s
    enter_ns: Int64s
    return_ns: Int64s
    end_ns: int


class Replay:
    """Replays of one run, each with a change. The order of its nodes is found once."""

    def __init__(self, graph: RunGraph) -> None:
        self.graph = graph

    @property
    def span_ns(self) -> int:
        """The time from the first call to the end of the recorded run."""
        return max(self.graph.end_ns - self.graph.begin_ns, 0)

    def run(self, change: Change = NO_CHANGE, *, worked_share: float = 0.0) -> Replayed:
        """Return the times of the run with a change.

        `worked_share` is the part of a thread's silence that was its own work, where the thread may have
        waited for another one.
        """
        graph = self.graph
        host = changed_host_time(graph, change)
        edges = changed_edges(graph, change, host, worked_share)
        times = _evaluate(edges, self._ranks, self._recorded_ns)
        count = len(graph.activity.commands)
        nodes, events = graph.nodes, graph.events
        of_nodes = times[count:] - host.until_enter_ns[nodes.event]
        enter = of_nodes[nodes.before_enter] + host.until_enter_ns
        returned = of_nodes[nodes.before_return] + host.until_return_ns
        is_last = np.append(events.thread[1:] != events.thread[:-1], np.True_)[: len(events)]
        ends = times[:count][graph.activity.commands.is_placed]
        end = max(int(returned[is_last].max(initial=_LONG_AGO)), int(ends.max(initial=_LONG_AGO)))
        return Replayed(times[:count], enter, returned, end if len(events) else graph.end_ns)

    def gain_ns(self, change: Change, *, worked_share: float = 0.0) -> int:
        """Return by how much earlier the program ends with a change; negative if it ends later."""
        return self.graph.end_ns - self.run(change, worked_share=worked_share).end_ns

    @cached_property
    def _recorded_ns(self) -> Int64s:
        """Recorded times of all nodes."""
        events, nodes, commands = self.graph.events, self.graph.nodes, self.graph.activity.commands
        of_host = np.where(
            nodes.is_arrival, events.enter_ns[nodes.event], events.return_ns[nodes.event]
        )
        ends = np.where(commands.is_placed, commands.end_ns, _LONG_AGO)
        return np.concatenate([ends, of_host])

    @cached_property
    def _ranks(self) -> Int64s:
        host = changed_host_time(self.graph, NO_CHANGE)
        edges = changed_edges(self.graph, NO_CHANGE, host, 0.0)
        return topological_ranks(edges, self._recorded_ns)


def _evaluate(edges: Edges, ranks: Int64s, recorded_ns: Int64s) -> Int64s:
    """Return the time of each node: the latest that any of its edges demands."""
    source, target = ranks[edges.source], ranks[edges.target]
    order = np.argsort(target, kind="stable")
    # Only edges of circles lead backwards: stamps that are off by more than the time between two threads'
    # calls make them, and damaged traces. Their targets stay at their recorded times.
    is_backward = source[order] >= target[order]
    backward, order = target[order[is_backward]], order[~is_backward]
    target = target[order]
    recorded = np.empty(len(ranks), np.int64)
    recorded[ranks] = recorded_ns
    times = recorded.copy()
    times[target] = _LONG_AGO
    times[backward] = recorded[backward]
    computed: list[int] = times.tolist()
    weights = edges.weight_ns[order].tolist()
    for earlier, later, weight in zip(
        source[order].tolist(), target.tolist(), weights, strict=True
    ):
        time = computed[earlier] + weight
        if time > computed[later]:
            computed[later] = time
    return np.array(computed, np.int64)[ranks]
