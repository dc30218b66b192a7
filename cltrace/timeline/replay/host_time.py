"""Time that threads spend by themselves, with a change."""

from dataclasses import dataclass

import numpy as np

from cltrace.timeline.columns import Bools, Int64s
from cltrace.timeline.dependencies import NONE
from cltrace.timeline.replay.changes import Change
from cltrace.timeline.replay.graph import RunGraph
from cltrace.timeline.replay.host import HostEvents


@dataclass(frozen=True, slots=True)
class HostTime:
    """Time of the threads' own work, summed up within each thread. Shape (n,) each, by event.

    `until_enter_ns` and `until_return_ns` are sums up to the entry and the return of each event, without
    events that wait. `own_ns` is the time of an event itself, `is_waiting` a mask of those that wait for
    commands, `gap_ns` the work before each one.
    """

    until_enter_ns: Int64s
    until_return_ns: Int64s
    own_ns: Int64s
    gap_ns: Int64s
    is_waiting: Bools


def changed_host_time(graph: RunGraph, change: Change) -> HostTime:
    """Return the threads' own time with a change."""
    events = graph.events
    own = graph.waits.own_ns.copy()
    gap = events.gap_ns.copy()
    is_waiting = np.zeros(len(events), np.bool_)
    is_waiting[events.awaited[:, 0]] = True
    is_node = is_waiting.copy()
    vanished = np.concatenate(
        [
            events.event_of_command[np.concatenate([change.removed, change.merged])],
            events.event_of_call[change.removed_calls],
            _waits_of_driver(events, change.quick),
            np.flatnonzero((events.dropped != NONE) & np.isin(events.dropped, change.unawaited)),
        ]
    )
    shorter = np.zeros(len(events), np.int64)
    np.maximum.at(shorter, events.event_of_call[change.shortened_calls], change.shortened_ns)
    own = np.maximum(own - shorter, 0)
    own[vanished] = 0
    own[events.event_of_command[change.quick]] = 0
    is_waiting[vanished] = False
    is_waiting[events.event_of_command[change.unblocked]] = False
    saved = np.zeros(len(events), np.int64)
    np.maximum.at(saved, events.event_of_command[change.saved_commands], change.saved_ns)
    np.maximum.at(saved, events.event_of_call[change.saved_calls], change.saved_calls_ns)
    gap = np.maximum(gap - saved, 0)
    # An event that is a node has its time on the way to the node.
    body = np.where(is_node, 0, own)
    until_return = np.cumsum(gap + body)
    return HostTime(until_return - body, until_return, own, gap, is_waiting)


def _waits_of_driver(events: HostEvents, commands: Int64s) -> Int64s:
    """Return the events in which the driver waited before it queued any of the commands."""
    before = events.event_of_command[commands] - 1
    before = before[before >= 0]
    is_wait = (events.command == NONE) & (events.call == NONE) & (events.dropped == NONE)
    waits: Int64s = before[is_wait[before]]
    return waits
