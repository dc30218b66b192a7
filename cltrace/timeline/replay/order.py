"""Order of nodes in which every edge leads forward."""

from collections import deque

import numpy as np

from cltrace.timeline.columns import Int64s
from cltrace.timeline.replay.edges import Edges


def topological_ranks(edges: Edges, time_ns: Int64s) -> Int64s:
    """Return a rank for each node, such that edges lead to higher ranks.

    A damaged trace may have circles. Their nodes are ranked by `time_ns`, their recorded times.
    """
    count = len(time_ns)
    order = np.argsort(edges.source, kind="stable")
    targets = edges.target[order].tolist()
    bounds = np.searchsorted(edges.source[order], np.arange(count + 1)).tolist()
    open_edges = np.bincount(edges.target, minlength=count).tolist()
    ready = deque(node for node, number in enumerate(open_edges) if not number)
    ranked = []
    while ready:
        node = ready.popleft()
        ranked.append(node)
        for target in targets[bounds[node] : bounds[node + 1]]:
            open_edges[target] -= 1
            if not open_edges[target]:
                ready.append(target)
    left = np.setdiff1d(np.arange(count), np.array(ranked, np.int64))
    ranked += left[np.argsort(time_ns[left], kind="stable")].tolist()
    ranks = np.empty(count, np.int64)
    ranks[np.array(ranked, np.int64)] = np.arange(count)
    return ranks
