"""Builds that run at the same time: the wall time that they cover, and that of one of them alone.

Drivers compile one program at a time or nearly so, and threads that build at once wait for each other:
each call takes about as long as all builds together.
"""

import numpy as np

from cltrace.events.apis import Api
from cltrace.timeline.activity import Calls
from cltrace.timeline.columns import Int64s
from cltrace.timeline.intervals import union


def covered_by_calls_ns(calls: Calls, chosen: Int64s) -> int:
    """Return the time in which at least one of the chosen calls ran."""
    return union(calls.enter_ns[chosen], calls.return_ns[chosen]).total_ns


def max_at_once(calls: Calls, chosen: Int64s) -> int:
    """Return the largest number of the chosen calls at a time."""
    edges, depth = _depth(calls, chosen)
    return int(depth[:-1][edges[1:] > edges[:-1]].max(initial=min(len(chosen), 1)))


def time_without_ns(calls: Calls, build: int, left_out: Int64s) -> int:
    """Return the time that a build takes when others are left out.

    The builds of a process at a time share the driver equally.
    """
    began, ended = int(calls.enter_ns[build]), int(calls.return_ns[build])
    is_build = calls.is_api(Api.clBuildProgram) & (calls.process == calls.process[build])
    builds = np.flatnonzero(is_build & (calls.enter_ns < ended) & (calls.return_ns > began))
    edges, running = _depth(calls, builds)
    lengths = np.diff(np.clip(edges, began, ended))
    removed_edges, removed = _depth(calls, np.intersect1d(builds, left_out))
    # The number of builds that are left out, from each edge on.
    at = np.searchsorted(removed_edges, edges[:-1], side="right")
    left = running[:-1] - np.append(0, removed)[at]
    is_running = lengths > 0
    return round(float((lengths * left / np.maximum(running[:-1], 1))[is_running].sum()))


def _depth(calls: Calls, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """Return the entries and returns of some calls, ascending, and how many run from each one on."""
    edges = np.concatenate([calls.enter_ns[chosen], calls.return_ns[chosen]])
    steps = np.repeat([1, -1], len(chosen))
    order = np.lexsort((steps, edges))
    return edges[order], np.cumsum(steps[order])
