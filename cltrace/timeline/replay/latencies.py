"""Lags of dependencies: from what a command or wait depends on to its own start or return.

The dependency that was met last gets the recorded time. Each other one gets the usual time of its device,
or what was recorded where that is shorter, so that the recorded times satisfy all of them.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from cltrace.timeline.activity import Commands
from cltrace.timeline.columns import Bools, Int64s, median_of
from cltrace.timeline.grouping import groups
from cltrace.timeline.replay.host import HostEvents
from cltrace.trace.commands import FIRST_LAUNCH

_DEFAULT_LAG_NS: Final = 5_000
"""Latency of a device whose commands show none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLags:
    """Lags of the starts of commands. `pairs` are a command and one that it follows. Shape (m, 2).

    `lag_ns` is from the end of the one to the start of the other. `after_call_ns` is from the entry of
    the call that enqueued a command to its start at the earliest, shape (n,). `usual_ns` is the usual
    latency of its device after a call, and `usual_after_ns` after another command. `staged_ns` is how
    much longer than that a write took to start: the driver copied its data to memory that the device
    reads.
    """

    pairs: Int64s
    lag_ns: Int64s
    after_call_ns: Int64s
    usual_ns: Int64s
    usual_after_ns: Int64s
    staged_ns: Int64s


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitLags:
    """Lags of waits. `pairs` are a node of the host and an awaited command. Shape (m, 2).

    `lag_ns` is from the command's end to the wait's return; `usual_ns` is the usual one of other commands
    than reads, whose data the driver may copy once more before it returns. `own_ns` is how long each
    event takes if nothing is left to wait for, by event.
    """

    pairs: Int64s
    lag_ns: Int64s
    usual_ns: int
    own_ns: Int64s


def start_lags(commands: Commands, enter_ns: Int64s, pairs: Int64s) -> StartLags:
    """Return the lags of all placed commands. `enter_ns` are the entries of the calls."""
    placed = commands.is_placed
    later, earlier = pairs.T
    ended = commands.end_ns[earlier]
    latest = np.where(placed, enter_ns, 0)
    np.maximum.at(latest, later, ended)
    is_after_call = placed & (latest == enter_ns)
    is_last = ended == latest[later]
    recorded_call = np.where(placed, commands.start_ns - enter_ns, 0)
    recorded = commands.start_ns[later] - ended
    is_usual = commands.flags & FIRST_LAUNCH == 0
    usual = _usual_start(commands, recorded_call, is_after_call & is_usual)
    binds = np.zeros(len(commands), np.bool_)
    binds[later[is_last]] = True
    after = np.zeros(len(commands), np.int64)
    after[later[is_last]] = recorded[is_last]
    # The few commands that follow others may all have waited for a compilation: a busy device starts the
    # next command no later than an idle one starts its first.
    usual_after = np.minimum(_usual(commands.device, after, binds & is_usual, usual), usual)
    # A driver compiles a kernel at its first launch once the device has come to it: not beside the
    # commands before it, also where it is enqueued earlier.
    compiled = np.where(
        ~is_usual & is_after_call, np.maximum(recorded_call, usual_after), usual_after
    )
    # It copies the data of a write that has to be staged once the queue has come to it, too.
    is_write = commands.is_kind("write") & is_after_call
    staged = np.where(is_write, np.maximum(recorded_call - usual, 0), 0)
    return StartLags(
        pairs=pairs,
        lag_ns=np.where(is_last, recorded, np.minimum(recorded, (compiled + staged)[later])),
        after_call_ns=np.where(is_after_call, recorded_call, np.minimum(recorded_call, usual)),
        usual_ns=usual,
        usual_after_ns=usual_after,
        staged_ns=staged,
    )


def _usual_start(commands: Commands, recorded_ns: Int64s, chosen: Bools) -> Int64s:
    """Return the usual latency of each command's device after a call: of writes only without others."""
    unknown = np.full(len(commands), _DEFAULT_LAG_NS)
    of_all = _usual(commands.device, recorded_ns, chosen, unknown)
    is_write = commands.is_kind("write")
    return np.minimum(_usual(commands.device, recorded_ns, chosen & ~is_write, of_all), of_all)


def _usual(device: Int64s, lag_ns: Int64s, chosen: Bools, unknown_ns: Int64s) -> Int64s:
    """Return for each command the median lag of the chosen commands of its device.

    Commands of a device without chosen ones get `unknown_ns`.
    """
    usual = unknown_ns.copy()
    for number, members in groups(device[chosen], np.flatnonzero(chosen)):
        median = median_of(lag_ns[members].astype(np.float64))
        usual[device == number] = max(round(median), 0)
    return usual


def wait_lags(commands: Commands, events: HostEvents, node_of_event: Int64s) -> WaitLags:
    """Return the lags of all waits. `node_of_event` has the node of each event's return."""
    event, command = events.awaited.T
    enter, returned = events.enter_ns[event], events.return_ns[event]
    latest = np.full(len(events), -(2**62))
    np.maximum.at(latest, event, commands.end_ns[command])
    has_waited = latest[event] > enter
    after = returned - latest[event]
    usual = (
        median_of(after[has_waited].astype(np.float64))
        if has_waited.any()
        else float(_DEFAULT_LAG_NS)
    )
    of_others = after[has_waited & ~commands.is_kind("read")[command]]
    usual_of_others = median_of(of_others.astype(np.float64)) if len(of_others) else _DEFAULT_LAG_NS
    recorded = returned - commands.end_ns[command]
    own = events.return_ns - events.enter_ns
    own[event[has_waited]] = np.clip(after, 0, own[event])[has_waited]
    return WaitLags(
        pairs=np.stack([node_of_event[event], command], axis=1),
        lag_ns=np.where(has_waited, after, np.minimum(recorded, max(round(usual), 0))),
        usual_ns=max(round(usual_of_others), 0),
        own_ns=own,
    )
