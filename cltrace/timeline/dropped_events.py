"""Transfers whose events a program dropped, so that pyopencl waited for them.

pyopencl keeps the host's array of a non-blocking transfer in the transfer's event, and waits for the
transfer when that event is dropped. Where the native layer records, this wait is a call. Where hooks
record, it is a silence of the thread between two calls, which ends when the transfer does.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.timeline.activity import Activity
from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.grouping import groups

_MIN_WAIT_NS: Final = 20_000
"""A silence as long as pyopencl's own work between two calls tells nothing."""
_MAX_DELAY_NS: Final = 200_000
_MAX_DELAY_SHARE: Final = 0.05
"""Time from a transfer's end to the next call, and its share of the wait: the thread wakes up, and the
program does little between the two calls."""
_MIN_SHARE: Final = 0.6
_MIN_COUNT: Final = 3


def infer_dropped_events(activity: Activity, hooked: frozenset[int]) -> Int64s:
    """Return the transfers, as positions, for whose dropped events their threads have waited.

    `hooked` are the processes that hooks of pyopencl record. A line counts if most of its transfers that
    were still running when their calls returned ended just before the thread's next call.
    """
    commands = activity.commands
    transfers = commands.is_kind("read", "write") & ~commands.is_blocking & commands.is_placed
    transfers &= np.isin(commands.process, list(hooked))
    next_call = _next_calls(activity)
    has_ended = commands.end_ns <= next_call + np.maximum(commands.bound_ns, 0)
    is_pending = transfers & (commands.end_ns - commands.return_ns >= _MIN_WAIT_NS)
    waited = commands.end_ns - commands.return_ns
    is_prompt = has_ended & (
        next_call - commands.end_ns <= _MAX_DELAY_NS + _MAX_DELAY_SHARE * waited
    )
    chosen = [np.empty(0, np.int64)]
    lines = number_lines(commands.site[is_pending], activity.names.sites)
    for _, members in groups(lines, np.flatnonzero(is_pending)):
        waited = members[is_prompt[members]]
        if len(waited) >= max(_MIN_COUNT, _MIN_SHARE * len(members)):
            chosen.append(waited)
    return np.sort(np.concatenate(chosen))


def number_lines(sites: Int64s, lines: Mapping[int, str]) -> Int64s:
    """Return a number for the line of each site: sites of one line differ in their callers."""
    numbers: dict[str, int] = {}
    distinct, inverse = np.unique(sites, return_inverse=True)
    of_site = [
        numbers.setdefault(lines.get(site, str(site)), len(numbers)) for site in distinct.tolist()
    ]
    return np.array(of_site, np.int64)[inverse]


def _next_calls(activity: Activity) -> Int64s:
    """Return the entry of each command's thread's next call; far in the future after the last one."""
    commands, calls = activity.commands, activity.calls
    count = len(commands)
    enter = np.concatenate([commands.enter_ns, calls.enter_ns])
    thread = np.concatenate([commands.thread, calls.thread])
    order = np.lexsort((enter, thread))
    following = np.full(len(order), 2**61)
    is_same: Bools = thread[order][1:] == thread[order][:-1]
    following[order[:-1][is_same]] = enter[order[1:][is_same]]
    return following[:count]
