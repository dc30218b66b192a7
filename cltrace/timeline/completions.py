"""Host times by which commands were observed to be complete, as waits and blocking calls prove them.

A command had ended when a call that had waited for it returned: a blocking call for its own command,
`clWaitForEvents` for the commands that it names, `clFinish` for all that were in the queue. In a queue
that keeps order, all commands enqueued before a complete command are complete too.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from cltrace.events.apis import Api
from cltrace.events.kinds import CallFlag
from cltrace.timeline.columns import NEVER, Bools, Int64s
from cltrace.timeline.grouping import groups
from cltrace.trace.commands import ABSENT

_MAX_STEPS: Final = 1 << 20
"""Steps to keep per queue. More occur only where a call took longer than a million proofs."""
_ALWAYS: Final = int(np.iinfo(np.int64).max)


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
    waited = np.full(len(commands["api"]), NEVER)
    call, command = waits[:, 0], waits[:, 1]
    proves = (calls["api"][call] == int(Api.clWaitForEvents)) & (calls["status"][call] == 0)
    np.minimum.at(waited, command[proves], calls["return_host_ns"][call[proves]])
    observer = CompletionObserver()
    observer.add_calls(calls)
    return observer.observe(commands, waited, keeps_order, _ALWAYS)


class CompletionObserver:
    """Observer of completions that takes commands part by part, the last part first."""

    def __init__(self) -> None:
        self._finishes: dict[int, _Steps] = {}
        self._proofs: dict[int, _Steps] = {}

    def add_calls(self, calls: Mapping[str, Int64s]) -> None:
        """Add calls that enqueued no command, before the commands of that time and of earlier ones."""
        finishes = np.flatnonzero((calls["api"] == int(Api.clFinish)) & (calls["status"] == 0))
        for queue, members in groups(calls["queue_id"][finishes], finishes):
            steps = self._finishes.setdefault(queue, _Steps())
            steps.prepend(calls["enter_host_ns"][members], calls["return_host_ns"][members])

    def observe(
        self,
        commands: Mapping[str, Int64s],
        waited_ns: Int64s,
        keeps_order: Bools,
        latest_return_ns: int,
    ) -> Int64s:
        """Return when the commands of a part were proven complete; `NEVER` for none.

        `waited_ns` are the returns of `clWaitForEvents` for single commands, `latest_return_ns` is the
        latest return of the calls of all earlier parts.
        """
        enter, returned = commands["enter_host_ns"], commands["return_host_ns"]
        is_blocking = commands["flags"] & int(CallFlag.BLOCKING) != 0
        observed = np.where(is_blocking, np.minimum(returned, waited_ns), waited_ns)
        complete = commands["complete_host_ns"]
        observed = np.where(complete != ABSENT, np.minimum(observed, complete), observed)
        for queue, members in groups(commands["queue_id"]):
            own = observed[members]
            if queue in self._finishes:
                own = np.minimum(own, self._finishes[queue].value_at(returned[members]))
                self._finishes[queue].forget_after(latest_return_ns)
            if keeps_order[members[0]]:
                steps = self._proofs.setdefault(queue, _Steps())
                steps.prepend(enter[members], own)
                own = np.minimum(own, steps.value_at(returned[members]))
                steps.forget_after(latest_return_ns)
            observed[members] = own
        return observed


class _Steps:
    """The lowest value at any time from a given one on: a function that rises in steps."""

    def __init__(self) -> None:
        self._times = np.empty(0, np.int64)
        self._values = np.empty(0, np.int64)

    def prepend(self, times: Int64s, values: Int64s) -> None:
        """Add values at times that ascend and precede all others."""
        times = np.concatenate([times, self._times])
        values = np.minimum.accumulate(np.concatenate([values, self._values])[::-1])[::-1]
        # The last time of each value tells the same as all of them.
        is_step = np.append(values[1:] != values[:-1], np.True_)
        # A later proof is a proof as well, so the last steps of too many may be left out.
        self._times, self._values = times[is_step][:_MAX_STEPS], values[is_step][:_MAX_STEPS]

    def value_at(self, times: Int64s) -> Int64s:
        """Return the lowest value from each time on; `NEVER` after the last."""
        at = np.searchsorted(self._times, times, side="left")
        return np.append(self._values, NEVER)[at]

    def forget_after(self, time: int) -> None:
        """Forget all but the first step from a time on: nothing later will be looked up."""
        count = int(np.searchsorted(self._times, time, side="left")) + 1
        self._times, self._values = self._times[:count], self._values[:count]
