"""Host times by which commands were observed to be complete, as waits and blocking calls prove them.

A command had ended when a call that had waited for it returned: a blocking call for its own command,
`clWaitForEvents` for the commands that it names, `clFinish` for all that were in the queue. In a queue
that keeps order, all commands enqueued before a complete command are complete too.
"""

from collections.abc import Mapping

import numpy as np

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag
from cltrace.timeline.columns import NEVER, Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.commands import ABSENT


def observe_completions(
    commands: Mapping[str, Int64s],
    calls: Mapping[str, Int64s],
    waits: Int64s,
    keeps_order: Bools,
) -> Int64s:
    """Return the earliest host time by which each command was proven complete; `NEVER` for none.

    Args:
        commands: Columns of the commands.
        calls: Columns of the other calls.
        waits: Pairs of a position in `calls` and one in `commands`.
        keeps_order: A mask of the commands whose queue executes in order.
    """
    observed = np.full(len(commands["api"]), NEVER)
    is_blocking = commands["flags"] & int(CallFlag.BLOCKING) != 0
    observed[is_blocking] = commands["return_host_ns"][is_blocking]
    is_reported = commands["complete_host_ns"] != ABSENT
    observed[is_reported] = np.minimum(
        observed[is_reported], commands["complete_host_ns"][is_reported]
    )
    _apply_waits(observed, calls, waits)
    finishes = np.flatnonzero((calls["api"] == int(Api.clFinish)) & (calls["status"] == 0))
    of_queue = dict(groups(calls["queue_id"][finishes], finishes))
    for queue, members in groups(commands["queue_id"]):
        if queue in of_queue:
            _apply_finishes(observed, members, commands, calls, of_queue[queue])
        if keeps_order[members[0]]:
            _apply_order(observed, members, commands)
    return observed


def _apply_waits(observed: Int64s, calls: Mapping[str, Int64s], waits: Int64s) -> None:
    call, command = waits[:, 0], waits[:, 1]
    waited = (calls["api"][call] == int(Api.clWaitForEvents)) & (calls["status"][call] == 0)
    np.minimum.at(observed, command[waited], calls["return_host_ns"][call[waited]])


def _apply_finishes(
    observed: Int64s,
    members: Int64s,
    commands: Mapping[str, Int64s],
    calls: Mapping[str, Int64s],
    finishes: Int64s,
) -> None:
    """Mark the commands complete whose call returned before a `clFinish` of their queue was entered."""
    enter, returned = calls["enter_host_ns"][finishes], calls["return_host_ns"][finishes]
    earliest_after = np.minimum.accumulate(returned[::-1])[::-1]
    next_finish = np.searchsorted(enter, commands["return_host_ns"][members], side="left")
    is_finished = next_finish < len(enter)
    finished = members[is_finished]
    observed[finished] = np.minimum(observed[finished], earliest_after[next_finish[is_finished]])


def _apply_order(observed: Int64s, members: Int64s, commands: Mapping[str, Int64s]) -> None:
    """Mark the commands complete that were enqueued before a complete command."""
    enter, returned = commands["enter_host_ns"][members], commands["return_host_ns"][members]
    earliest_after = np.append(np.minimum.accumulate(observed[members][::-1])[::-1], NEVER)
    later = np.searchsorted(enter, returned, side="left")
    observed[members] = np.minimum(observed[members], earliest_after[later])
