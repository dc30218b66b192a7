"""When the host knew that a command was complete: what waits and blocking calls prove.

A command had ended when a call returned that had waited for it: a blocking call for its own command,
`clWaitForEvents` for those it names, `clFinish` for all that were in the queue. In a queue that keeps
order, whatever was enqueued before a complete command is complete too.
"""

from collections.abc import Mapping

import numpy as np

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag
from cltrace.timeline.clock_fit.points import NEVER, Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.commands import ABSENT


def observed_complete_ns(
    commands: Mapping[str, Int64s],
    calls: Mapping[str, Int64s],
    waits: Int64s,
    keeps_order: Bools,
) -> Int64s:
    """For each command the earliest host time by which it was known to be complete; `NEVER` for none.

    `waits` are pairs of a position in `calls` and one in `commands`. `keeps_order` says of each command
    whether its queue executes in order.
    """
    observed = np.full(len(commands["api"]), NEVER)
    is_blocking = commands["flags"] & int(CallFlag.BLOCKING) != 0
    observed[is_blocking] = commands["return_host_ns"][is_blocking]
    told = commands["complete_host_ns"] != ABSENT
    observed[told] = np.minimum(observed[told], commands["complete_host_ns"][told])
    _see_waits(observed, calls, waits)
    finishes = np.flatnonzero((calls["api"] == int(Api.clFinish)) & (calls["status"] == 0))
    of_queue = dict(groups(calls["queue_id"][finishes], finishes))
    for queue, members in groups(commands["queue_id"]):
        if queue in of_queue:
            _see_finishes(observed, members, commands, calls, of_queue[queue])
        if keeps_order[members[0]]:
            _see_order(observed, members, commands)
    return observed


def _see_waits(observed: Int64s, calls: Mapping[str, Int64s], waits: Int64s) -> None:
    call, command = waits[:, 0], waits[:, 1]
    waited = (calls["api"][call] == int(Api.clWaitForEvents)) & (calls["status"][call] == 0)
    np.minimum.at(observed, command[waited], calls["return_host_ns"][call[waited]])


def _see_finishes(
    observed: Int64s,
    members: Int64s,
    commands: Mapping[str, Int64s],
    calls: Mapping[str, Int64s],
    finishes: Int64s,
) -> None:
    """Commands whose call returned before `clFinish` of their queue was entered are complete after it."""
    enter, returned = calls["enter_host_ns"][finishes], calls["return_host_ns"][finishes]
    earliest_after = np.minimum.accumulate(returned[::-1])[::-1]
    next_finish = np.searchsorted(enter, commands["return_host_ns"][members], side="left")
    is_finished = next_finish < len(enter)
    those = members[is_finished]
    observed[those] = np.minimum(observed[those], earliest_after[next_finish[is_finished]])


def _see_order(observed: Int64s, members: Int64s, commands: Mapping[str, Int64s]) -> None:
    """What was enqueued before a complete command is complete."""
    enter, returned = commands["enter_host_ns"][members], commands["return_host_ns"][members]
    earliest_after = np.append(np.minimum.accumulate(observed[members][::-1])[::-1], NEVER)
    later = np.searchsorted(enter, returned, side="left")
    observed[members] = np.minimum(observed[members], earliest_after[later])
